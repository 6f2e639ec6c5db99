"""Property tests draw the same examples in every run, so that a red run means a changed program; set LINNET_EXPLORE=1 to draw new ones."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None, max_examples=50)
settings.register_profile("explore", derandomize=False, deadline=None, max_examples=200, print_blob=True)
# Tests press Ctrl-C; started in the background of a shell, a process ignores it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
settings.load_profile("explore" if os.environ.get("LINNET_EXPLORE") else "same")


@pytest.fixture(autouse=True)
def _same_draws() -> None:
    """Let what draws from NumPy's global generator, such as scikit-learn's solvers, draw the same in every run."""
    if not os.environ.get("LINNET_EXPLORE"):
        np.random.seed(0)  # noqa: NPY002 - the generator in question


def pytest_collection_modifyitems(items):
    """Begin with the longest file: the other worker would wait for it at the end."""
    items.sort(key=lambda item: "test_same_bytes" not in item.nodeid)
