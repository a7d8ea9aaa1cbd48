"""The question that a study answers: which model is better, which is best, or where they fail."""

from __future__ import annotations

import sys
from typing import cast

from faultscape.choices import Question
from faultscape.reading.study import Study
from faultscape.verbs.select.artefact import is_replaced

QUESTIONS: dict[Question, str] = {
    "order": "which model to use, and how sure that is",
    "best": "which one leads, from as few labels as possible: not by how much, nor how sure",
    "failures": "where the models fail: not which is better",
}


def chosen_for(study: Study) -> set[str]:
    """Return the questions that a study's images are chosen for."""
    held = [made.slots for name, made in study.selections.items() if not is_replaced(study, name)]
    return {str(slots.definition.get("goal") or "") if slots.for_all else "failures" for slots in held}


def asked_in_a_terminal() -> Question:
    """Ask which question to answer; where nobody can be asked, which model is better."""
    there = [stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.__stdout__)]
    if not all(there):
        return "order"
    print(
        "What do you want to know?",
        *(f"  {k}  {words}" for k, words in enumerate(QUESTIONS.values(), 1)),
        sep="\n",
    )
    while True:
        print("1, 2 or 3 [1]: ", end="", flush=True)
        word = sys.stdin.readline().strip() or "1"  # also where nothing more can be typed
        if word in ("1", "2", "3"):
            return list(QUESTIONS)[int(word) - 1]
        if word in QUESTIONS:
            return cast("Question", word)
