"""Write src/linnet/_kernels/unicode_tables.h: what the kernels know about Unicode characters.

The header is committed, not made at build time: a model must see the same words whichever Python built the wheel.
Run it again only to move to a newer Unicode version, and say so in the changelog (old models keep their own words).

    python tools/unicode_tables.py
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path

HEADER = Path(__file__).parents[1] / "src" / "linnet" / "_kernels" / "unicode_tables.h"
BLOCK = 128
LAST = 0x110000

WORD, MARK, SPACE, ALONE, IGNORE, PYSPACE = 1, 2, 4, 8, 16, 32

# Scripts written without spaces: each character is a token of its own in the default tokeniser.
ALONE_NAMES = (
    "CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH", "HIRAGANA", "KATAKANA", "HALFWIDTH KATAKANA",
    "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN",
)  # fmt: skip
# Marks of direction and hyphenation: invisible, dropped from the token.
IGNORED = {0x00AD, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)}
SPACES = {0x200B, 0x2060, 0xFEFF}
JOINERS = {0x200C, 0x200D}


def char_class(code: int) -> int:
    """Return the bits that describe one character."""
    c = chr(code)
    category = unicodedata.category(c)
    bits = 0
    if c.isalnum() or c == "_":
        bits |= WORD
        if (
            code >= 0x80
            and unicodedata.name(c, "").startswith(ALONE_NAMES)
            and not unicodedata.name(c).endswith("DIGIT")
        ):
            bits |= ALONE
    if category in ("Mn", "Mc", "Me") or code in JOINERS:
        bits |= MARK
    if code in IGNORED:
        bits |= IGNORE
    if c.isspace():
        bits |= PYSPACE
    if c.isspace() or category in ("Cc", "Zs", "Zl", "Zp") or code in SPACES:
        bits |= SPACE
    return bits


def two_stage(value: Callable[[int], int]) -> tuple[list[int], list[int]]:
    """Split a table over all characters into an index of blocks and the distinct blocks.

    Lookup is ``blocks[index[c >> 7] * 128 + (c & 127)]``.
    """
    seen: dict[tuple[int, ...], int] = {}
    index = []
    for start in range(0, LAST, BLOCK):
        block = tuple(value(c) for c in range(start, start + BLOCK))
        index.append(seen.setdefault(block, len(seen)))
    return index, [v for block in seen for v in block]


def array(kind: str, name: str, values: list[int]) -> str:
    """Format one C array."""
    lines, line = [], ""
    for v in values:
        item = f"{v},"
        if len(line) + len(item) > 118:
            lines.append(line)
            line = ""
        line += item
    lines.append(line)
    return f"static const {kind} {name}[{len(values)}] = {{\n" + "\n".join(lines) + "\n};\n"


def main() -> None:
    """Write the header."""
    expansions: list[tuple[int, ...]] = []

    def mapping(convert: Callable[[str], str]) -> Callable[[int], int]:
        def value(code: int) -> int:
            if 0xD800 <= code < 0xE000:
                return 0
            out = convert(chr(code))
            if out == chr(code):
                return 0
            if len(out) == 1:
                return ord(out)
            codes = tuple(map(ord, out)) + (0,) * (3 - len(out))
            if codes not in expansions:
                expansions.append(codes)
            return -1 - expansions.index(codes)

        return value

    fold = two_stage(mapping(str.casefold))
    lower = two_stage(mapping(str.lower))
    classes = two_stage(char_class)
    parts = [
        f"/* Made by tools/unicode_tables.py from Unicode {unicodedata.unidata_version}. Do not edit. */",
        "#ifndef LINNET_UNICODE_TABLES_H\n#define LINNET_UNICODE_TABLES_H\n#include <stdint.h>\n",
        f'#define LN_UNICODE_VERSION "{unicodedata.unidata_version}"',
        "/* class bits: 1 word (\\w), 2 mark, 4 space, 8 token of its own, 16 dropped, 32 str.isspace */",
        array("uint8_t", "ln_class_index", classes[0]) if max(classes[0]) < 256 else array("uint16_t", "ln_class_index", classes[0]),
        array("uint8_t", "ln_class_block", classes[1]),
        "/* case mapping: 0 same, > 0 the other character, < 0 row -1-v of ln_expand */",
        array("uint8_t", "ln_fold_index", fold[0]),
        array("int32_t", "ln_fold_block", fold[1]),
        array("uint8_t", "ln_lower_index", lower[0]),
        array("int32_t", "ln_lower_block", lower[1]),
        array("int32_t", "ln_expand", [c for row in expansions for c in row]),
        "#endif\n",
    ]  # fmt: skip
    if max(fold[0]) > 255 or max(lower[0]) > 255:
        sys.exit("more than 256 distinct case blocks: widen the index type")
    HEADER.write_text("\n".join(parts), encoding="ascii")


if __name__ == "__main__":
    main()
