"""A task and its calls: how a function is found and called, a worker's messages about a call, and the rule
for retries.

Conventions: a worker's message about a call is a JSON object: ``tick`` (items done since its last message)
and, at its end, one of ``result``, ``error`` (the name of the exception, with ``text``), ``died``, or
``lost`` if its worker was gone before it began. Deaths are counted by call: the ledger gives up after five in
a row without progress. That leaves room to find the item that kills workers: two deaths on a batch, and two
on each item that it begins (study/watch.py, verbs/predict/work.py).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from faultscape import errors
from faultscape.nouns import Json, JsonObject

DEATHS = 5  # in a row, without progress


def find(task: str) -> Callable[..., Any]:
    """Return the function named ``module:function``."""
    module, _, name = task.partition(":")
    return getattr(import_module(module), name)


def load(wanted: str, tick: Callable[[int], None]) -> None:  # noqa: ARG001 - every task has one
    """Load what a task needs: a separate call, by which a worker is ready before it gets another."""
    find(wanted)


def perform(task: str, call: JsonObject, attempt: int, tick: Callable[[int], None]) -> Json:
    """Make one call; ``attempt`` goes to functions that take it."""
    function = find(task)
    told = {"attempt": attempt} if "attempt" in inspect.signature(function).parameters else {}
    return function(**call, **told, tick=tick)


@dataclass
class Account:
    """The state of one call: how often its worker died, the progress of this attempt and of the best one, and
    deaths since the last progress.
    """

    deaths: int = 0
    here: int = 0
    furthest: int = 0
    fruitless: int = 0

    @property
    def attempt(self) -> int:
        """How often the worker died since the call last made progress; 1 after a death with progress, 0
        before any death.
        """
        return min(self.deaths, self.fruitless + 1)


class Ledger:
    """The accounts of all calls; ``tick`` reports items that no earlier attempt had done."""

    def __init__(self, calls: Sequence[JsonObject], tick: Callable[[int], None]) -> None:
        self.calls = calls
        self.tick = tick
        self.accounts = [Account() for _ in calls]

    def hear(self, number: int, said: dict[str, Any]) -> str:
        """Process a message about a call, and return "" while it runs, "done", or "again" if it must be given
        to another worker.

        Errors: a FaultscapeError of the worker, as it was raised there; RuntimeError with a worker's
        traceback; StudyError after too many deaths.
        """
        account = self.accounts[number]
        if items := said.get("tick", 0):
            new = account.here + items - max(account.here, account.furthest)
            account.here += items
            if new > 0:
                self.tick(new)
        if "error" in said:
            raise getattr(errors, said["error"], RuntimeError)(said["text"])
        if "lost" in said:
            return "again"
        if "died" not in said:
            return "done" if "result" in said else ""
        account.deaths += 1
        account.fruitless = 0 if account.here > account.furthest else account.fruitless + 1
        account.furthest = max(account.furthest, account.here)
        account.here = 0
        if account.fruitless == DEATHS:
            raise errors.StudyError(
                f"workers died {account.deaths} times over {called(self.calls[number])}, after"
                f" {account.furthest} items at most: out of memory, or a crash in native code; try fewer"
                " --workers, or --engine local to see the crash"
            )
        return "again"


def called(call: JsonObject) -> str:
    """Return the name of a call for people: its shard, and the model or similar.

    >>> (
    ...     called({"number": 3, "name": "unet", "study": "study"}),
    ...     called({"job": {"against": "val", "name": "fcn"}}),
    ...     called({}),
    ... )
    ('shard 3 of unet', 'fcn', 'a call')
    """
    about = {**call, **job} if isinstance(job := call.get("job"), dict) else call
    name = about.get("name") or about.get("against")
    return (
        " of ".join(str(w) for w in (f"shard {about['number']}" if "number" in about else None, name) if w)
        or "a call"
    )
