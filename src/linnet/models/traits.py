"""What a model can do, in one value: nobody asks a model for its class or probes it for attributes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Sums", "Traits"]

Sums = Literal["statistics", "problem", "epochs", "no"]


@dataclass(frozen=True)
class Traits:
    """The capabilities of a model.

    ``sums`` says how it is fitted to rows that come in blocks, from disk or from other machines: "statistics" are counts
    that add up; "problem" is a smooth objective whose values and gradients add up; "epochs" are steps that go from block
    to block; "no" needs all rows in memory. ``learns`` is False for a model that is given its weights and learns nothing
    from rows. ``gain_per_class``: it takes one weight a feature and class. ``non_negative``: features must not be
    negative. ``presence``: features must be 0 or 1. ``multilabel``: it learns rows with several labels, each against the
    rest. ``incremental``: it has ``partial_fit``. ``bytes_per_weight`` is the memory that fitting takes for each feature
    and output.
    """

    sums: Sums = "no"
    learns: bool = True
    gain_per_class: bool = False
    non_negative: bool = False
    presence: bool = False
    multilabel: bool = True
    incremental: bool = False
    bytes_per_weight: int = 60
