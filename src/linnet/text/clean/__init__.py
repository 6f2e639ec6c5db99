r"""Clean texts: rules that are values, each switchable and counted; offsets into the original survive.

>>> from linnet.text.clean import clean
>>> clean("Great!!<br /><br />See http://example.org", "html,urls=URL").text
'Great!!\n\nSee URL'
"""

from __future__ import annotations

from linnet.text.clean.corpus import CleaningReport
from linnet.text.clean.pages import C4, Pages
from linnet.text.clean.rules import RULES, Cleaned, Cleaner, CleaningRule, clean, make_rule

__all__ = ["C4", "RULES", "Cleaned", "Cleaner", "Pages", "CleaningReport", "CleaningRule", "clean", "make_rule"]
