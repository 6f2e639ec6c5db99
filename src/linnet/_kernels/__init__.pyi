"""The compiled kernels that have no stub of their own yet."""

from typing import Any

columns: Any
coordinate: Any
dual: Any
network: Any
online: Any
sparse: Any
