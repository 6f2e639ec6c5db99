"""A small budget of the fuzzers in tools/; a million inputs are `make fuzz`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parent.parent / "tools"


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [("fuzz_tokens.py", "--inputs", "4000"), ("fuzz_blocks.py", "--inputs", "4000"), ("fuzz_blocks.py", "--inputs", "50000", "--kernels")],
    ids=["tokenisers", "blocks", "kernels"],
)  # fmt: skip
def test_random_bytes_find_nothing(command):
    done = subprocess.run(
        [sys.executable, str(TOOLS / command[0]), *command[1:], "--seed", "7"],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
