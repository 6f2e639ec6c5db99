"""The compiled kernels that have no stub of their own yet."""

from typing import Any

arithmetic: Any
factors: Any
sparse: Any
