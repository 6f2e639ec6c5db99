"""Write src/linnet/_kernels/negation_table.h: the hashes of the negation words, laid out for lookup by their top bits.

python tools/negation_table.py
"""

from __future__ import annotations

import sys
from pathlib import Path

from linnet.text.tokens import NEGATIONS

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from reference.text import token_hash  # noqa: E402 - the reference lives with the tests

BITS = 9
TARGET = Path(__file__).parent.parent / "src/linnet/_kernels/negation_table.h"


def table() -> list[int]:
    """Return 2^BITS slots: linear probing from the top bits, 0 where empty."""
    slots = [0] * (1 << BITS)
    for word in NEGATIONS:
        at = token_hash(word) >> (64 - BITS)
        while slots[at]:
            at = (at + 1) % len(slots)
        slots[at] = token_hash(word)
    return slots


def main() -> None:
    """Write the header."""
    values = [f"UINT64_C({h:#018x})" if h else "0" for h in table()]
    rows = [", ".join(values[k : k + 4]) for k in range(0, len(values), 4)]
    head = "/* Written by tools/negation_table.py from linnet/text/tokens.py: hashes of the words that negate. */\n"
    body = f"#define LN_NEGATION_BITS {BITS}\nstatic const uint64_t ln_negations[{len(values)}] = {{\n  "
    TARGET.write_text(head + "#include <stdint.h>\n" + body + ",\n  ".join(rows) + "\n};\n", encoding="utf-8")


if __name__ == "__main__":
    main()
