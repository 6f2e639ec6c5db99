"""Engines: work that outgrows one process is "map over shards, add up, repeat". One small interface, one file an engine.

>>> import operator
>>> from linnet.engines import open_engine
>>> with open_engine("local", workers=2, kind="threads") as engine:
...     engine.add_up(len, ["a shard", "of", "texts"], add=operator.add)
14

A new engine is one file with a subclass of :class:`~linnet.engines.engine.Engine` and one row in `ENGINES`.
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any

from linnet.engines.engine import Engine, Outcome, ShardError, ShardEvent, SharedValue, TreeSum
from linnet.errors import LinnetError, check_choice

__all__ = ["ENGINES", "SharedValue", "Engine", "Outcome", "ShardError", "ShardEvent", "TreeSum", "open_engine"]

ENGINES = {
    "local": "linnet.engines.local:LocalEngine",  # processes or threads of this machine
    "dask": "linnet.engines.dask:DaskEngine",  # a Dask cluster, or one started on this machine
    "spark": "linnet.engines.spark:SparkEngine",  # a Spark cluster, or one started on this machine (needs Java 17)
}


def open_engine(name: str = "local", **settings: Any) -> Engine:
    """Make an engine by its name; `settings` are those of its class. Use it in a with block, which closes it.

    >>> open_engine("lokal")
    Traceback (most recent call last):
    linnet.errors.LinnetError: unknown engine 'lokal'; choose one of: local, dask, spark (did you mean 'local'?)
    """
    check_choice("engine", name, ENGINES, LinnetError)
    engine: Engine = resolve_name(ENGINES[name])(**settings)
    return engine
