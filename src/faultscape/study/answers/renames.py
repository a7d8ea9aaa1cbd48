"""The current names of classes and models in older answers.

Conventions: a row (until, was, now) applies to all answers up to the one whose number is ``until``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from functools import cache


def chains(renamed: Sequence[tuple[int, str, str]]) -> Callable[[str, int], tuple[str, ...]]:
    """Return a function from a name in an answer and the answer's number to all names that its class or model
    has had since, from rows (until, was, now).

    >>> called = chains([(5, "cat", "feline"), (5, "feline", "felid"), (9, "dog", "cat")])
    >>> called("cat", 5), called("cat", 6), called("dog", 6)
    (('cat', 'feline', 'felid'), ('cat',), ('dog', 'cat'))
    """
    until = [number for number, _, _ in renamed]

    @cache
    def chain(word: str, begin: int) -> tuple[str, ...]:
        names = [word]
        for _, was, now in renamed[begin:]:
            names += [now] if was == names[-1] else []
        return tuple(names)

    return lambda word, number: chain(word, bisect_left(until, number))


def latest_name(names: Sequence[str], known: Mapping[str, str]) -> str:
    """Return the current class at the end of a chain of names; if its last name is unknown, the class of the
    name before, since a command may have been killed before it stored the new list.
    """
    return next((known[name] for name in names[:-3:-1] if name in known), names[-1])
