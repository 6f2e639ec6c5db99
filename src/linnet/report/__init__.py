"""One page that says how good a classifier is, what it gets wrong and why: a file that opens anywhere, offline.

A report is a list of sections (:mod:`linnet.report.sections`), each a function in its own file from the
:class:`~linnet.report.material.Material` to HTML. Charts are Vega-Lite, drawn by the code that the page carries.
"""

from linnet.report.material import Material
from linnet.report.report import Report
from linnet.report.sections import SECTIONS, Section, register

__all__ = ["SECTIONS", "Material", "Report", "Section", "register"]
