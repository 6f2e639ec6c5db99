"""Places for what other parts of linnet find out: the data check and the comparison of models."""

from __future__ import annotations

from linnet.report.material import Material

__all__ = ["check", "comparison"]


def check(material: Material) -> str | None:
    """Show the findings of the data check, where the report was given some."""
    return _shown(material, "check")


def comparison(material: Material) -> str | None:
    """Show the comparison of models, where the report was given one."""
    return _shown(material, "comparison")


def _shown(material: Material, name: str) -> str | None:
    found = material.extra.get(name)
    return None if found is None else f'<div class="wide">{found._repr_html_()}</div>'
