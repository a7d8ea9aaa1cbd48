"""Pass jobs from a stage to a worker: a job is a frozen dataclass, serialized as JSON only inside an engine.

Conventions: a task's function is decorated with `task`, takes ``job``, a dataclass, with ``tick`` and perhaps
``attempt`` as engines define them, and returns a dataclass (or a plain value). The engine calls it with JSON
and receives JSON; each call validates the job once, in the worker.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import TypeAdapter

if TYPE_CHECKING:
    from faultscape.nouns import Json

Made = TypeVar("Made")


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
