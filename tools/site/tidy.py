"""What a code host shows well and Python-Markdown does not: make the second read the text as the first does."""

import re

FENCE = re.compile(r"\s*(```|~~~)")
LIST_OR_TABLE = re.compile(r"[-*] |\d+\. |\|")
ROLE = re.compile(r":\w+:`~?(?:[\w.]*\.)?(\w+)`")


def begins(line: str, before: str) -> bool:
    """Whether a list or a table begins at this line, right after a paragraph."""
    return bool(LIST_OR_TABLE.match(line) and before.strip() and not LIST_OR_TABLE.match(before)) and before[:2] != "  "


def tidy(text: str) -> str:
    """Return Markdown with a blank line before lists and tables, and with examples in a fence.

    >>> print(tidy(chr(10).join(["These:", "- one", "- two"])))
    These:
    <BLANKLINE>
    - one
    - two
    >>> tidy("See :class:`~linnet.models.NBSVM`.")
    'See `NBSVM`.'
    """
    lines: list[str] = []
    fence = example = False
    source = ROLE.sub(r"`\1`", text).split("\n")
    for place, line in enumerate(source):
        before = lines[-1] if lines else ""
        if example and not line.strip():
            lines.append("```")
            example = False
        if not example and FENCE.match(line):
            fence = not fence
            if fence and source[place + 1 : place + 2] and source[place + 1].startswith(">>> "):
                line = line.replace("```python", "```pycon")
        elif not fence and not example and line.startswith(">>> "):
            lines += ["", "```pycon"]
            example = True
        elif not fence and not example and begins(line, before):
            lines.append("")
        lines.append(line)
    return "\n".join([*lines, "```"] if example else lines)
