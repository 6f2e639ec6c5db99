"""The compiled kernels that have no stub of their own yet."""

from typing import Any

arithmetic: Any
columns: Any
factors: Any
sparse: Any
