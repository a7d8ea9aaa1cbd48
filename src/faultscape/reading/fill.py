"""The loop of all work that fills a study: run the missing jobs on an engine, enter results in the study, and
record timings.

A verb lists the missing work as jobs, and passes `fill` a `Work`. Its ``enter`` takes all results since its
last call, [(job, result), ...], writes each manifest once, and returns rows of timings. Its ``parts`` names
the files of a result. Slow results enter one by one, fast ones in batches: at most about once a second, and
so that entering takes at most a twentieth of the time (`Entry`, which also handles results without receipts).

Conventions: a job is a frozen dataclass that contains everything its result depends on (keys and checksums of
its inputs, not "what is missing now"); a field that does not affect results is marked by `CHANGES_NOTHING`. A
worker runs a task, a function under `task` that takes ``job``, with ``tick`` and perhaps ``attempt`` as
engines define them, and returns a dataclass (or a plain value), in which each part's checksum is called
``sha256``; jobs and results are JSON only inside an engine, which validates each once, in the worker.
**Killed and resumed**: files that a killed run wrote but did not enter have a receipt (study.receipts); if
the same job comes up again and its files exist with the right checksums, they are entered, not made again.
Jobs may have groups. The results of a group in ``together`` wait, as receipts, until the last is made, so a
run that fails or is killed earlier leaves the study's results unchanged. The caller holds the study by
``lock.writing``, but not ``lock.changing``, which is taken here around every ``enter``.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any, Generic, Self, TypeVar, overload

from pydantic import TypeAdapter

from faultscape import engine as engines
from faultscape.maps.kernel_choice import to_come
from faultscape.nouns import Json, JsonObject
from faultscape.progress import progress
from faultscape.study.array_jobs import Share
from faultscape.study.folder import TEMPORARY, put
from faultscape.study.lock import changing, tidy
from faultscape.study.parts import is_whole, key_of
from faultscape.study.receipts import Receipts
from faultscape.study.settings import VERSION
from faultscape.study.tables.logs import Timing, Timings

Job = TypeVar("Job")
Made = TypeVar("Made")
Item = TypeVar("Item")
PAUSE = 1.0  # seconds between two writes of the same manifests, while results come fast
# metadata of a job's field that does not affect results
CHANGES_NOTHING: dict[str, bool] = {"changes_nothing": True}
SHARE = 20  # entering takes at most a twentieth of the time


class Entry(Generic[Item]):
    """Results that have not entered yet: they enter when due, and the rest at the end of the block, whether
    it succeeds or fails.
    """

    def __init__(self, enter: Callable[[list[Item]], object]) -> None:
        self._enter = enter
        self._waiting: list[Item] = []
        self._entered = 0.0
        self._cost = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.now()

    def add(self, *items: Item) -> None:
        """Queue items."""
        self._waiting += items

    def now(self) -> None:
        """Enter all queued items."""
        if self._waiting:
            start = time.monotonic()
            self._enter(self._waiting)
            self._waiting = []
            self._entered = time.monotonic()
            self._cost = self._entered - start

    def if_due(self) -> None:
        """Enter all queued items if the last time was long enough ago."""
        if self._waiting and time.monotonic() - self._entered >= max(PAUSE, SHARE * self._cost):
            self.now()


@dataclass(frozen=True)
class Work(Generic[Job, Made]):
    """A kind of work that fills a study: its ``task`` (``module:function``) returns a ``kind``, and ``enter``
    takes these into the study.

    ``sent`` completes a job by what it depends on in other words too, and is too much to hold of all jobs.
    ``parts`` yields (folder, part, SHA-256) of a result; ``title`` labels the progress; ``group`` names the
    group of a job (only one run touches its receipts), and ``together`` the groups that enter completely or
    not at all.
    """

    title: str
    task: str
    kind: type[Made]
    enter: Callable[[list[tuple[Job, Made]]], list[Timing]]
    parts: Callable[[Job, Made], Iterable[tuple[Path, str, str]]]
    group: Callable[[Job], str] = lambda _: ""
    together: Collection[str] = ()
    sent: Callable[[Job], Job] = lambda job: job


class _Calls(Sequence[JsonObject]):
    """The calls of jobs, each made when it is asked for."""

    def __init__(self, jobs: Sequence[Any], sent: Callable[[Any], Any] = lambda job: job) -> None:
        self._jobs = jobs
        self._sent = sent

    def __len__(self) -> int:
        return len(self._jobs)

    @overload
    def __getitem__(self, number: int) -> JsonObject: ...
    @overload
    def __getitem__(self, number: slice) -> _Calls: ...
    def __getitem__(self, number: int | slice) -> JsonObject | _Calls:
        if isinstance(number, slice):
            return _Calls(self._jobs[number], self._sent)
        return {"job": to_json(self._sent(self._jobs[number]))}


@dataclass(frozen=True)
class Engine:
    """An engine, and how it runs jobs (`engine.run`)."""

    name: str = "processes"
    workers: int | None = None
    begin_here: bool = False
    apart: bool = False
    gpus: float = 0


def fill(
    root: Path,
    work: Work[Job, Made],
    jobs: Sequence[Job],
    engine: Engine,
    *,
    items: int,
    mine: Share = Share(),  # noqa: B008 - a frozen default
) -> None:
    """Run the jobs, which are ``items`` images, and enter the results; ``mine`` is this share in an array
    (``jobs`` are those of the share). Errors: those of the jobs, raised after finished results have entered.
    """
    groups = [work.group(job) for job in jobs]
    share = "" if mine.parts == 1 else f"{mine.part}-of-{mine.parts}"
    receipts = {name: Receipts(root, work.title, share, name) for name in dict.fromkeys(groups)}
    owed = Counter(name for name in groups if name in work.together)  # results that their groups wait for
    held: dict[str, list[tuple[int, Made]]] = {}
    keys = [_key(work.task, job) for job in jobs]
    timings = Timings(root)
    found: dict[str, Json] = {}
    for of_group in receipts.values():
        found |= of_group.found()
    adopted = dict(_adopted(jobs, keys, found, work))
    todo = [number for number in range(len(jobs)) if number not in adopted]

    def put_in(results: list[tuple[int, Made]]) -> None:
        with changing(root):
            timings.add(work.enter([(jobs[number], made) for number, made in results]))
        for name in {groups[number] for number, _ in results}:
            receipts[name].clear()

    entry = Entry(put_in)

    def take(number: int, made: Made) -> None:
        if (name := groups[number]) not in work.together:
            entry.add((number, made))
            return
        held.setdefault(name, []).append((number, made))
        owed[name] -= 1
        if not owed[name]:
            entry.add(*held.pop(name))

    for number, made in adopted.items():
        take(number, made)
    entry.now()
    for name in receipts.keys() - held.keys():
        receipts[name].clear()
    if found and mine.parts == 1:
        tidy(root)  # remove results whose inputs have changed
    try:
        with progress(work.title, items) as tick, to_come(items if engine.name == "local" else 0):

            def ticked(number: int) -> None:
                tick(number)
                entry.if_due()

            made_now = engines.run(
                work.task,
                _Calls([jobs[n] for n in todo], work.sent),
                engine=engine.name,
                workers=engine.workers,
                tick=ticked,
                apart=engine.apart,
                gpus=engine.gpus,
                begin_here=engine.begin_here,
            )
            for place, made in made_now:
                receipts[groups[todo[place]]].add(keys[todo[place]], made)
                take(todo[place], of_json(work.kind, made))
                entry.if_due()
    finally:
        entry.now()
        with changing(root):
            timings.write()


def _key(task: str, job: Any) -> str:
    """Return the key of a job: everything its result depends on, including the version of studies."""
    held = to_json(job)
    assert isinstance(held, dict)
    free = {field.name for field in fields(job) if field.metadata == CHANGES_NOTHING}
    return key_of(VERSION, task, {name: value for name, value in held.items() if name not in free})


def _adopted(
    jobs: Sequence[Job],
    keys: Sequence[str],
    found: dict[str, Json],
    work: Work[Job, Made],
) -> list[tuple[int, Made]]:
    """Return (number of the job, result) for results that a killed run made but did not enter, if all files
    are intact.
    """
    out: list[tuple[int, Made]] = []
    for number, key in enumerate(keys if found else []):
        if key in found:
            try:
                made = of_json(work.kind, found[key])
            except ValueError:  # written by a different version
                continue
            if all(is_whole(folder, part, sha256) for folder, part, sha256 in work.parts(jobs[number], made)):
                out.append((number, made))
    return out


def do(
    task: str,
    jobs: Sequence[Any],
    kind: type[Made],
    *,
    title: str,
    items: int,
    engine: str,
    workers: int | None = None,
    begin_here: bool = False,
    ticked: Callable[[], None] = lambda: None,
) -> Iterator[tuple[int, Made]]:
    """Yield (number of the job, the ``kind`` that its worker returned) as jobs finish: for results without
    receipts and timings.

    ``ticked`` is called while jobs are running, whenever one of them makes progress.
    """
    with progress(title, items) as tick:

        def further(number: int) -> None:
            tick(number)
            ticked()

        for number, made in engines.run(
            task, _Calls(jobs), engine=engine, workers=workers, tick=further, begin_here=begin_here
        ):
            yield number, of_json(kind, made)


def gather(
    root: Path,
    task: str,
    jobs: Sequence[Any],
    *,
    title: str,
    items: int,
    engine: str,
    workers: int | None = None,
) -> Iterator[tuple[int, bytes]]:
    """Yield (number of the job, the worker's output) as jobs finish: for results that are merged at once and
    are not part of the study.
    """
    for number, name in do(
        task, jobs, str, title=title, items=items, engine=engine, workers=workers, begin_here=True
    ):
        data = (root / name).read_bytes()
        (root / name).unlink()
        yield number, data


def leave(root: Path, name: str, data: bytes) -> str:
    """Store a worker's output for `gather`, and return the name of the temporary file in the study."""
    file = f"{TEMPORARY}{name}"
    put(root / file, data)
    return file


def task(kind: type[Any]) -> Callable[[Callable[..., Any]], Callable[..., Json]]:
    """Return a decorator that turns a function of a ``kind`` of job into a task that an engine calls with the
    job's JSON.

    Errors: ValueError for a call whose JSON is not a job of this kind.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Sum:
    ...     terms: tuple[int, ...]
    >>> @task(Sum)
    ... def add(job: Sum) -> int:
    ...     return sum(job.terms)
    >>> add(to_json(Sum((1, 2))))
    3
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Json]:
        @wraps(function)
        def called(job: Json, *args: Any, **kwargs: Any) -> Json:
            return to_json(function(of_json(kind, job), *args, **kwargs))

        return called

    return decorate


def to_json(what: Any) -> Json:
    """Return a dataclass of a job or result as JSON values."""
    return _adapter(type(what)).dump_python(what, mode="json")


def of_json(kind: type[Made], held: Json) -> Made:
    """Return the dataclass that `to_json` wrote; ValueError if it does not match."""
    return _adapter(kind).validate_python(held)


@lru_cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
