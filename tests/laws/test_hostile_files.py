"""The law of hostile files: whatever one holds, a person is told in one line, soon, and the process neither
ends nor grows.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import hostile_cases
from hostile_cases import Case, Told

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="memory is bounded as Linux does it"),
]
LONGEST = 500  # characters of a line, without the folder's name


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Told]:
    return hostile_cases.run(tmp_path_factory.mktemp("hostile"), [case.name for case in hostile_cases.CASES])


def wrong(case: Case, came: Told) -> str:
    """What is wrong with what came of a case; nothing where it is as the law says."""
    if came.raised:
        return came.raised
    if not came.text.isprintable() or len(came.text) > LONGEST:
        return f"is not one short line: {came.text!r}"
    return "" if re.search(case.says, came.text) else f"expected {case.says!r}; got {came.text!r}"


@pytest.mark.parametrize("case", hostile_cases.CASES, ids=lambda case: case.name)
def test_one_line_says_what_is_wrong(case: Case, told: dict[str, Told]) -> None:
    assert wrong(case, told[case.name]) == ""


def test_each_case_has_a_name_of_its_own() -> None:
    names = [case.name for case in hostile_cases.CASES]
    assert len(set(names)) == len(names)


def test_the_law_sees_what_breaks_it(tmp_path: Path) -> None:
    import broken_cases

    came = hostile_cases.run(tmp_path, [case.name for case in broken_cases.CASES], "broken_cases")
    found = {case.name: wrong(case, came[case.name]) for case in broken_cases.CASES}
    assert "TypeError" in found["a traceback"]
    assert "MemoryError" in found["four gigabytes"]
    assert "the process ended with -24" in found["no end"]  # SIGXCPU
    assert "the process ended with -9" in found["a death"]
    assert "is not one short line" in found["two lines"]
    assert "expected 'this'" in found["other words"]
    assert "nothing was refused; expected FaultscapeError" in found["taken as if it were good"]
    assert found["as it should be"] == ""
