"""Labelled rows of files of any size, in batches."""
