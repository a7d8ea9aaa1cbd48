"""What hostile files of CVAT hold is refused in one line, soon, and in bounded memory."""

from __future__ import annotations

import re
import sys

import pytest

import hostile_cases
import hostile_cvat
from hostile_cases import Case, Told

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="memory is bounded as Linux does it"),
]
LONGEST = 500  # characters of a line, without the folder's name


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Told]:
    names = [case.name for case in hostile_cvat.CASES]
    assert len(set(names)) == len(names)
    return hostile_cases.run(tmp_path_factory.mktemp("hostile"), names, "hostile_cvat")


@pytest.mark.parametrize("case", hostile_cvat.CASES, ids=lambda case: case.name)
def test_one_line_says_what_is_wrong(case: Case, told: dict[str, Told]) -> None:
    came = told[case.name]
    assert not came.raised
    assert came.text.isprintable()
    assert len(came.text) <= LONGEST
    assert re.search(case.says, came.text)
