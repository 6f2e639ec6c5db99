"""The studio: pages to look at data, train, read errors, try texts and label new ones, in a browser on this machine.

What the pages show is worked out in plain modules that know nothing of a browser: `health` (the data), `runs`
(training), `mistakes` (errors), `trying` (one text), `active` and `labelling` (what to label next), `answers` (labels in
SQLite), `drawing` (charts). `state.Studio` holds them together, `pages` has a file a page, `server` serves them. The
pages need the extra ``studio``; the modules do not.
"""

from __future__ import annotations

from linnet.studio.active import Learner, Pool
from linnet.studio.answers import Answers
from linnet.studio.labelling import Labelling
from linnet.studio.state import Studio

__all__ = ["Answers", "Labelling", "Learner", "Pool", "Studio"]
