"""What the engine does about workers that die: it tries again while there is progress, and says what it gives
up.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from faultscape import engine
from faultscape.engine import ray
from faultscape.engine.tasks import DEATHS, Ledger, called
from faultscape.errors import OptionError, StudyError
from faultscape.study.watch import Watch
from refusals import refused

DEADLY = """
import os, pathlib, signal

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def always(number, name, tick):
    tick(2)
    if number == 3:
        die()
    return number

def some_further_each_time(folder, stops, tick):
    before = len([*pathlib.Path(folder).glob("begun-*")]) if stops else 0
    if stops:
        pathlib.Path(folder, f"begun-{before}").touch()
    for item in range(10):
        if before < len(stops) and item == stops[before]:
            die()
        tick(1)
    return before

def two_that_kill(folder, number, attempt, tick):
    from faultscape.study.watch import Watch
    watch, out = Watch(pathlib.Path(folder), f"{number}", attempt), []
    for item in range(12):
        if watch.begin(str(item)):
            if number == 0 and item in (0, 7):
                die()
            out.append(item)
        tick(1)
    watch.end()
    return out
"""


@pytest.fixture(autouse=True)
def deadly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "deadly_tasks.py").write_text(DEADLY)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


def run(task: str, calls: list[dict[str, Any]]) -> tuple[list[Any], int]:
    """Results in the order of the calls, and how many items the bar was told of."""
    shown: list[int] = []
    results = sorted(
        engine.run(f"deadly_tasks:{task}", calls, engine="processes", workers=2, tick=shown.append)
    )
    return [result for _, result in results], sum(shown)


def test_a_call_that_always_kills_its_worker_is_named() -> None:
    with refused(StudyError, r"^workers died 6 times over shard 3 of unet, after 2 items at most") as error:
        run("always", [{"number": n, "name": "unet"} for n in range(6)])
    assert "\n" not in str(error.value)


def test_while_each_attempt_comes_further_there_is_another_and_the_bar_never_overcounts(
    tmp_path: Path,
) -> None:
    calls = [{"folder": str(tmp_path), "stops": stops} for stops in ([1, 2, 3, 4, 5, 6, 7, 8], [])]
    assert run("some_further_each_time", calls) == ([8, 0], 20)


@pytest.mark.slow
def test_a_death_with_progress_begins_the_count_anew(tmp_path: Path) -> None:
    without = [5] * (DEATHS - 1)
    more, less = [5, *without, 6, *[6] * (DEATHS - 1)], [5, *without, 4]
    for folder in ("more", "less"):
        (tmp_path / folder).mkdir()
    calls = [{"folder": str(tmp_path / "more"), "stops": stops} for stops in (more, [])]
    assert run("some_further_each_time", calls)[0] == [len(more), 0]
    with refused(StudyError, "died 6 times over a call, after 5 items"):
        run(
            "some_further_each_time",
            [{"folder": str(tmp_path / "less"), "stops": stops} for stops in (less, [])],
        )


def test_a_call_is_told_how_often_its_worker_died_since_it_came_further() -> None:
    ledger, told = Ledger([{}], lambda _: None), []
    for items in (0, 0, 2, 2, 1, 3, 5):
        told.append(ledger.accounts[0].attempt)
        ledger.hear(0, {"tick": items})
        ledger.hear(0, {"died": True})
    assert told == [0, 1, 2, 1, 2, 3, 1]


def test_items_that_kill_are_found_and_all_others_done(tmp_path: Path) -> None:
    (left, right), shown = run("two_that_kill", [{"folder": str(tmp_path), "number": n} for n in range(2)])
    assert left == [1, 2, 3, 4, 5, 6, 8, 9, 10, 11]
    assert right == [*range(12)]
    assert shown == 24
    assert not [*tmp_path.glob(".writing-*")]


def test_the_note_of_a_run_that_is_over_blames_nobody(tmp_path: Path) -> None:
    for _ in range(2):
        Watch(tmp_path, "00001", 1).begin("a")
    assert Watch(tmp_path, "00001", 2).begin("a") is False
    assert Watch(tmp_path, "00001", 0).begin("a") is True
    assert Watch(tmp_path, "00001", 2).begin("a") is True


def test_a_note_that_was_torn_blames_nobody(tmp_path: Path) -> None:
    watch = Watch(tmp_path, "00001", 1)
    watch.begin("a")
    (note,) = tmp_path.glob(".writing-*")
    note.write_text('["a", "a')
    assert Watch(tmp_path, "00001", 2).begin("a") is True


def test_the_ledger_raises_what_a_worker_raised() -> None:
    ledger = Ledger([{"number": 1}], lambda _: None)
    with refused(OptionError, r"^as it was said$"):
        ledger.hear(0, {"error": "OptionError", "text": "as it was said"})
    with pytest.raises(RuntimeError, match="Traceback"):
        ledger.hear(0, {"error": "RuntimeError", "text": "Traceback"})


def test_a_call_is_named_by_its_job_too() -> None:
    assert called({"job": {"number": 4, "against": "val"}}) == "shard 4 of val"


@pytest.mark.parametrize("engine_", ["roy", "ray://", "ray://host", "ray://host:port", "RAY", ""])
def test_engines_that_are_not_known_are_refused(engine_: str) -> None:
    with refused(OptionError, r"use local, processes, ray or ray://HOST:PORT"):
        list(engine.run("deadly_tasks:always", [{"number": 0}], engine=engine_))


class LostError(Exception):
    """What Ray says of an actor that is gone."""


class Cluster:
    """A stand-in for Ray: actors on nodes that can be lost. Call 0 takes longest; when all others are done,
    its first node is lost.
    """

    exceptions = SimpleNamespace(RayTaskError=type("RayTaskError", (LostError,), {}), RayError=LostError)

    def __init__(self, *nodes: str, calls: int = 8, unbegun: int = 0) -> None:
        self.nodes, self.calls, self.made = nodes, calls, 0
        self.unbegun = unbegun  # actors that are lost when they are asked to begin
        self.gone: set[str] = set()
        self.given: list[tuple[int, int, str]] = []  # call, attempt, node
        self.done = 0

    def remote(self, **_: Any) -> Any:
        return lambda _: SimpleNamespace(remote=lambda *_: self.actor())

    def actor(self) -> Any:
        node, held = self.nodes[self.made % len(self.nodes)], {}
        self.made += 1

        def begin(request: str) -> str:
            held.update(json.loads(request))
            return json.dumps({"tick": 0})

        def listen() -> str:
            number = held["call"]["number"]
            if number == 0 and not self.gone:
                if self.done == self.calls - 1:
                    self.gone.add(node)
                return json.dumps({"tick": 0})
            self.done += 1
            return json.dumps({"tick": 1, "result": number})

        def ask(name: str, *given: str) -> tuple[str, str, Any]:
            if name == "begin":
                told = json.loads(given[0])
                self.given.append((told["call"]["number"], told["attempt"], node))
            return node, name, lambda: questions[name](*given)

        questions = {"ready": lambda: node, "begin": begin, "listen": listen}
        return SimpleNamespace(**{name: SimpleNamespace(remote=partial(ask, name)) for name in questions})

    def wait(self, refs: list[Any], **_: Any) -> tuple[list[Any], list[Any]]:
        return list(refs), []

    def get(self, ref: Any) -> str:
        node, question, answer = ref
        self.unbegun -= (unbegun := question == "begin" and self.unbegun > 0)
        if node in self.gone or unbegun:
            raise LostError(node)
        return answer()

    def kill(self, actor: Any) -> None:
        pass

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": self.calls}

    def run(self, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
        @contextmanager
        def joined(*_: Any) -> Iterator[Any]:
            yield self

        monkeypatch.setattr(ray, "_joined", joined)
        return sorted(
            engine.run("deadly_tasks:always", [{"number": n} for n in range(self.calls)], engine="ray")
        )


def test_when_a_node_is_lost_its_idle_actors_are_given_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(*"aaaaabba")
    assert cluster.run(monkeypatch) == [(n, n) for n in range(8)]
    assert [(attempt, node) for call, attempt, node in cluster.given if call == 0] == [(0, "a"), (1, "b")]


def test_an_actor_that_is_lost_before_its_call_began_is_no_death_over_the_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = Cluster(*"abbb", calls=4, unbegun=1)
    assert cluster.run(monkeypatch) == [(n, n) for n in range(4)]
    # the 1 is of call 0, whose node was lost later
    assert sorted(attempt for _, attempt, _ in cluster.given) == [0, 0, 0, 0, 0, 1]


def test_actors_of_which_none_ever_begins_a_call_end_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with refused(StudyError, r"^no Ray actor starts: a$"):
        Cluster("a", unbegun=1000).run(monkeypatch)


def test_an_actor_says_at_once_that_a_call_has_begun(tmp_path: Path) -> None:
    hand = ray.Hand(str(tmp_path), {"PYTHONPATH": str(tmp_path)})
    request = {"task": "deadly_tasks:always", "call": {"number": 3, "name": "unet"}, "attempt": 0}
    assert json.loads(hand.begin(json.dumps(request))) == {"tick": 0}
    ticks, said = 0, {}
    while "died" not in said:
        said = json.loads(hand.listen())
        ticks += said["tick"]
    assert ticks == 2
