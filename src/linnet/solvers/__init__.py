"""Solvers: exact ones (dual, newton), stochastic ones (online), and optimisers as values.

>>> from linnet.solvers import LBFGS, Adam, Cosine
>>> Adam(learning_rate=0.05, schedule=Cosine(30), batch_size=64).rate_at(15)
0.025

Everything is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linnet.solvers.callbacks import Callback, Curves, Epoch, Found
    from linnet.solvers.descent import OPTIMISERS, EarlyStopping, Sweep, find_rate, optimise
    from linnet.solvers.newton import LBFGS, Newton, ProximalGradient
    from linnet.solvers.online import SGD
    from linnet.solvers.optimisers import (
        Adadelta,
        Adagrad,
        Adam,
        Chain,
        Clip,
        Constant,
        Cosine,
        Exponential,
        GradientDescent,
        Inverse,
        InverseRoot,
        Momentum,
        Optimiser,
        Product,
        Step,
        WarmUp,
    )
    from linnet.solvers.problem import Function, LinearProblem, Problem

_HOME = {
    "descent": ("OPTIMISERS", "EarlyStopping", "optimise"),
    "finder": ("Sweep", "find_rate"),
    "online": ("SGD",),
    "optimisers": (
        "Adadelta", "Adagrad", "Adam", "Chain", "Clip", "Constant", "Cosine", "Exponential", "GradientDescent", "Inverse",
        "InverseRoot", "Momentum", "Optimiser", "Product", "Step", "WarmUp",
    ),
    "problem": ("Function", "LinearProblem", "Problem"),
    "callbacks": ("Callback", "Curves", "Epoch", "Found"),
    "newton": ("LBFGS", "Newton", "ProximalGradient"),
}  # fmt: skip

__all__ = [
    "LBFGS", "OPTIMISERS", "SGD", "Adadelta", "Adagrad", "Adam", "Chain", "Clip", "Constant", "Cosine", "Curves", "EarlyStopping",
    "Exponential", "Found", "Function", "GradientDescent", "Inverse", "InverseRoot", "LinearProblem", "Momentum",
    "Newton", "Optimiser", "Epoch", "Problem", "Product", "ProximalGradient", "Step", "Sweep", "WarmUp", "Callback",
    "find_rate", "optimise",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    import importlib

    for module, names in _HOME.items():
        if name in names:
            return getattr(importlib.import_module(f"linnet.solvers.{module}"), name)
    raise AttributeError(f"module 'linnet.solvers' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
