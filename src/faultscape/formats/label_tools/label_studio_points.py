"""Label Studio's choices about points: a task is a cut of an image with a ring around one pixel, answered
with a class, void or `cannot tell`, and on a border with the class on its other side.

Conventions: the classes that models predict come first in the list of a task (``options``, which Choices show
since Label Studio 1.5), the others follow in the order of the class list; a class has the same key in every
task. What a task asks stands in its data as ``image``, ``row`` and ``column``, so that each of Label Studio's
exports (JSON, JSON-MIN, CSV, TSV) says it; the last two are tables of points like any other
(`labelling.point_tables`). A person's latest answer to a task counts; a skipped task has none.
Source: Label Studio's documentation, and what a server of version 1.23.2 imports, shows and exports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from faultscape.errors import LabellingError
from faultscape.formats.guard import load_json
from faultscape.formats.label_tools.point_labels import (
    NEITHER,
    AskedPoint,
    PointLines,
    SaidPoint,
    Unusable,
    letters_of,
)
from faultscape.formats.label_tools.studio.shapes import AREAS, type_of
from faultscape.formats.label_tools.studio.tasks import (
    CONFIG,
    ROWS,
    dumped,
    head_of,
    load,
    local_photo,
    read_config,
    said_of,
    task_name,
)
from faultscape.formats.label_tools.studio.tasks import address as address_of
from faultscape.formats.label_tools.tool_labels import Format
from faultscape.formats.photos_beside import PhotosBeside
from faultscape.nouns import BORDER, CANNOT_TELL, VOID, Classes

_CROPS = "crops"
_PLACE = ("image", "row", "column")
_ASKED = ('"row"', '"column"', '"crop"')
_KEYS = {VOID: "0", CANNOT_TELL: "n"}
_TAKEN = "huv"  # keys of Label Studio itself: to pan, to unselect, and the arrow
_ANSWER = "answer"
_OTHER = "border"  # the class on the other side of a border


def write(points: Sequence[AskedPoint], classes: Classes) -> dict[str, bytes]:
    """Return the files of tasks, by name; points without a crop, which nobody could see, are left out."""
    # a class may be called as an answer is
    keys = _KEYS | letters_of(classes.names, (*_TAKEN, *_KEYS.values()))
    seen = [point for point in points if point.crop]
    tasks = (_task(point, number, keys, classes) for number, point in enumerate(seen, 1))
    files = {path.name: data for path, data in dumped(tasks, Path(), "tasks")}
    return {CONFIG: _config(classes.names), **files}


def recognise(path: Path) -> int | None:
    """Return how many points are answered in a file of Label Studio's JSON or JSON-MIN, None for any other
    file.
    """
    if not asks_points(path):
        return None
    return len(read(path).answers)


def read(path: Path) -> PointLines:
    """Return the answers in a file; LabellingError if it cannot be read."""
    answers: list[tuple[int, SaidPoint]] = []
    wrong: list[Unusable] = []
    for number, task in enumerate(_tasks(path), 1):
        image, row, column = (task["data"].get(key) for key in _PLACE)
        place = _text(image)
        if not place or type(row) is not int or type(column) is not int:
            wrong.append((number, place, "its data has no image, row and column; import the tasks unchanged"))
            continue
        for said in said_of(task, path, number):
            try:
                if answer := _answer(said.results):
                    answers.append((number, SaidPoint(place, row, column, said.annotator, answer)))
            except LabellingError as error:
                wrong.append((number, place, str(error)))
    return PointLines(answers, wrong, "task")


def check(path: Path) -> list[str]:
    """Return what Label Studio would refuse or show wrongly in a file of points, a sentence each;
    label_config.xml beside it and the crops in crops/ are checked too, if they exist.
    """
    try:
        tasks = load(path)
        config = read_config(path.parent / CONFIG) if (path.parent / CONFIG).is_file() else None
    except LabellingError as error:
        return [str(error)]
    found: list[str] = []
    asked: dict[tuple[Any, ...], str] = {}
    crops = PhotosBeside(path, _CROPS)
    for number, task in enumerate(tasks):
        where = f"{path}, {task_name(task, number)}"
        data = task.get("data")
        if not isinstance(data, dict) or any(data.get(key) is None for key in (*_PLACE, "crop", "options")):
            found.append(f"{where}: its data lacks one of {', '.join((*_PLACE, 'crop', 'options'))}")
            continue
        if (crop := local_photo(data, "crop")) and (faults := crops.faults(crop)):
            found += faults
        pixel = tuple(str(data[key]) for key in _PLACE)
        if (before := asked.setdefault(pixel, where)) != where:
            found.append(f"{where}: asks the same as {before.rpartition(', ')[2]}")
    if config is not None and (lacking := {_ANSWER, _OTHER} - config.controls.keys()):
        found.append(f"{path.parent / CONFIG}: lacks the Choices {' and '.join(sorted(lacking))}")
    return found


def asks_points(path: Path) -> bool:
    """Whether a file has tasks about points and no masks, judged by its first million bytes; never raises."""
    head = head_of(path) or head_of(path, ROWS)
    return all(word.encode() in head for word in _ASKED) and not any(
        f'"{name}"'.encode() in head for name in AREAS
    )


def _tasks(path: Path) -> list[dict[str, Any]]:
    """Return the tasks of a file as JSON has them, from JSON-MIN too: there a row is one annotation."""
    tasks = load_json(path, "a Label Studio JSON file")
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise LabellingError(f"{path}: is not a Label Studio JSON file: expected a list of tasks")
    return [task if isinstance(task.get("data"), dict) else _from_row(task) for task in tasks]


def _from_row(row: dict[str, Any]) -> dict[str, Any]:
    """Return a task whose only annotation is what a row of JSON-MIN says."""
    chosen = {name: row[name] for name in (_ANSWER, _OTHER) if row.get(name) not in (None, "")}
    results = [
        {"type": "choices", "from_name": name, "value": words if isinstance(words, dict) else _choices(words)}
        for name, words in chosen.items()
    ]
    done = {"completed_by": row.get("annotator"), "result": results, "updated_at": row.get("updated_at")}
    return {"id": row.get("id"), "data": row, "annotations": [done]}


def _choices(words: Any) -> dict[str, Any]:
    return {"choices": words if isinstance(words, list) else [words]}


def _answer(results: Sequence[Any]) -> str:
    """Return what a person answered, '' for nothing; LabellingError for two answers, or half a border."""
    chosen: dict[str, list[str]] = {_ANSWER: [], _OTHER: []}
    for result in results:
        value = result.get("value") if isinstance(result, dict) else None
        words = value.get("choices") if isinstance(value, dict) and type_of(result) == "choices" else None
        if isinstance(words, list) and result.get("from_name") in chosen:
            chosen[result["from_name"]] += [word for word in map(_text, words) if word]
    for words in chosen.values():
        if len(set(words)) > 1:
            raise LabellingError(f"chooses {' and '.join(map(repr, dict.fromkeys(words)))} at once")
    if chosen[_OTHER] and not chosen[_ANSWER]:
        raise LabellingError(f"names only {chosen[_OTHER][0]!r}, the class on the other side of a border")
    return BORDER.join(dict.fromkeys(words[0] for words in chosen.values() if words))


def _text(word: Any) -> str:
    return word.strip()[:200] if isinstance(word, str) else ""


def _task(point: AskedPoint, number: int, keys: Mapping[str, str], classes: Classes) -> dict[str, Any]:
    options = dict.fromkeys((*point.first, *classes.names, *NEITHER))
    shown = [{"value": name, **({"hotkey": keys[name]} if keys[name] else {})} for name in options]
    place = {"image": point.image, "row": point.row, "column": point.column}
    return {"id": number, "data": {**place, "crop": address_of(point.crop), "options": shown}}


def _config(names: Sequence[str]) -> bytes:
    """Return the configuration: the answers above the crop, which may fill the screen."""
    answers = f'  <Choices name="{_ANSWER}" toName="crop" value="$options" choice="single-radio"'
    lines = [
        "<View>",
        '  <Header value="What does the pixel in the ring show?" size="4"/>',
        f'{answers} showInline="true" required="true"/>',
        '  <Header value="Only on a border between two classes: the other class" size="5"/>',
        f'  <Choices name="{_OTHER}" toName="crop" choice="single" layout="select">',
        *(f"    <Choice value={quoteattr(name)}/>" for name in names),
        "  </Choices>",
        '  <Image name="crop" value="$crop" zoom="true" zoomControl="true" maxWidth="640px"/>',
        "</View>",
    ]
    return ("\n".join(lines) + "\n").encode()


LABEL_STUDIO_POINTS = Format(
    "label-studio",
    title="Label Studio",
    says="make a project in Label Studio with the labelling interface of label_config.xml, serve {out} as"
    " local files, import tasks.json, and answer; export it as JSON to {export}",
    kind="points",
    write=write,
    read=read,
    recognise=recognise,
    check=check,
    endings=frozenset({".json"}),
    photo="",
    returned="export.json",
)
