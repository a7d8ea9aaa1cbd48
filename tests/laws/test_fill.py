"""The law of the one loop: what was made enters, many results by one put; what a killed run made and did not
enter is adopted, if it is whole, and not made again.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import children
import faultscape as fs
import made
from faultscape.errors import StudyError
from faultscape.reading import fill
from faultscape.reading.fill import task
from faultscape.study.receipts import Receipts, checksums
from faultscape.study.tables.logs import Timing
from faultscape.verbs.compare import count
from refusals import refused

SHARD = 2
KILLED = """
import os, signal, sys
import faultscape as fs
from faultscape.verbs.compare import count
count.write_manifest = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
fs.compare(sys.argv[1], engine="local")
"""


@dataclass(frozen=True)
class Square:
    """A job: the square of a number, or a mistake."""

    number: int
    wrong: bool = False
    threads: int = field(default=1, metadata=fill.CHANGES_NOTHING)


@dataclass(frozen=True)
class Squared:
    """Its result."""

    value: int


@task(Square)
def square(job: Square, tick: Callable[[int], None]) -> Squared:
    """Do a `Square`."""
    if job.wrong:
        raise StudyError("there is no square of it")
    tick(1)
    return Squared(job.number**2)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> made.Corpus:
    return made.corpus(tmp_path_factory.mktemp("corpus"), images=8, models=3)


def predicted(study: Path, corpus: made.Corpus) -> Path:
    made.collected(corpus, study, SHARD)
    fs.predict(str(study), corpus.models, engine="local")
    return study


def squares(root: Path, jobs: list[Square], entered: list[int], **more: Any) -> list[int]:
    """Fill a study with squares, and return how many results each put entered; ``entered`` takes the
    values.
    """
    puts: list[int] = []

    def enter(results: list[tuple[Square, Squared]]) -> list[Timing]:
        puts.append(len(results))
        entered.extend(result.value for _, result in results)
        return [Timing("square", "", job.number, 1, 0.0) for job, _ in results]

    task = f"{square.__module__}:square"
    work = fill.Work("square", task, Squared, enter, lambda *_: [], **more)
    fill.fill(root, work, jobs, fill.Engine("local"), items=len(jobs))
    return puts


def test_many_results_enter_by_few_puts_and_each_once(tmp_path: Path) -> None:
    entered: list[int] = []
    puts = squares(tmp_path, [Square(k) for k in range(500)], entered)
    assert entered == [k**2 for k in range(500)]
    assert puts[0] == 1  # the first is seen at once
    assert len(puts) < 50
    assert not list(tmp_path.glob(".made-*"))
    assert (tmp_path / "timings.parquet").exists()


def test_who_waits_is_told_while_jobs_are_under_way() -> None:
    ticks: list[int] = []
    task = f"{square.__module__}:square"
    done = fill.do(
        task,
        [Square(2), Square(3)],
        Squared,
        title="square",
        items=2,
        engine="local",
        ticked=lambda: ticks.append(1),
    )
    assert list(done) == [(0, Squared(4)), (1, Squared(9))]
    assert ticks == [1, 1]


def test_what_was_made_before_a_mistake_enters(tmp_path: Path) -> None:
    entered: list[int] = []
    with refused(StudyError, "no square"):
        squares(tmp_path, [Square(1), Square(2), Square(3), Square(4, wrong=True)], entered)
    assert entered == [1, 4, 9]
    assert squares(tmp_path, [Square(4)], entered) == [1]


def test_results_of_a_group_enter_together_or_not_at_all(tmp_path: Path) -> None:
    entered: list[int] = []
    whole = {"group": lambda _: "all", "together": ("all",)}
    with refused(StudyError, "no square"):
        squares(tmp_path, [Square(1), Square(2), Square(3, wrong=True)], entered, **whole)
    assert entered == []
    assert squares(tmp_path, [Square(1), Square(2), Square(3)], entered, **whole) == [3]
    assert sorted(entered) == [1, 4, 9]


@pytest.mark.slow
def test_what_a_killed_run_made_is_entered_and_not_made_again(
    corpus: made.Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, study = predicted(tmp_path / "whole", corpus), predicted(tmp_path / "killed", corpus)
    fs.compare(str(whole), engine="local")
    children.python("-c", KILLED, study, status=-signal.SIGKILL)
    assert not made.bytes_under(study, "pairs/*/manifest.json")
    # the first shard's, of three models
    assert len(checksums(study)) == len(list(study.glob("pairs/*/*.parquet"))) == 3
    counted, count_shard = [], count.count_shard
    monkeypatch.setattr(
        count, "count_shard", lambda *given: counted.append(given[2][0].shard) or count_shard(*given)
    )
    fs.compare(str(study), engine="local")
    assert counted == [1, 2, 3]  # without shard 0
    assert made.bytes_under(study, "pairs") == made.bytes_under(whole, "pairs")
    assert not list(study.glob(".made-*"))


@pytest.mark.slow
@pytest.mark.parametrize("harm", ["damaged", "gone"])
def test_a_part_that_is_not_whole_is_made_again(corpus: made.Corpus, tmp_path: Path, harm: str) -> None:
    whole, study = predicted(tmp_path / "whole", corpus), predicted(tmp_path / "killed", corpus)
    fs.compare(str(whole), engine="local")
    children.python("-c", KILLED, study, status=-signal.SIGKILL)
    part = max(study.glob("pairs/*/*.parquet"))
    part.write_bytes(part.read_bytes()[:-9]) if harm == "damaged" else part.unlink()
    fs.compare(str(study), engine="local")
    assert made.bytes_under(study, "pairs") == made.bytes_under(whole, "pairs")


@pytest.mark.slow
def test_what_was_made_of_other_maps_is_not_adopted(corpus: made.Corpus, tmp_path: Path) -> None:
    study = predicted(tmp_path / "study", corpus)
    children.python("-c", KILLED, study, status=-signal.SIGKILL)
    others = {"model-0": corpus.models["model-1"], "model-1": corpus.models["model-0"]}
    fs.predict(str(study), others, engine="local")
    fs.compare(str(study), engine="local")
    fresh = tmp_path / "fresh"
    made.collected(corpus, fresh, SHARD)
    fs.predict(str(fresh), {**corpus.models, **others}, engine="local")
    fs.compare(str(fresh), engine="local")
    assert made.bytes_under(study, "pairs") == made.bytes_under(fresh, "pairs")


def test_a_job_is_known_again_by_all_that_its_result_depends_on_and_by_nothing_else() -> None:
    jobs = (Square(3), Square(3, threads=8), Square(4), Square(3, wrong=True))
    keys = [fill._key("square", job) for job in jobs]
    assert keys[0] == keys[1]
    assert len({*keys}) == 3
    assert fill._key("cube", jobs[0]) != keys[0]


def test_a_receipt_that_was_cut_is_nobodys(tmp_path: Path) -> None:
    receipts = Receipts(tmp_path, "square")
    receipts.add("a", {"value": 1})
    receipts.add("b", {"value": 2})
    (path,) = tmp_path.glob(".made-*")
    os.truncate(path, path.stat().st_size - 4)
    assert Receipts(tmp_path, "square").found() == {"a": {"value": 1}}
    assert Receipts(tmp_path, "square", "2-of-3").found() == {"a": {"value": 1}}


def test_a_job_of_an_array_leaves_the_receipts_of_others(tmp_path: Path) -> None:
    mine, other = Receipts(tmp_path, "square", "1-of-2"), Receipts(tmp_path, "square", "2-of-2")
    mine.add("a", {"value": 1})
    other.add("b", {"value": 2})
    mine.clear()
    assert Receipts(tmp_path, "square").found() == {"b": {"value": 2}}
    Receipts(tmp_path, "square").clear()
    assert not list(tmp_path.iterdir())
