"""What the engine does about workers that die: it tries again while there is progress, and says what it gives up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from faultscape import engine
from faultscape.engine.tasks import DEATHS, Ledger, called
from faultscape.errors import OptionError, StudyError
from faultscape.study.watch import Watch

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
    results = sorted(engine.run(f"deadly_tasks:{task}", calls, engine="processes", workers=2, tick=shown.append))
    return [result for _, result in results], sum(shown)


def test_a_call_that_always_kills_its_worker_is_named() -> None:
    with pytest.raises(StudyError, match=r"^workers died 6 times over shard 3 of unet, after 2 items at most") as error:
        run("always", [{"number": n, "name": "unet"} for n in range(6)])
    assert "\n" not in str(error.value)


def test_while_each_attempt_comes_further_there_is_another_and_the_bar_never_overcounts(tmp_path: Path) -> None:
    calls = [{"folder": str(tmp_path), "stops": stops} for stops in ([1, 2, 3, 4, 5, 6, 7, 8], [])]
    assert run("some_further_each_time", calls) == ([8, 0], 20)


def test_a_death_with_progress_begins_the_count_anew(tmp_path: Path) -> None:
    without = [5] * (DEATHS - 1)
    more, less = [5, *without, 6, *[6] * (DEATHS - 1)], [5, *without, 4]
    for folder in ("more", "less"):
        (tmp_path / folder).mkdir()
    calls = [{"folder": str(tmp_path / "more"), "stops": stops} for stops in (more, [])]
    assert run("some_further_each_time", calls)[0] == [len(more), 0]
    with pytest.raises(StudyError, match="died 6 times over a call, after 5 items"):
        run("some_further_each_time", [{"folder": str(tmp_path / "less"), "stops": stops} for stops in (less, [])])


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
    with pytest.raises(OptionError, match=r"^as it was said$"):
        ledger.hear(0, {"error": "OptionError", "text": "as it was said"})
    with pytest.raises(RuntimeError, match="Traceback"):
        ledger.hear(0, {"error": "RuntimeError", "text": "Traceback"})


def test_a_call_is_named_by_its_job_too() -> None:
    assert called({"job": {"number": 4, "against": "val"}}) == "shard 4 of val"


@pytest.mark.parametrize("engine_", ["roy", "ray://", "ray://host", "ray://host:port", "RAY", ""])
def test_engines_that_are_not_known_are_refused(engine_: str) -> None:
    with pytest.raises(OptionError, match=r"use local, processes, ray or ray://HOST:PORT"):
        list(engine.run("deadly_tasks:always", [{"number": 0}], engine=engine_))
