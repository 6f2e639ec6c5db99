"""Training on streams: more text than memory, in the same words and to the same model file.

``fit_stream`` reads files of any size in batches, three times: once to look (rows, labels, damage), once to count
features, once to write them as numbers to a cache on disk, which the passes of the solver then read block by block.
Where all rows fit in one block the model is the one that ordinary training gives, to the byte.

"""

from __future__ import annotations

from linnet.data.shards import find_shards
from linnet.streaming.memory import Budget
from linnet.streaming.training import Streamed, fit_stream

__all__ = ["Budget", "Streamed", "find_shards", "fit_stream"]
