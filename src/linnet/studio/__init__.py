"""The studio: pages to check data, train, read errors, try texts and label new ones, in a browser on this machine.

What the pages show is computed in plain modules that do not need a browser: `state` (the data, its checks, one
text), `runs` (training), `active` and `labelling` (what to label next, labels in SQLite). `state.Studio` holds them together,
`pages` has a file a page, `layout` what the pages have in common, `server` serves them.
The pages need the extra ``studio``; the modules do not.
"""

from linnet.studio.active import Learner, Pool
from linnet.studio.labelling import Labelling, LabelStore
from linnet.studio.state import Studio

__all__ = ["LabelStore", "Labelling", "Learner", "Pool", "Studio"]
