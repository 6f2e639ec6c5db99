"""Export to C: one file and its header, C99, with no dependency but the standard library and libm."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from linnet.draw.markup import resource
from linnet.export.portable import KINDS, PortableModel, unicode_table

WORDS_A_LINE = 12


def write_c(model: PortableModel, path: Path, title: str) -> dict[Path, Iterable[str]]:
    """Return the parts of the two files."""
    prefix = re.sub(r"\W", "_", path.stem, flags=re.ASCII).lower()
    prefix = f"model_{prefix}" if not prefix[:1].isalpha() else prefix
    header = path.with_suffix(".h")

    def own(text: str) -> str:
        return text.replace("linnet_", f"{prefix}_").replace("LINNET_", f"{prefix.upper()}_")

    guard = f"{prefix.upper()}_H"
    comment = title.replace("*/", "* /").replace("\\", "/").replace("\n", " ")
    top = f"/* {comment}\n   Written by linnet export. */\n"
    content = f"#define LINNET_CLASSES {len(model.labels)}\n{resource('linnet.export', 'runtime.h')}\n#endif\n"
    declared = f"{top}#ifndef {guard}\n#define {guard}\n\n{own(content)}"

    def code() -> Iterator[str]:
        yield f'{top}#include "{header.name}"\n'
        yield from _settings(model)
        yield f"const char *const {prefix}_labels[] = {{{', '.join(map(_string, model.labels))}}};\n"
        yield f"const double {prefix}_thresholds[] = {{{', '.join(map(repr, model.thresholds))}}};\n"
        yield from _rows(model)
        yield own(resource("linnet.export", "runtime.c"))

    return {path: code(), header: [declared]}


def _settings(model: PortableModel) -> Iterator[str]:
    """All that a model knows but its weights."""
    cases = {block["case"] for block in model.blocks}
    n_outputs = model.rows.shape[1] - 1
    yield "#include <math.h>\n#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>\n\n"
    yield resource("linnet._kernels", "ascii_masks.h")
    tables = ["class_index", "class_block"]
    for case, name in ((1, "fold"), (2, "lower")):
        if case in cases:
            tables += [f"{name}_index", f"{name}_block"] + ["expand"] * ("expand" not in tables)
            yield f"#define LN_{name.upper()}S 1\n"
    yield from (unicode_table(f"ln_{name}") for name in tables)
    numbers = {
        "OUTPUTS": n_outputs, "BLOCKS": len(model.blocks), "CHARS": int(any(b["kind"] in ("chars", "across") for b in model.blocks)),
        "TF": model.tf, "NORM": model.norm, "SHIFT": model.shift, "IGNORED": f"UINT64_C({model.ignored})",
        "HASHED": int(model.hashed), "ROW": (4 + n_outputs) // 2 * 2,
        "MULTILABEL": int(model.multilabel), "CURVE": len(model.curve), "LEAST": repr(model.least),
    }  # fmt: skip
    yield "".join(f"#define LN_{name} {value}\n" for name, value in numbers.items())
    yield "typedef struct { int kind, tokens, mode; size_t low, high; uint64_t seed; double share; } ln_block;\n"
    blocks = (
        f"{{{KINDS[b['kind']]}, {b['tokens']}, {b['case']}, {b['low']}, {b['high']}, UINT64_C({b['seed']}), {b['share']!r}}}"
        for b in model.blocks
    )
    yield f"static const ln_block ln_blocks[] = {{{', '.join(blocks)}}};\n"
    yield f"static const double ln_b[] = {{{', '.join(map(repr, model.b))}}};\n"
    if model.curve:
        points = ", ".join(f"{{{x!r}, {y!r}}}" for x, y in model.curve)
        yield f"static const double ln_curve[][2] = {{{points}}};\n"


def _rows(model: PortableModel) -> Iterator[str]:
    yield "/* for each place: the fingerprint (low, high), the bits of its part of the norm and of its weights */\n"
    yield "#if defined(__GNUC__)\n__attribute__((aligned(64)))\n#endif\nstatic const uint32_t ln_table[] = {\n"
    words = model.table().ravel()
    for start in range(0, len(words), WORDS_A_LINE << 10):
        part = words[start : start + (WORDS_A_LINE << 10)].tolist()
        yield "".join(",".join(map(hex, part[k : k + WORDS_A_LINE])) + ",\n" for k in range(0, len(part), WORDS_A_LINE))
    yield "};\n\n"


def _string(text: str) -> str:
    """Write a C string: bytes beyond ASCII as octal escapes, and no trigraphs."""
    plain = (chr(c) if 32 <= c < 127 and c not in b'"\\?' else f"\\{c:03o}" for c in text.encode("utf-8"))
    return f'"{"".join(plain)}"'
