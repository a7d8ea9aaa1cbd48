"""What collect has looked at is noted, so that a kill at any moment loses none of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


@pytest.mark.parametrize("tear", [1, 20])
def test_a_torn_line_costs_its_own_picture_and_none_that_is_noted_later(
    tmp_path: Path, found: list[sources.Found], looked: list[str], tear: int
) -> None:
    first, _ = pictures.probe(tmp_path, found[:5], True)
    notes = tmp_path / NOTES
    notes.write_bytes(notes.read_bytes()[:-tear])
    for upto, new in ((8, [4, 5, 6, 7]), (12, [8, 9, 10, 11]), (12, [])):
        looked.clear()
        good, bad = pictures.probe(tmp_path, found[:upto], True)
        assert sorted(looked) == [found[k].path for k in new]
        assert (good[:5], len(good), bad) == (first, upto, [])


def test_a_picture_is_noted_before_the_next_is_waited_for(
    tmp_path: Path, found: list[sources.Found], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[int] = []

    @contextmanager
    def progress(*_: Any) -> Iterator[Callable[[int], None]]:
        yield lambda _: lines.append((tmp_path / NOTES).read_bytes().count(b"\n"))

    monkeypatch.setattr(pictures, "progress", progress)
    pictures.probe(tmp_path, found, True)
    assert lines == list(range(1, 13))
