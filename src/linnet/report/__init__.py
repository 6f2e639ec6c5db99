"""A report: one HTML file on how good a classifier is, what it gets wrong and why.

A report is a list of sections (:mod:`linnet.report.report`), each a function from the
:class:`~linnet.report.inputs.ReportInputs` to HTML. Charts are SVG from :mod:`linnet.draw`.
"""

from linnet.report.inputs import ReportInputs
from linnet.report.report import SECTIONS, Report, Section, register

__all__ = ["SECTIONS", "Report", "ReportInputs", "Section", "register"]
