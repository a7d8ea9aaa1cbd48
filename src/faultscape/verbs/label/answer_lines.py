"""Everything people answered, except masks, as JSON lines: exported from a study, and imported into it or
another.

Conventions: a line is an object whose ``kind`` is choice, answer, point, boxes, discard, vote (to discard),
keep (which ends a discard), tag or check. Its fields are the columns of its table without the number and the
source. Lines are in the order of the rows; rows that take something back are included: their answer or reason
is '', a tag is not ``given``. Choices, answers and points that took less time than a person needs are
``too_quick``, which is not read back: it follows from the other fields. Times are seconds since 1970. People
appear under their pseudonyms. Rows that the study already has are skipped (`new_rows`), so a file can be read
twice; lines without a time, as earlier versions wrote them, are read if they add something new.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from faultscape.errors import LabellingError
from faultscape.formats.guard import read_bytes
from faultscape.labelling.answers import WORDS as ANSWERS
from faultscape.reading.boxes.evidence import box_answers
from faultscape.reading.evidence import tell_discards
from faultscape.reading.study import Study, opened
from faultscape.study.answers.boxes import BoxAnswer, fault_of_text
from faultscape.study.answers.checks import STATES, Checks
from faultscape.study.answers.choices import WORDS, Choice
from faultscape.study.answers.labels import Answer, Discard
from faultscape.study.answers.least_times import too_quick
from faultscape.study.answers.points import PointAnswer, classes_seen
from faultscape.study.answers.schema import ANSWERS as ANSWERS_TABLE
from faultscape.study.answers.schema import CHOICES, POINTS
from faultscape.study.answers.tags import Tag, Tags, region_within
from faultscape.study.folder import local, put
from faultscape.study.tables.logs import Failure, log_import, read_failures, replace_failures
from faultscape.verbs.label.result import AnswersTaken, AnswersWritten

if TYPE_CHECKING:
    from faultscape.verbs.options import LabelAnswersOptions

ENDING = ".jsonl"
MOST_BYTES = 1 << 30
_STAGE = "answers"
_Kind = TypeVar("_Kind", Choice, Answer, PointAnswer, BoxAnswer, Discard, Tag)


def write_answers(options: LabelAnswersOptions) -> AnswersWritten:
    """Write everything people answered to a file; LabellingError unless its name ends in .jsonl."""
    study = opened(options.study)
    out = options.out
    path = local(out, "answers")
    if path.suffix.lower() != ENDING:
        raise LabellingError(
            f"{out}: answers are written as JSON lines; give a file name that ends in {ENDING}"
        )
    rows = list(_rows(study))
    if rows:  # without rows, an existing file may contain another study's answers
        text = "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)
        put(path, text.encode("utf-8", "surrogateescape"))
    return AnswersWritten(out, tuple(Counter(row["kind"] for row in rows).items()))


def _rows(study: Study) -> Iterator[dict[str, Any]]:
    for one in study.choices.rows():
        mark = {"too_quick": one.chosen != "" and too_quick(CHOICES, one.seconds, one.shown)}
        yield {"kind": "choice", **vars(one), **mark}
    held = study.answers
    for one in held.all_rows():
        mark = {"too_quick": one.answer != "" and too_quick(ANSWERS_TABLE, one.seconds, one.shown)}
        yield {"kind": "answer", **{name.rstrip("_"): value for name, value in vars(one).items()}, **mark}
    for point in study.point_answers.rows():
        mark = {"too_quick": point.answer != "" and too_quick(POINTS, point.seconds, point.shown)}
        yield {"kind": "point", **vars(point), **mark}
    for boxes in box_answers(study).rows():
        yield {"kind": "boxes", **vars(boxes)}
    for one in held.discard_rows():
        by = {"annotator": one.annotator} if one.annotator else {}
        why = {} if one.kept else {"reason": one.reason}
        yield {"kind": _kind(one), "image": one.image, **why, **by, "key": one.key, "time": one.time}
    for tag in Tags(study.root, study.database).rows():
        yield {"kind": "tag", **vars(tag)}
    for check in Checks(study.root, study.database).checks():
        at = {"x": None if math.isnan(check.x) else check.x, "y": None if math.isnan(check.y) else check.y}
        about = {
            "truth": check.truth,
            "image": check.image,
            **at,
            "of": check.kind,
            "key": check.key or f"row-{check.number}",
        }
        comments = {
            "comments": [list(said) for said in check.comments],
            "keys": list(check.comment_keys),
            "times": list(check.times),
        }
        yield {"kind": "check", **about, **comments}


def _kind(one: Discard) -> str:
    return "keep" if one.kept else "vote" if one.annotator else "discard"


def read_answers(study: Study, source: str) -> AnswersTaken:
    """Import answers from JSON lines; LabellingError for a file without any. A line that cannot be used
    becomes a row of failures.csv; the others are imported.
    """
    root = study.root
    path = Path(source)
    with study.writing():
        lines = read_bytes(path, LabellingError, limit=MOST_BYTES).splitlines()
        sizes = _sizes(study, lines)
        taken = _Lines()
        wrong = list[tuple[str, str]]()
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            image, why = taken.add(line, sizes, study.classes.names, study.models)
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
            raise LabellingError(
                f"{source}: no line could be used;"
                f" {f'the first: {wrong[0][1]}' if wrong else 'the file is empty'}"
            )
        new = taken.enter(study, source)
        log_import(root, source)
    tell_discards(study, {one.image for one in taken.discards} & study.discarded.keys())
    return AnswersTaken(
        tuple((kind, count) for kind, count in new.items() if count),
        len(failures),
        failures[0].reason if failures else "",
        taken.repeated,
    )


def _sizes(study: Study, lines: Iterable[bytes]) -> dict[str, tuple[int, int]]:
    """Return {image id: (width, height)} of those images of a study that some lines name."""
    named = set[str]()
    for line in lines:
        with suppress(ValueError, RecursionError):
            row = json.loads(line)
            if isinstance(row, dict) and isinstance(image := row.get("image"), str):
                named.add(image)
    ids, *sides = study.corpus.rows_of(named, "id", "width", "height").to_pydict().values()
    return dict(zip(ids, zip(*sides, strict=True), strict=True))


@dataclass(frozen=True)
class _Check:
    """A finding as a line stores it; ``keys`` and ``times`` of the comments are empty in files of earlier
    versions.
    """

    truth: str
    image: str
    at: tuple[float, float] | None
    of: str
    key: str
    comments: tuple[tuple[str, str, str], ...]
    keys: tuple[str, ...]
    times: tuple[float, ...]


class _Lines:
    """The contents of a file by kind, and how many lines repeat an earlier line with the same key."""

    def __init__(self) -> None:
        self.choices: list[Choice] = []
        self.answers: list[Answer] = []
        self.points: list[PointAnswer] = []
        self.boxes: list[BoxAnswer] = []
        self.discards: list[Discard] = []
        self.tags: list[Tag] = []
        self.checks: list[_Check] = []
        self.repeated = 0
        self._keys: dict[tuple[str, str], object] = {}

    @property
    def any(self) -> bool:
        return any(
            (self.choices, self.answers, self.points, self.boxes, self.discards, self.tags, self.checks)
        )

    def add(
        self,
        line: bytes,
        sizes: Mapping[str, tuple[int, int]],
        classes: Collection[str],
        models: Collection[str],
    ) -> tuple[str, str]:
        """Add one line; return its image and what is wrong with it, or ''."""
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            return "", "is not a JSON object"
        if not isinstance(row, dict):
            return "", "is not a JSON object"
        image = row.get("image", "")
        kind = row.get("kind", "")
        if kind not in _KINDS:
            return (
                str(image)[:200],
                f"the kind {str(kind)[:40]!r} is not known; use {', '.join(_KINDS[:-1])} or {_KINDS[-1]}",
            )
        if "image" in row and (not isinstance(image, str) or image not in sizes):
            return str(image)[:200], f"{str(image)[:80]!r} is not an image of the study"
        try:
            return image, self._take(row, row["image"], sizes, classes, models)
        except KeyError as error:
            return image, f"a line of kind {str(row.get('kind'))[:20]!r} lacks {error}"
        except (TypeError, ValueError) as error:
            return image, str(error)

    def _take(
        self,
        row: dict[str, Any],
        image: str,
        sizes: Mapping[str, tuple[int, int]],
        classes: Collection[str],
        models: Collection[str],
    ) -> str:
        kind = row["kind"]
        if kind == "choice":
            for model in (row["first"], row["second"]):
                if model not in models:
                    return f"{str(model)[:80]!r} is not a model of the study"
            if row["chosen"] not in (*WORDS, ""):
                return f"the choice {str(row['chosen'])[:40]!r} is not known; use {', '.join(WORDS)}"
            if row["first"] == row["second"]:
                return f"its two models are the same: {row['first']!r}"
            fields = {name: _typed(row, name, kinds) for name, kinds in _CHOICE.items() if name in row}
            return self._once(kind, Choice(**fields), self.choices)
        if kind == "answer":
            if row["class"] not in classes:
                return f"{str(row['class'])[:80]!r} is not a class of the study"
            if row["answer"] not in (*ANSWERS, ""):
                return f"the answer {str(row['answer'])[:40]!r} is not known; use {', '.join(ANSWERS)}"
            said = image, row["class"], _text(row, "annotator"), row["answer"], _word(row, "truth")
            return self._once(
                kind, Answer(*said, **_more(row, "seconds", "shown", "key", "time")), self.answers
            )
        if kind == "point":
            if row["answer"] != "" and classes_seen(str(row["answer"]), classes) is None:
                return (
                    f"the answer {str(row['answer'])[:40]!r} is not known; use a class, void, or cannot tell"
                )
            width, height = sizes[image]
            y, x = (int(_typed(row, name, (int,))) for name in ("row", "column"))
            if not (0 <= y < height and 0 <= x < width):
                return f"row {y}, column {x} lies outside of the image"
            about = _text(row, "answer"), _text(row, "annotator"), _word(row, "truth")
            more = _more(row, "repeat", "seconds", "shown", "key", "time")
            return self._once(kind, PointAnswer(image, y, x, *about, **more), self.points)
        if kind == "boxes":
            if why := fault_of_text(said := _text(row, "said"), classes, sizes[image]):
                return why
            about = said, _text(row, "annotator"), _word(row, "truth")
            return self._once(kind, BoxAnswer(image, *about, **_more(row, "key", "time")), self.boxes)
        if kind in ("discard", "keep", "vote"):
            more = _more(row, "key", "time")
            if kind != "discard" and "time" not in more:
                raise KeyError("time")
            reason = (
                "" if kind == "keep" else _text(row, "reason") if "time" in more else _word(row, "reason")
            )
            who = _word(row, "annotator") if kind == "vote" else ""
            return self._once("discard", Discard(image, reason, who, kind == "keep", **more), self.discards)
        if kind == "tag":
            if (model := _text(row, "model")) and model not in models:
                return f"{model[:80]!r} is not a model of the study"
            about = model, region_within(_text(row, "region"), sizes[image])
            tag = Tag(
                image,
                _word(row, "tag"),
                _word(row, "annotator"),
                *about,
                **_more(row, "given", "key", "time"),
            )
            return self._once(kind, tag, self.tags)
        self.checks.append(_check(row, image))
        return ""

    def _once(self, table: str, row: _Kind, rows: list[_Kind]) -> str:
        """Add a row whose key is new; return what is wrong with one that contradicts an earlier row of the
        same key.
        """
        if row.key is not None:
            before = self._keys.setdefault((table, row.key), row)
            if before is not row:
                self.repeated += before == row
                return (
                    ""
                    if before == row
                    else f"its key {row.key[:40]!r} was used by an earlier line with other contents"
                )
        rows.append(row)
        return ""

    def enter(self, study: Study, source: str) -> dict[str, int]:
        """Write what is new into the study; return how many rows of each kind that was."""
        held = study.answers
        new = {"choice": study.choices.add_all(self.choices, source)}
        new["answer"] = held.add_all(self.answers, source)
        new["point"] = study.point_answers.add_all(self.points, source)
        new["boxes"] = box_answers(study).add_all(self.boxes, source)
        discards = Counter(_kind(one) for one in held.add_discards(self.discards, source))
        new |= {kind: discards[kind] for kind in ("discard", "vote", "keep")}
        new["tag"] = Tags(study.root, study.database).add_all(self.tags, source)
        new["check"] = _enter_checks(Checks(study.root, study.database), self.checks, source)
        return new


def _enter_checks(checks: Checks, rows: list[_Check], source: str) -> int:
    """Write findings and their comments, each once; return how many of them have something new."""
    new = set[str]()
    for row in rows:
        who, comment, _ = row.comments[0]
        time = row.times[0] if row.times else 0.0
        if checks.open(
            row.truth, row.image, row.of, comment, who, at=row.at, source=source, key=row.key, time=time
        ):
            new.add(row.key)
    held = {one.key: one for one in checks.checks()} if rows else {}
    for row in rows:
        found = held[row.key]
        for place, (who, comment, state) in list(enumerate(row.comments))[1:]:
            said = hashlib.blake2b(
                f"{row.key}\n{place}\n{who}\n{comment}\n{state}".encode(), digest_size=12
            ).hexdigest()
            if said in found.comment_keys or (not row.keys and (who, comment, state) in found.comments):
                continue
            key, time = (row.keys[place], row.times[place]) if row.keys else (said, 0.0)
            if checks.answer(found, state, comment, who, source=source, key=key or said, time=time):
                new.add(row.key)
    return len(new)


def _check(row: dict[str, Any], image: str) -> _Check:
    """Return a line's finding; ValueError if it is invalid."""
    comments = row["comments"]
    keys = row.get("keys") or []
    times = row.get("times") or []
    if (
        not isinstance(comments, list)
        or not comments
        or not all(isinstance(c, list) and len(c) == 3 for c in comments)
    ):
        raise ValueError("its comments must be (annotator, comment, state)")
    said = tuple((_text(c, 0), _text(c, 1), _text(c, 2)) for c in comments)
    if any(state not in STATES for *_, state in said):
        raise ValueError("its comments must be (annotator, comment, state)")
    if (keys or times) and not (
        isinstance(keys, list) and isinstance(times, list) and len(keys) == len(times) == len(said)
    ):
        raise ValueError("it needs one key and one time per comment")
    at = None if row.get("x") is None or row.get("y") is None else (_number(row, "x"), _number(row, "y"))
    about = _word(row, "truth"), image, at, _word(row, "of"), _word(row, "key"), said
    return _Check(
        *about,
        tuple(_text(keys, k) for k in range(len(keys))),
        tuple(_number(times, k) for k in range(len(times))),
    )


_KINDS = ("choice", "answer", "point", "boxes", "discard", "vote", "keep", "tag", "check")
_TEXT = (str,)
_CHOICE: dict[str, tuple[type, ...]] = {
    "image": _TEXT,
    "first": _TEXT,
    "second": _TEXT,
    "chosen": _TEXT,
    "annotator": _TEXT,
    "first_shown": _TEXT,
    "second_shown": _TEXT,
    "left": _TEXT,
    "repeat": (int,),
    "seconds": (int, float, type(None)),
    "truth": _TEXT,
    "shown": _TEXT,
    "key": (str, type(None)),
    "time": (int, float),
}
_FIELDS = {**_CHOICE, "given": (bool,)}
_SPANS = {"left": ("first", "second"), "repeat": (0, 1)}


def _more(row: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return the optional fields of a line."""
    return {name: _typed(row, name, _FIELDS[name]) for name in names if name in row}


def _typed(row: dict[str, Any], name: str, kinds: tuple[type, ...]) -> Any:
    value = row[name]
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise ValueError(f"{name} is {str(value)[:40]!r}")
    if isinstance(value, str):
        value = _text(row, name)
    elif name in ("seconds", "time") and value is not None:
        value = _number(row, name)
    if (name in _SPANS and value not in _SPANS[name]) or (name == "key" and value == ""):
        raise ValueError(f"{name} is {str(value)[:40]!r}")
    return value


def _number(row: Any, name: Any) -> float:
    """Return a number that a database can store; ValueError for another value."""
    value = row[name]
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < 1e15:
        raise ValueError(f"{name if isinstance(name, str) else 'a time'} is {str(value)[:40]!r}")
    return float(value)


def _text(row: Any, name: Any) -> str:
    """Return a text that a database can store, '' if there is none; ValueError for another value."""
    value = row[name] if isinstance(row, list) else row.get(name, "")
    if not isinstance(value, str) or "\0" in value or any(0xD800 <= ord(letter) < 0xE000 for letter in value):
        raise ValueError(f"{name if isinstance(name, str) else 'a comment'} is {str(value)[:40]!r}")
    return value


def _word(row: dict[str, Any], name: str) -> str:
    if not row[name] or not (value := _text(row, name)):
        raise ValueError(f"{name} is {str(row[name])[:40]!r}")
    return value
