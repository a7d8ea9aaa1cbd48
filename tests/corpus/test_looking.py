"""What collect has looked at is noted, so that a kill at any moment loses none of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import made
from faultscape.corpus import sources
from faultscape.verbs.collect import pictures

NOTES = ".collecting.jsonl"


@pytest.fixture
def found(tmp_path: Path) -> list[sources.Found]:
    for k in range(12):
        made.write(tmp_path / "photos" / f"{k:02}.png", np.full((6, 8, 3), k, np.uint8))
    return sources.find([tmp_path / "photos"])


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which pictures were looked at."""
    paths: list[str] = []
    look = pictures.look

    def counted(path: str, *words: Any, **more: Any) -> Any:
        paths.append(path)
        return look(path, *words, **more)

    monkeypatch.setattr(pictures, "look", counted)
    return paths


def look_at(root: Path, found: list[sources.Found]) -> list[tuple[sources.Found, Any]]:
    with pictures.Notes(root) as notes:
        return list(pictures.probe(notes, found, True))


@pytest.mark.parametrize("tear", [1, 20])
def test_a_torn_line_costs_its_own_picture_and_none_that_is_noted_later(
    tmp_path: Path, found: list[sources.Found], looked: list[str], tear: int
) -> None:
    first = look_at(tmp_path, found[:5])
    notes = tmp_path / NOTES
    notes.write_bytes(notes.read_bytes()[:-tear])
    for upto, new in ((8, [4, 5, 6, 7]), (12, [8, 9, 10, 11]), (12, [])):
        looked.clear()
        now = look_at(tmp_path, found[:upto])
        assert sorted(looked) == [found[k].path for k in new]
        assert (now[:5], len(now)) == (first, upto)


def test_notes_of_files_that_are_gone_or_changed_cost_the_others_nothing(
    tmp_path: Path, found: list[sources.Found], looked: list[str]
) -> None:
    look_at(tmp_path, found[:9])
    made.write(Path(found[3].path), np.full((6, 8, 3), 99, np.uint8))
    looked.clear()
    now = look_at(tmp_path, [*found[1:5], *found[7:]])
    assert sorted(looked) == [found[k].path for k in (3, 9, 10, 11)]
    assert [f for f, _ in now] == [*found[1:5], *found[7:]]


def test_a_picture_is_noted_before_the_next_is_waited_for(tmp_path: Path, found: list[sources.Found]) -> None:
    with pictures.Notes(tmp_path) as notes:
        for number, _ in enumerate(pictures.probe(notes, found, True), 1):
            assert (tmp_path / NOTES).read_bytes().count(b"\n") == number
