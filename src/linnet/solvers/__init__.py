"""Solvers: exact ones (dual, newton), stochastic ones (online), and optimisers as values.

>>> from linnet.solvers import LBFGS, Adam, Cosine
>>> Adam(learning_rate=0.05, schedule=Cosine(30), batch_size=64).rate_at(15)
0.025

Everything is loaded when it is first used.
"""

from linnet.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
