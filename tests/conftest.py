"""Property tests draw the same examples in every run, so that a red run means a changed program; set LINNET_EXPLORE=1 to draw new ones."""

from __future__ import annotations

import os
import signal

from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", derandomize=False, deadline=None, print_blob=True)
# Tests press Ctrl-C; started in the background of a shell, a process ignores it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
settings.load_profile("explore" if os.environ.get("LINNET_EXPLORE") else "same")
