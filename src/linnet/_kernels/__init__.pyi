"""What the type checker is told of the compiled kernels: that they are there."""

from typing import Any

dual: Any
featurize: Any
minhash: Any
online: Any
score: Any
sparse: Any
vocab: Any
