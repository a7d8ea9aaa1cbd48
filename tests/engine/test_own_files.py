"""A user's own file is run like any Python file."""

from __future__ import annotations

from pathlib import Path
from typing import get_type_hints

import pytest

from faultscape.plug import find

WITH_A_DATACLASS = """
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    by: int = {by}


def step() -> Step:
    return Step()
"""


def test_a_file_may_hold_dataclasses_whose_types_are_read_later(tmp_path: Path) -> None:
    path = tmp_path / "steps.py"
    path.write_text(WITH_A_DATACLASS.format(by=3))
    step = find("function", f"{path}:step", {})
    assert step().by == 3
    assert get_type_hints(step) == {"return": type(step())}


@pytest.mark.parametrize("name", ["steps", "json"])
def test_files_of_one_name_do_not_meet(tmp_path: Path, name: str) -> None:
    for by in (1, 2):
        (tmp_path / str(by)).mkdir()
        (tmp_path / str(by) / f"{name}.py").write_text(WITH_A_DATACLASS.format(by=by))
    one, two = (find("function", f"{tmp_path}/{by}/{name}.py:step", {}) for by in (1, 2))
    assert (one().by, two().by) == (1, 2)
    assert get_type_hints(one)["return"] is type(one())
