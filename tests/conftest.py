"""Property tests draw the same examples in every run, so that a red run means a changed program; set LINNET_EXPLORE=1 to draw new ones."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", derandomize=False, deadline=None, print_blob=True)
settings.load_profile("explore" if os.environ.get("LINNET_EXPLORE") else "same")
