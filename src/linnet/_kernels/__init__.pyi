"""What the type checker is told of the compiled kernels: that they are there."""

from typing import Any

arithmetic: Any
columns: Any
coordinate: Any
dual: Any
factors: Any
featurize: Any
measure: Any
minhash: Any
network: Any
online: Any
parts: Any
score: Any
sparse: Any
varint: Any
vocab: Any
