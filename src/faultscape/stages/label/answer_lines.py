"""Everything that people said that is no mask, as JSON lines: out of a study, and back into it or another.

Conventions: a line is an object whose ``kind`` is choice, answer, discard, tag or check, with the columns of its table, in the order in which rows came; times are seconds since 1970. People stand under their pseudonyms. What stands in the study
already, by its key or by what it says, is left out, so that a file may be read twice.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from faultscape.errors import LabellingError
from faultscape.formats.guard import read_bytes
from faultscape.labelling.answers import WORDS as ANSWERS
from faultscape.stages import evidence
from faultscape.stages.label.result import AnswersTaken, AnswersWritten
from faultscape.study.answers.checks import STATES, Checks
from faultscape.study.answers.choices import WORDS, Choice, Choices
from faultscape.study.answers.labels import Answers
from faultscape.study.answers.tags import Tag, Tags
from faultscape.study.folder import existing, local, put
from faultscape.study.lock import writing
from faultscape.study.settings import read_settings
from faultscape.study.tables.corpus import read_ids
from faultscape.study.tables.logs import Failure, log, read_failures, replace_failures

ENDING = ".jsonl"
MOST_BYTES = 1 << 30
_STAGE = "answers"


def write_answers(study: str, out: str) -> AnswersWritten:
    """Write all that people said to a file; LabellingError where it is none of JSON lines."""
    root, path = existing(study), local(out, "what people said")
    if path.suffix.lower() != ENDING:
        raise LabellingError(f"{out}: answers are written as JSON lines; name a file that ends in {ENDING}")
    rows = list(_rows(root))
    put(
        path,
        "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows).encode("utf-8", "surrogateescape"),
    )
    return AnswersWritten(out, tuple(Counter(row["kind"] for row in rows).items()))


def _rows(root: Path) -> Iterator[dict[str, Any]]:
    for one in Choices(root).rows():
        yield {"kind": "choice", **vars(one)}
    held = Answers(root)
    for truth in held.truths():
        for image, class_, annotator, answer in held.answers(truth):
            yield {"kind": "answer", "truth": truth, "image": image, "class": class_, "annotator": annotator, "answer": answer}
    for image, reason in held.discarded().items():
        yield {"kind": "discard", "image": image, "reason": reason}
    for tag in Tags(root).tags():
        yield {"kind": "tag", **vars(tag)}
    for check in Checks(root).checks():
        at = {"x": None if math.isnan(check.x) else check.x, "y": None if math.isnan(check.y) else check.y}
        about = {"truth": check.truth, "image": check.image, **at, "of": check.kind, "key": check.key or f"row-{check.number}"}
        yield {"kind": "check", **about, "comments": [list(said) for said in check.comments]}


def read_answers(study: str, source: str) -> AnswersTaken:
    """Take in what people said from JSON lines; LabellingError for a file that holds none. A line that cannot be used is a row of failures.csv, and the others are taken."""
    root, path = existing(study), Path(source)
    with writing(root):
        settings, ids = read_settings(root), read_ids(root)
        taken, wrong = _Lines(), list[tuple[str, str]]()
        for number, line in enumerate(read_bytes(path, LabellingError, limit=MOST_BYTES).splitlines(), 1):
            if not line.strip():
                continue
            image, why = taken.add(line, ids, settings.classes.names, settings.models)
            if why:
                wrong.append((image, f"{path.name}, line {number}: {why}"))
        failures = [Failure(_STAGE, path.name, image, why) for image, why in wrong]
        rest = [
            f
            for f in read_failures(root)
            if f.stage == _STAGE and f.name == path.name and not f.reason.startswith(f"{path.name}, line ")
        ]
        replace_failures(root, _STAGE, path.name, rest + failures)
        if not taken.any:
            raise LabellingError(f"{source}: no line could be used; {f'the first: {wrong[0][1]}' if wrong else 'it holds none'}")
        new = taken.enter(root, source)
        log(root, "label import", source=source)
    evidence.tell_discards(root, {image for image, _ in taken.discards})
    return AnswersTaken(
        tuple((kind, count) for kind, count in new.items() if count), len(failures), failures[0].reason if failures else ""
    )


class _Lines:
    """What a file says, kind by kind."""

    def __init__(self) -> None:
        self.choices: list[Choice] = []
        self.answers: dict[str, list[tuple[str, str, str, str]]] = {}
        self.discards: list[tuple[str, str]] = []
        self.tags: list[Tag] = []
        self.checks: list[dict[str, Any]] = []

    @property
    def any(self) -> bool:
        return any((self.choices, self.answers, self.discards, self.tags, self.checks))

    def add(self, line: bytes, images: Collection[str], classes: Collection[str], models: Collection[str]) -> tuple[str, str]:
        """Take one line; returns its image and what is wrong with it, '' where nothing is."""
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            return "", "is no JSON object"
        if not isinstance(row, dict):
            return "", "is no JSON object"
        image = row.get("image")
        if not isinstance(image, str) or image not in images:
            return str(image)[:200], f"{str(image)[:80]!r} is no image of the study"
        try:
            return image, self._take(row, image, classes, models)
        except (KeyError, TypeError, ValueError) as error:
            return image, f"a line of kind {str(row.get('kind'))[:20]!r} lacks {error}, or has another there" if isinstance(
                error, KeyError
            ) else str(error)

    def _take(self, row: dict[str, Any], image: str, classes: Collection[str], models: Collection[str]) -> str:
        kind = row.get("kind")
        if kind == "choice":
            for model in (row["first"], row["second"]):
                if model not in models:
                    return f"{str(model)[:80]!r} is no model of the study"
            if row["chosen"] not in (*WORDS, ""):
                return f"the choice {str(row['chosen'])[:40]!r} is not known; use {', '.join(WORDS)}"
            if row["first"] == row["second"]:
                return f"it chooses between {row['first']!r} and itself"
            fields = {name: _typed(row, name, kinds) for name, kinds in _CHOICE.items() if name in row}
            self.choices.append(Choice(**fields))
        elif kind == "answer":
            if row["class"] not in classes:
                return f"{str(row['class'])[:80]!r} is no class of the study"
            if row["answer"] not in ANSWERS:
                return f"the answer {str(row['answer'])[:40]!r} is not known; use {', '.join(ANSWERS)}"
            self.answers.setdefault(_word(row, "truth"), []).append((image, row["class"], _word(row, "annotator"), row["answer"]))
        elif kind == "discard":
            self.discards.append((image, _word(row, "reason")))
        elif kind == "tag":
            self.tags.append(
                Tag(image, _word(row, "tag"), _word(row, "annotator"), row.get("model") or "", row.get("region") or "")
            )
        elif kind == "check":
            if (
                any(
                    len(said) != 3 or said[2] not in STATES or not all(isinstance(w, str) for w in said)
                    for said in row["comments"]
                )
                or not row["comments"]
            ):
                return "its comments are (annotator, comment, state)"
            self.checks.append(row)
        else:
            return f"the kind {str(kind)[:40]!r} is not known; use choice, answer, discard, tag or check"
        return ""

    def enter(self, root: Path, source: str) -> dict[str, int]:
        """Put what is new into the study; returns how much of each kind that was."""
        held = Answers(root)
        new = {"choice": Choices(root).add_all(self.choices, source)}
        new["answer"] = sum(held.answer(rows, source, truth) for truth, rows in self.answers.items())
        new["discard"] = held.discard(self.discards, source)
        new["tag"] = Tags(root).add_all(self.tags, source)
        new["check"] = sum(_enter_check(Checks(root), row, source) for row in self.checks)
        return new


def _enter_check(checks: Checks, row: dict[str, Any], source: str) -> bool:
    """Put a finding and its comments, each once."""
    key, new = _word(row, "key"), False
    at = None if row.get("x") is None or row.get("y") is None else (float(row["x"]), float(row["y"]))
    (who, comment, _), *rest = row["comments"]
    new |= checks.open(_word(row, "truth"), row["image"], _word(row, "of"), comment, who, at=at, source=source, key=key)
    for place, (who, comment, state) in enumerate(rest, 1):
        found = next(one for one in checks.checks() if one.key == key)
        said = hashlib.blake2b(f"{key}\n{place}\n{who}\n{comment}\n{state}".encode(), digest_size=12).hexdigest()
        if (who, comment, state) not in found.comments:
            new |= checks.answer(found, state, comment, who, source=source, key=said)
    return new


_TEXT = (str,)
_CHOICE: dict[str, tuple[type, ...]] = {
    "image": _TEXT, "first": _TEXT, "second": _TEXT, "chosen": _TEXT, "annotator": _TEXT, "first_shown": _TEXT, "second_shown": _TEXT, "left": _TEXT,
    "repeat": (int,), "seconds": (int, float, type(None)), "truth": _TEXT, "shown": _TEXT, "key": (str, type(None)), "time": (int, float),
}  # fmt: skip


def _typed(row: dict[str, Any], name: str, kinds: tuple[type, ...]) -> Any:
    value = row[name]
    if not isinstance(value, kinds) or isinstance(value, bool) or (name == "left" and value not in ("first", "second")):
        raise ValueError(f"{name} is {str(value)[:40]!r}")
    return value


def _word(row: dict[str, Any], name: str) -> str:
    if not isinstance(value := row[name], str) or not value:
        raise ValueError(f"{name} is {str(value)[:40]!r}")
    return value
