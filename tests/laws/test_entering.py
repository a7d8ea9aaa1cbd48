"""The law of entering: parts of many shards enter by one put of a manifest, and at the end what is there
enters, whatever the end is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import faultscape as fs
import made
from faultscape.reading import fill
from faultscape.study import parts
from faultscape.study.tables import label_maps
from faultscape.verbs.label import mask_files, masks
from faultscape.verbs.measure import work as measure

SHARDS = 8


@pytest.fixture
def puts(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folder of every manifest that measuring and importing put, while nothing is due before the end."""
    found: list[Path] = []

    def put(folder: Path, entries: dict[str, parts.Part]) -> None:
        found.append(folder)
        parts.write_manifest(folder, entries)

    for module in (masks, measure, label_maps):
        monkeypatch.setattr(module, "write_manifest", put)
    monkeypatch.setattr(fill, "PAUSE", 1e9)
    return found


@pytest.fixture
def study(tmp_path: Path) -> tuple[Path, made.Corpus]:
    corpus = made.corpus(tmp_path / "corpus", images=SHARDS, models=2, shape=(12, 16))
    study = made.collected(corpus, tmp_path / "study", shard_size=1)
    fs.predict(str(study), corpus.models, engine="local")
    return study, corpus


def interrupted(work: Callable[..., Any], after: int) -> Callable[..., Any]:
    """Do some work so many times, then Ctrl-C."""
    left = [after]

    def works(*given: Any, **more: Any) -> Any:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        return work(*given, **more)

    return works


def test_results_wait_until_they_are_due_and_enter_once_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, entered = [100.0], []
    monkeypatch.setattr(fill.time, "monotonic", lambda: clock[0])
    with fill.Entry(lambda items: entered.append([*items])) as entry:
        for number in range(6):
            entry.add(number)
            entry.if_due()
            clock[0] += 0.4
        assert entered == [[0], [1, 2, 3]]
    assert entered == [[0], [1, 2, 3], [4, 5]]


def test_entering_that_takes_long_is_done_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, entered = [100.0], []
    monkeypatch.setattr(fill.time, "monotonic", lambda: clock[0])

    def enter(items: list[int]) -> None:
        clock[0] += 1.0
        entered.append([*items])

    with fill.Entry(enter) as entry:
        for number in range(25):
            entry.add(number)
            entry.if_due()
            clock[0] += 1.0
    assert entered == [[0], [*range(1, 21)], [*range(21, 25)]]


@pytest.mark.parametrize("end", [KeyboardInterrupt, ValueError])
def test_what_waits_enters_at_every_end(end: type[BaseException]) -> None:
    entered: list[int] = []

    def stop() -> None:
        with fill.Entry(entered.extend) as entry:
            entry.add(1, 2)
            raise end

    with pytest.raises(end):
        stop()
    assert entered == [1, 2]


def test_labels_of_many_shards_enter_by_few_puts(study: tuple[Path, made.Corpus], puts: list[Path]) -> None:
    root, corpus = study
    fs.label.import_(str(root), str(corpus.truth))
    where = label_maps.truth(root, "labels")
    assert puts == [where]
    assert len(parts.read_manifest(where)) == SHARDS
    puts.clear()
    fs.label.import_(str(root), str(corpus.models["model-1"]))
    assert puts == [where / "removed", where]  # what is replaced is kept before


def test_labels_that_were_read_before_an_interrupt_have_entered(
    study: tuple[Path, made.Corpus], puts: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    root, corpus = study
    monkeypatch.setattr(mask_files, "_read_label", interrupted(mask_files._read_label, 5))
    with pytest.raises(KeyboardInterrupt):
        fs.label.import_(str(root), str(corpus.truth))
    assert len(parts.read_manifest(label_maps.truth(root, "labels"))) == 5
    assert len(puts) == 1


@pytest.mark.slow
def test_statistics_of_many_shards_enter_by_few_puts_and_are_not_made_again(
    study: tuple[Path, made.Corpus], puts: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    root, corpus = study
    fs.label.import_(str(root), str(corpus.truth))
    puts.clear()
    jobs: list[int] = []

    def stopped(after: int) -> Callable[..., Iterator[Any]]:
        def do(
            task: str, todo: list[Any], *given: Any, do: Callable[..., Iterator[Any]] = fill.do, **more: Any
        ) -> Iterator[Any]:
            jobs.append(len(todo))
            for number, result in enumerate(do(task, todo, *given, **more)):
                yield result
                if number + 1 == after:
                    raise KeyboardInterrupt

        return do

    do = fill.do
    monkeypatch.setattr(fill, "do", stopped(5))
    with pytest.raises(KeyboardInterrupt):
        fs.measure(str(root), engine="local", resamples=0)
    where = [root / "measures" / "statistics" / "labels" / name for name in corpus.models]
    assert [len(parts.read_manifest(folder)) for folder in where] == [5, 5]
    assert puts == where
    monkeypatch.setattr(fill, "do", do)
    monkeypatch.setattr(fill, "do", stopped(100))
    fs.measure(str(root), engine="local", resamples=0)
    assert jobs[:2] == [SHARDS, SHARDS - 5]
    assert [len(parts.read_manifest(folder)) for folder in where] == [SHARDS, SHARDS]
    assert puts == [*where, *where]
