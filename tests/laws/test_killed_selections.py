"""The law of kills for selections: `select --more`, killed before or between its two files and started again,
draws as often as it was asked, and the same images.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import children
import faultscape as fs
import made_answers
from faultscape.study.tables import selections
from refusals import refused

pytestmark = pytest.mark.slow

FILES = ("selection-random.csv", "selection-random.json")
DIES = """
import os, sys
import faultscape as fs
from faultscape.study.tables import selections

put, puts = selections.put, []

def dies(path, data):
    if len(puts) == int(sys.argv[2]):
        os._exit(9)
    puts.append(path)
    return put(path, data)

selections.put = dies
fs.select(sys.argv[1], selector="random", engine="local", **({"more": 7} if sys.argv[3] else {"budget": 5}))
"""


def killed(study: Path, puts: int, more: str = "more") -> None:
    """Draw, and die in place of the put behind so many."""
    children.python("-c", DIES, study, puts, more, status=9)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    study = Path(made_answers.study(tmp_path_factory.mktemp("whole")).study)
    fs.select(str(study), selector="random", budget=5)
    fs.select(str(study), selector="random", more=7)
    return study


def contents(study: Path) -> list[bytes]:
    return [(study / name).read_bytes() for name in FILES]


def test_a_selection_killed_at_any_of_its_files_draws_once(whole: Path, tmp_path: Path) -> None:
    study = Path(made_answers.study(tmp_path).study)
    for puts in (0, 1):
        killed(study, puts, more="")
        assert selections.names(study) == []
    fs.select(str(study), selector="random", budget=5)
    for puts in (0, 1):
        killed(study, puts)
        assert len(selections.read_selection(study, "random")[0].rows) == 5
    # the rows lie there, and do not count yet
    assert len((study / FILES[0]).read_text().splitlines()) == 1 + 5 + 7
    assert len(fs.select(str(study), selector="random", more=7).rows) == 12
    assert contents(study) == contents(whole)


def test_a_selection_that_lost_rows_is_damaged_and_one_of_an_earlier_version_is_read(
    whole: Path, tmp_path: Path
) -> None:
    import json
    import shutil

    from faultscape.errors import SelectionError

    study = Path(shutil.copytree(whole, tmp_path / "study"))
    about = json.loads((study / FILES[1]).read_text())
    assert about.pop("rows") == 12
    table = (study / FILES[0]).read_text()
    (study / FILES[0]).write_text("".join(table.splitlines(keepends=True)[:-1]))
    with refused(SelectionError, "it has 11 of 12 rows"):
        selections.read_selection(study, "random")
    (study / FILES[1]).write_text(json.dumps(about))
    assert len(selections.read_selection(study, "random")[0].rows) == 11
