"""Faults of a file that repeat: a label that a tool lacks is one fault, however many shapes have it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def told_once(found: Sequence[str], what: str) -> list[str]:
    """Return sentences ``PLACE: FAULT``, in which each fault with the words ``what`` stands once, at its
    first place, with its number if it repeats.

    >>> told_once(["a: lacks 'x'", "b: lacks 'y'", "c: lacks 'x'", "d: torn"], "lacks")
    ["a: lacks 'x' (2 times)", "b: lacks 'y'", 'd: torn']
    """
    faults = [fault if what in (fault := sentence.rpartition(": ")[2]) else "" for sentence in found]
    times = Counter(faults)
    out: list[str] = []
    said: set[str] = set()
    for sentence, fault in zip(found, faults, strict=True):
        if not fault:
            out.append(sentence)
        elif fault not in said:
            said.add(fault)
            out.append(sentence if times[fault] == 1 else f"{sentence} ({times[fault]} times)")
    return out
