"""The calls of other libraries, answered by linnet: ``from linnet.compat import fasttext``."""
