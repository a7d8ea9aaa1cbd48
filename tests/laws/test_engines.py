"""The law of engines: one process, many, and any kill and restart give the same bytes."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import children
import faultscape as fs
import made
from faultscape import engine
from faultscape.engine import processes
from faultscape.engine.worker import Worker
from faultscape.errors import StudyError
from faultscape.nouns import JsonObject
from faultscape.study.spool import Spool
from refusals import refused

pytestmark = pytest.mark.slow

COVERED = (
    *("predictions", "pairs", "selection*.csv", "selection*.json", "failures.csv"),
    *("measures/statistics", "measures/*.json", "measures/per_image.parquet"),
)
SHARD = 3  # eight shards of 24 images


def line(study: str, corpus: made.Corpus, engine: str) -> None:
    made.collected(corpus, study, SHARD)
    fs.predict(study, corpus.models, engine=engine, workers=2)
    fs.compare(study, engine=engine, workers=2)
    fs.select(study, maps=fs.options.MapRules(constraints="class"), per_class=2, engine=engine, workers=2)
    ranks = fs.options.MapRules(concordance="miou+regions", constraints="class")
    fs.select(study, as_="ranks", maps=ranks, engine=engine, workers=2)
    if not Path(study, "truth").exists():
        fs.label.import_(study, str(corpus.truth))
    fs.compare(study, engine=engine, workers=2)  # with the labels too, which a second run finds there
    fs.measure(study, engine=engine, workers=2, resamples=10, worst=0)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> made.Corpus:
    return made.corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def expected(corpus: made.Corpus, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    study = tmp_path_factory.mktemp("local") / "study"
    line(str(study), corpus, "local")
    files = made.bytes_under(study, *COVERED)
    assert sum(name.startswith("predictions/model-0/") and name.endswith(".parquet") for name in files) == 8
    return files


@pytest.mark.parametrize(
    "pays", [-1, 0.02, 1000], ids=["workers-after-an-item", "workers-after-some-items", "no-workers"]
)
def test_processes_write_the_same_bytes_as_one_process(
    pays: float,
    corpus: made.Corpus,
    expected: dict[str, bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(processes, "PAYS", pays)
    line(str(tmp_path / "study"), corpus, "processes")
    assert made.bytes_under(tmp_path / "study", *COVERED) == expected


TASKS = """
import os, pathlib, time

def where(parent, marker, tick):
    for _ in range(3):
        tick(1)
    if os.getpid() != parent:
        pathlib.Path(marker).touch()
    while marker and not os.path.exists(marker):  # until a worker is there
        time.sleep(0.01)
    return os.getpid()

def spoilt(tick):
    tick(1)
    raise ValueError("spoilt")
"""


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "some_tasks.py").write_text(TASKS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


@pytest.mark.usefixtures("tasks")
def test_work_that_may_begin_here_starts_workers_only_when_it_lasts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[int] = []

    def places(pays: float, marker: str = "", *, begin_here: bool = True) -> list[bool]:
        monkeypatch.setattr(processes, "PAYS", pays)
        shown.clear()
        calls: list[JsonObject] = [{"parent": os.getpid(), "marker": marker}] * 40
        done = engine.run(
            "some_tasks:where", calls, engine="processes", workers=2, tick=shown.append, begin_here=begin_here
        )
        found = [process == os.getpid() for _, process in sorted(done)]
        assert sum(shown) == 3 * 40
        return found

    assert places(1000) == [True] * 40
    # the first call waits here for what a worker does
    assert set(places(-1, str(tmp_path / "there"))) == {True, False}
    assert places(1000, str(tmp_path / "again"), begin_here=False) == [False] * 40


@pytest.mark.usefixtures("tasks")
def test_no_call_waits_for_a_worker_that_is_not_there_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work that ends while workers start is done by this process alone."""
    monkeypatch.setattr(processes, "PAYS", -1)
    ready = threading.Event()
    monkeypatch.setattr(processes, "_worker", lambda _: Starting(ready))
    calls: list[JsonObject] = [{"parent": os.getpid(), "marker": ""}] * 5
    done = list(engine.run("some_tasks:where", calls, engine="processes", workers=2, begin_here=True))
    assert [process for _, process in done] == [os.getpid()] * 5


class Starting:
    """A worker that is not ready before it is killed."""

    def __init__(self, ready: threading.Event) -> None:
        self.ready = ready

    def ask(self, _: JsonObject) -> Iterator[JsonObject]:
        self.ready.wait()
        yield {"died": True}

    def kill(self) -> None:
        self.ready.set()

    def close(self) -> None:
        self.kill()


@pytest.mark.usefixtures("tasks")
def test_a_defect_here_ends_the_workers_that_run_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "PAYS", -1)
    started: list[Worker] = []
    monkeypatch.setattr(processes, "_worker", lambda _: started.append(Worker()) or started[-1])
    with pytest.raises(ValueError, match="spoilt"):
        list(engine.run("some_tasks:spoilt", [{}] * 3, engine="processes", workers=2, begin_here=True))
    assert all(worker._process.poll() is not None for worker in started)


def test_a_second_run_does_nothing(corpus: made.Corpus, tmp_path: Path) -> None:
    study = tmp_path / "study"
    line(str(study), corpus, "local")
    parts = study.rglob("0*.parquet")  # of measure the numbers alone are made again
    before = {p: p.stat().st_mtime_ns for p in parts}
    assert {p.relative_to(study).parts[0] for p in before} == {"measures", "pairs", "predictions", "truth"}
    line(str(study), corpus, "local")
    assert {p: p.stat().st_mtime_ns for p in before} == before


SCRIPT = """
import sys
import faultscape as fs
from faultscape.engine import processes
processes.PAYS = -1  # workers whenever there is more than one call left
study, photos, classes, truth, engine, *models = sys.argv[1:]
fs.collect(study, photos, classes=classes, storage=fs.options.Storage(shard_size=3))
fs.predict(study, *models, engine=engine)
fs.compare(study, engine=engine)
fs.select(study, maps=fs.options.MapRules(constraints="class"), per_class=2, engine=engine)
ranks = fs.options.MapRules(concordance="miou+regions", constraints="class")
fs.select(study, as_="ranks", maps=ranks, engine=engine)
fs.label.import_(study, truth)
fs.compare(study, engine=engine)
fs.measure(study, engine=engine, resamples=10, worst=0)
"""


def test_killed_at_any_of_12_random_moments_and_started_again_gives_the_same_bytes(
    corpus: made.Corpus, expected: dict[str, bytes], tmp_path: Path
) -> None:
    models = [f"{name}={path}" for name, path in corpus.models.items()]
    study = tmp_path / "study"
    pick = random.Random(20)

    def start(engine: str) -> subprocess.Popen[bytes]:
        folders = (study, corpus.photos, corpus.classes, corpus.truth)
        words = [sys.executable, "-c", SCRIPT, *map(str, folders), engine, *models]
        return subprocess.Popen(
            words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
        )

    kills = 0
    for turn in range(12):
        process = start(("local", "processes")[turn % 2])
        try:
            process.wait(timeout=pick.uniform(0.2, 2.0))
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)  # the parent alone: its workers must notice by themselves
            kills += 1
        children.end(process, 400)
        if process.returncode == 0:  # it finished: begin anew, so that every kill hits undone work
            assert made.bytes_under(study, *COVERED) == expected
            study = tmp_path / f"study-{turn}"
    assert kills >= 6
    final = start("processes")
    error = children.end(final, 400)
    assert final.returncode == 0, error
    assert made.bytes_under(study, *COVERED) == expected
    left = [p for p in study.rglob("*") if p.name.startswith((".writing-", ".spool-"))]
    assert not left


def test_the_spool_of_a_run_that_was_killed_when_its_part_counted_already_goes_with_the_next(
    corpus: made.Corpus, tmp_path: Path
) -> None:
    study = made.collected(corpus, tmp_path / "study", 6)
    models = {name: str(path) for name, path in list(corpus.models.items())[:1]}
    fs.predict(str(study), models, engine="local")
    (where,) = (study / "predictions").iterdir()
    (where / ".spool-00001").write_bytes(b"what the part holds too")
    fs.predict(str(study), models, engine="local")
    assert not list(where.glob(".spool-*"))


def test_a_torn_record_of_a_spool_is_cut_off_and_the_rest_kept(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", "key")
    spool.append(b"one")
    spool.append(b"two")
    spool.close()
    whole = (tmp_path / "spool").read_bytes()
    for end in range(len(whole)):
        (tmp_path / "spool").write_bytes(whole[:end])
        again = Spool(tmp_path / "spool", "key")
        held = list(again)
        assert held in ([], [b"one"], [b"one", b"two"])
        assert len(held) == (end >= len(whole) - 15) + (end >= len(whole))
        again.append(b"three")
        again.close()
        last = Spool(tmp_path / "spool", "key")
        assert list(last) == [*held, b"three"]
        last.close()


def test_a_record_whose_bytes_changed_is_not_believed(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", "key")
    spool.append(b"one")
    spool.append(b"two")
    spool.close()
    whole = bytearray((tmp_path / "spool").read_bytes())
    whole[-1] ^= 1  # the same length, other content: a page that never reached the disk
    (tmp_path / "spool").write_bytes(whole)
    again = Spool(tmp_path / "spool", "key")
    assert list(again) == [b"one"]
    again.close()


def test_a_record_longer_than_what_the_system_reads_at_once_comes_back_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = os.pread
    # Linux: 2 GiB
    monkeypatch.setattr(os, "pread", lambda file, length, start: read(file, min(length, 1000), start))
    record = bytes(range(256)) * 40
    spool = Spool(tmp_path / "spool", "key")
    spool.append(record)
    spool.append(b"next")
    assert list(spool) == [record, b"next"]
    spool.close()
    again = Spool(tmp_path / "spool", "key")
    assert list(again) == [record, b"next"]
    again.close()


def test_a_spool_that_somebody_else_cut_is_one_sentence(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", "key")
    spool.append(bytes(100))
    os.truncate(tmp_path / "spool", 60)
    with refused(StudyError, r"spool: ends within a record.*run the same command again$"):
        list(spool)
    spool.close()


def test_a_spool_made_from_something_else_is_emptied(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", "key")
    spool.append(b"one")
    spool.close()
    other = Spool(tmp_path / "spool", "other")
    assert not len(other)
    other.finish()
    assert not (tmp_path / "spool").exists()


def test_two_writers_at_once_are_refused(corpus: made.Corpus, tmp_path: Path) -> None:
    from faultscape.study.lock import writing

    study = tmp_path / "study"
    fs.collect(str(study), str(corpus.photos), classes=str(corpus.classes))
    with writing(study), refused(StudyError, "another faultscape is writing"):
        fs.predict(str(study), corpus.models, engine="local")


def test_the_work_of_a_dead_worker_is_given_to_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deadly.py").write_text(
        "import os, pathlib, signal\n"
        "def work(marker, tick):\n"
        "    path = pathlib.Path(marker)\n"
        "    if not path.exists():\n"
        "        path.write_text('dead')\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return 'alive'\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    calls = [{"marker": str(tmp_path / "a")}, {"marker": str(tmp_path / "b")}]
    assert sorted(engine.run("deadly:work", calls, engine="processes", workers=2)) == [
        (0, "alive"),
        (1, "alive"),
    ]


def test_a_users_mistake_in_a_worker_is_the_same_mistake_here(tmp_path: Path) -> None:
    calls = [
        {"job": {"study": str(tmp_path / "none"), "number": n, "parts": [], "maps": {}, "truths": {}}}
        for n in range(2)
    ]
    with refused(StudyError, "is not a study"):
        list(engine.run("faultscape.verbs.compare.count:shard", calls, engine="processes", workers=2))


def test_images_of_a_batch_never_cross_a_shard(expected: dict[str, bytes]) -> None:
    import io

    import pyarrow.parquet as pq

    rows = [
        pq.read_table(io.BytesIO(data)).num_rows
        for name, data in expected.items()
        if name.startswith("predictions/model-0/0")
    ]
    assert rows == [SHARD] * 8
