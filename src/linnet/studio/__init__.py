"""The studio: pages to check data, train, read errors, try texts and label new ones, in a browser on this machine.

What the pages show is computed in plain modules that do not need a browser: `data_health` (checks of the data), `runs`
(training), `prediction` (one text), `active` and `labelling` (what to label next), `label_store` (labels in SQLite),
`charts`. `state.Studio` holds them together, `pages` has a file a page, `layout` what the pages have in common, `server`
serves them. The pages need the extra ``studio``; the modules do not.
"""

from __future__ import annotations

from linnet.studio.active import Learner, Pool
from linnet.studio.label_store import LabelStore
from linnet.studio.labelling import Labelling
from linnet.studio.state import Studio

__all__ = ["LabelStore", "Labelling", "Learner", "Pool", "Studio"]
