r"""Clean texts: rules that are values, each switchable and counted; offsets into the original survive.

>>> from linnet.text.clean import clean
>>> clean("Great!!<br /><br />See http://example.org", "html,urls=URL").text
'Great!!\n\nSee URL'
"""

from linnet.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
