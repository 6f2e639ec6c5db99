"""The verdicts of `linnet check` are as expected, on planted faults and on every set of LINNET_DATA; see tests/verdicts.py."""

from __future__ import annotations

import pytest

import linnet
from linnet.checks.checked_data import LEVELS
from verdicts import FOLDER, PAGE, SETS, planted, written

PLANTED = planted()


def judge(found, expected):
    assert found.level == expected.verdict, str(found)
    levels = {one.check: one.level for one in found}
    assert {name: levels[name] for name in expected.because} == expected.because
    loud = [name for name in expected.not_because if LEVELS.index(levels.get(name, "ok")) > LEVELS.index("note")]
    assert not loud, str(found)


@pytest.mark.parametrize("name", PLANTED)
def test_planted_faults(name):
    sets, expected = PLANTED[name]
    judge(linnet.check(*sets), expected)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no data sets at {FOLDER}: point LINNET_DATA at them")
@pytest.mark.parametrize("name", SETS)
def test_real_sets(name):
    files, expected = SETS[name]
    several = {"multilabel": "|"} if name == "goemotions" else {}
    found = linnet.check(*(linnet.read(FOLDER / name / file, **several) for file in files))
    judge(found, expected)
    if name == "clinc150":
        assert not {one["word"] for one in found["loopholes"].examples} & {"401k", "apr", "w2"}


def test_the_page_has_the_table():
    """Otherwise: python tests/verdicts.py."""
    page = PAGE.read_text(encoding="utf-8")
    assert page == written(page)
