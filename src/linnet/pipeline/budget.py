"""How much memory a run may take, and what it is spent on.

A limit is a promise about the whole process, so what Python and its libraries take is set aside first; the rest is
shared out: texts of one batch with their counts, the vocabulary while it grows, the weights, the rows of one block.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from dataclasses import dataclass
from pathlib import Path

from linnet.errors import LinnetError

PROCESS = 150_000_000
"""What Python, NumPy, Arrow and this package take before the first row."""
LEAST = 250_000_000


def available() -> int:
    """Return how many bytes this process may still take: what the machine has free, or its container less what it uses."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        pages = os.sysconf("SC_PHYS_PAGES") if "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {}) else 1 << 21
        free = pages * 4096 // 2
    group = Path("/sys/fs/cgroup")
    try:
        limit = (group / "memory.max").read_text(encoding="ascii").strip()
        if limit != "max":
            free = min(free, int(limit) - int((group / "memory.current").read_text(encoding="ascii")))
    except (OSError, ValueError):
        pass
    return max(0, free)


def memory_needed(input_bytes: int) -> int:
    """Return about how many bytes ordinary training takes for so many bytes of text.

    Texts are held twice while they are split; counted features take ten times their bytes (words 1-3 of long texts, and
    more where characters are counted too). 27 is a cautious guess: a stream that was not needed costs time, memory that
    runs out costs the run.

    >>> memory_needed(1_000_000) // 1_000_000
    27
    """
    return 27 * input_bytes


def return_freed() -> None:
    """Ask the C library to hand large arrays back to the system when they are freed, instead of keeping them."""
    with contextlib.suppress(OSError, AttributeError, TypeError):  # glibc only; elsewhere the limit is less exact
        libc = ctypes.CDLL(None)
        libc.mallopt(-3, 1 << 23)  # M_MMAP_THRESHOLD: larger blocks are mapped, and unmapped when freed
        libc.mallopt(-1, 1 << 20)  # M_TRIM_THRESHOLD


def give_back() -> None:
    """Hand memory that is free back to the system: at the end of a stage."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


@dataclass(frozen=True)
class Budget:
    """The parts of a limit, in bytes.

    >>> Budget(10**9).free
    850000000
    """

    total: int

    def __post_init__(self) -> None:
        if self.total < LEAST:
            raise LinnetError(
                f"max_memory of {self.total / 1e6:,.0f} MB is too little: the program itself takes "
                f"{PROCESS // 10**6} MB; give {LEAST // 10**6} MB or more"
            )

    @property
    def free(self) -> int:
        """What is left when the program is loaded."""
        return self.total - PROCESS

    def batch_bytes(self, spread: int) -> int:
        """Return how many bytes of text to count at a time; spread is about how many features five bytes give."""
        return int(min(8 << 20, max(1 << 18, 0.1 * self.free / (8 + 1.6 * spread))))

    def vocabulary(self) -> int:
        """Return how many features may be counted at a time: 42 bytes a slot, three quarters of the slots used."""
        slots = 1 << max(12, int(0.45 * self.free / 42).bit_length() - 1)
        return slots * 3 // 4

    def columns(self, per_output: int, n_outputs: int) -> int:
        """Return how many features a model may have, where solving takes so many bytes a feature and output."""
        return int(0.45 * self.free / (48 + 8 * n_outputs + per_output * n_outputs))

    def block_entries(self, per_entry: int) -> int:
        """Return how many entries the rows of one block may have; two are in memory at a time."""
        return max(10_000, int(0.06 * self.free / per_entry))

    def whole_entries(self, per_entry: int) -> int:
        """Return up to how many entries all rows are held in memory as one block."""
        return max(10_000, int(0.3 * self.free / per_entry))

    def exact_rows(self) -> int:
        """Return up to how many rows labels and parts are kept one by one, so that the split is that of a data set."""
        return int(0.3 * self.free / 80)
