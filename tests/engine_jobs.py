"""Functions for the workers of the engine tests: they must be importable by name."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from linnet.errors import DataError


def square(shard):
    return shard * shard


def scaled(shard, factor, offset):
    return shard * factor + offset


def fail_on_odd(shard):
    if shard % 2:
        raise ValueError(f"{shard} is odd")
    return shard


def refuse_on_odd(shard, folder):
    with (Path(folder) / f"tries-{shard}").open("a") as file:
        file.write("x")
    if shard % 2:
        raise DataError(f"{shard} is odd")
    return shard


def first_time(folder, name):
    """Whether nobody has been here under this name: only one process can make a folder."""
    try:
        Path(folder, name).mkdir()
    except FileExistsError:
        return False
    return True


def die_once(shard, folder):
    if shard in (2, 5) and first_time(folder, f"died-{shard}"):
        os.kill(os.getpid(), signal.SIGKILL)
    return shard


def always_die(shard):
    if shard == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return shard


def hang_once(shard, folder):
    if shard == 1 and first_time(folder, "hung"):
        time.sleep(600)
    return shard


def always_hang(shard):
    if shard == 1:
        time.sleep(600)
    return shard


def third(shard):
    return (shard + 1) / 3


def nap_and_pid(shard):
    time.sleep(0.05)
    return os.getpid()
