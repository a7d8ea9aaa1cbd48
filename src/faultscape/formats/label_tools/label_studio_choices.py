"""Label Studio's choices: yes/no questions about images, and which of two label maps of one image is better.

Conventions: a question is a task of one image and one class, answered yes, no or unsure. For a pair of
images, a person chooses left, right, both good, both bad, not sure or skip: by a click on an image (Pairwise)
or in a list (Choices); the list counts if both exist and agree. A task skipped in Label Studio is the answer
skip for a pair, and not an answer to a question. What a task asked is in its data.meta, which names the
models, so keep the data of pairs from annotators (the labelling view shows only images). A person's latest
answer to a task counts.
Source: Label Studio's documentation of Choices, Pairwise and its exports; a running server was not available.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faultscape.errors import LabellingError, article
from faultscape.formats.label_tools.studio.shapes import AREAS, type_of
from faultscape.formats.label_tools.studio.tasks import (
    CONFIG,
    Config,
    Said,
    address,
    dumped,
    head_of,
    load,
    local_photo,
    read_config,
    said_of,
    task_name,
)
from faultscape.formats.photos_beside import PhotosBeside

ANSWERS = ("yes", "no", "unsure")
CHOICES = ("left", "right", "both good", "both bad", "not sure", "skip")
_HOTKEYS = ("y", "n", "u", "1", "2", "3", "4", "5", "6")


@dataclass(frozen=True)
class Question:
    """A question to export: does this image contain this class? ``photo`` is relative to the output folder
    (POSIX).
    """

    image: str
    photo: str
    class_: str


@dataclass(frozen=True)
class PairTask:
    """Two label maps of one image to export: the task's id, the image, the two models, their images relative
    to the output folder (POSIX), and whether the second model is shown on the left.
    """

    id: str
    image: str
    models: tuple[str, str]
    photos: tuple[str, str]
    swapped: bool


@dataclass(frozen=True)
class ClassAnswer:
    """One person's answer to a question: yes, no or unsure; ``where`` is file and place."""

    image: str
    class_: str
    annotator: str
    answer: str
    where: str


@dataclass(frozen=True)
class PairAnswer:
    """One person's choice between two label maps: ``left`` and ``right`` are the models whose maps were shown
    there, ``choice`` is one of `CHOICES`, ``seconds`` is the time taken or nan; ``where`` is file and place,
    ``id`` the task's id, or ''.
    """

    image: str
    left: str
    right: str
    annotator: str
    choice: str
    seconds: float
    where: str
    id: str = ""


def write_questions(
    folder: Path, questions: Iterable[Question], glosses: Mapping[str, str] | None = None
) -> Iterator[tuple[Path, bytes]]:
    """Yield the files of yes/no questions: label_config.xml and questions.json; ``glosses`` explain the
    classes.

    >>> [path.name for path, _ in write_questions(Path("out"), [Question("a", "images/a.jpg", "owl")])]
    ['label_config.xml', 'questions.json']
    """
    yield (
        folder / CONFIG,
        _config(
            '<Header value="$question"/>\n  <Image name="image" value="$image" zoom="true"/>',
            "image",
            ANSWERS,
            _HOTKEYS,
        ),
    )
    tasks = (_question(each, number, glosses or {}) for number, each in enumerate(questions, 1))
    yield from dumped(tasks, folder, "questions")


def write_pairs(folder: Path, pairs: Iterable[PairTask]) -> Iterator[tuple[Path, bytes]]:
    """Yield the files of comparisons: label_config.xml and pairs.json."""
    shown = (
        '<Header value="Which of the two is better?"/>\n'
        '  <Pairwise name="better" toName="left,right"/>\n'
        '  <View style="display: flex">\n'
        '    <View style="flex: 1"><Image name="left" value="$left" zoom="true"/></View>\n'
        '    <View style="flex: 1"><Image name="right" value="$right" zoom="true"/></View>\n'
        "  </View>"
    )
    yield folder / CONFIG, _config(shown, "left", CHOICES, _HOTKEYS[3:])
    yield from dumped((_pair(each, number) for number, each in enumerate(pairs, 1)), folder, "pairs")


def recognise(path: Path) -> bool:
    """Whether a file is JSON of Label Studio with questions or pairs, and no masks, judged by its first
    million bytes; never raises.
    """
    head = head_of(path)
    asks = any(f'"{name}"'.encode() in head for name in ("choices", "pairwise"))
    return asks and not any(f'"{name}"'.encode() in head for name in AREAS)


def read_questions(path: Path) -> tuple[list[ClassAnswer], list[str]]:
    """Return the answers to yes/no questions in a file, and a sentence for each that cannot be read;
    LabellingError if the file cannot be read.
    """
    rows = []
    wrong = []
    for number, task in enumerate(load(path)):
        for said in said_of(task, path, number):
            try:
                image, class_ = (_meta(said, key) for key in ("image", "class"))
                if answer := _choice(said, ANSWERS):
                    rows.append(ClassAnswer(image, class_, said.annotator, answer, said.where))
            except LabellingError as error:
                wrong.append(str(error))
    return rows, wrong


def read_pairs(path: Path) -> tuple[list[PairAnswer], list[str]]:
    """Return the choices between two label maps in a file, and a sentence for each that cannot be read;
    LabellingError if the file cannot be read.
    """
    rows = []
    wrong = []
    for number, task in enumerate(load(path)):
        for said in said_of(task, path, number, skipped=True):
            try:
                image, first, second = (_meta(said, key) for key in ("image", "first", "second"))
                left, right = (second, first) if _swapped(said) else (first, second)
                if choice := "skip" if said.skipped else _choice(said, CHOICES):
                    own = said.data["meta"].get("id")
                    own = own if isinstance(own, str) else ""
                    rows.append(
                        PairAnswer(image, left, right, said.annotator, choice, said.seconds, said.where, own)
                    )
            except LabellingError as error:
                wrong.append(str(error))
    return rows, wrong


def check(path: Path) -> list[str]:
    """Return what Label Studio would refuse or show wrongly in a file of questions or pairs, a sentence each;
    label_config.xml beside it and the images in images/ or pairs/ are checked too, if they exist.
    """
    try:
        tasks = load(path)
        config = read_config(path.parent / CONFIG) if (path.parent / CONFIG).is_file() else None
    except LabellingError as error:
        return [str(error)]
    said: list[str] = []
    ids: set[int] = set()
    asked: dict[str, str] = {}
    photos = {False: PhotosBeside(path), True: PhotosBeside(path, "pairs")}
    for number, task in enumerate(tasks):
        where = f"{path}, {task_name(task, number)}"
        if type(id_ := task.get("id")) is int:
            said += [f"{where}: has the id of an earlier task"] if id_ in ids else []
            ids.add(id_)
        data = task.get("data")
        meta = data.get("meta") if isinstance(data, dict) else None
        if not isinstance(data, dict) or not isinstance(meta, dict):
            said.append(f"{where}: has no data.meta, by which answers are distinguished")
            continue
        pairs = meta.get("ask") == "pairwise"
        addresses = ("left", "right") if pairs else ("image",)
        said += [
            f"{where}: its data has no image address `{a}`"
            for a in addresses
            if not isinstance(data.get(a), str)
        ]
        said += [
            fault
            for a in addresses
            if (photo := local_photo(data, a))
            for fault in photos[pairs].faults(photo)
        ]
        if (before := asked.setdefault(json.dumps(meta, sort_keys=True), where)) != where:
            said.append(f"{where}: asks the same as {before.rpartition(', ')[2]}")
        said += [text for text in _lacks(config, path.parent / CONFIG, pairs=pairs) if text not in said]
    return said


def _lacks(config: Config | None, path: Path, *, pairs: bool) -> Iterator[str]:
    """Yield what a configuration lacks for questions, or for pairs."""
    if config is None:
        return
    for kind, names in (("choices", CHOICES if pairs else ANSWERS), *([("pairwise", ())] if pairs else [])):
        found = [labels for tag, labels in config.controls.values() if tag == kind]
        if not found:
            yield f"{path}: has no control {kind.capitalize()}"
        elif lacking := [name for name in names if name not in found[0]]:
            yield f"{path}: its Choices lack {', '.join(lacking)}"


def _question(question: Question, number: int, glosses: Mapping[str, str]) -> dict[str, Any]:
    gloss = glosses.get(question.class_, "")
    text = f"Does this image contain {article(question.class_)}?{gloss and f' ({gloss})'}"
    meta = {"ask": "choices", "image": question.image, "class": question.class_}
    return {"id": number, "data": {"image": address(question.photo), "question": text, "meta": meta}}


def _pair(pair: PairTask, number: int) -> dict[str, Any]:
    left, right = reversed(pair.photos) if pair.swapped else pair.photos
    first, second = pair.models
    meta = {
        "ask": "pairwise",
        "id": pair.id,
        "image": pair.image,
        "first": first,
        "second": second,
        "swapped": pair.swapped,
    }
    return {
        "id": number,
        "data": {"left": address(left), "right": address(right), "id": pair.id, "meta": meta},
    }


def _config(shown: str, to: str, names: Iterable[str], keys: Iterable[str]) -> bytes:
    """Return a configuration that shows something and has a list to choose from."""
    choices = "".join(
        f'    <Choice value="{name}" hotkey="{key}"/>\n' for name, key in zip(names, keys, strict=False)
    )
    return (
        f'<View>\n  {shown}\n  <Choices name="answer" toName="{to}" choice="single-radio"'
        f' showInline="true">\n{choices}  </Choices>\n</View>\n'.encode()
    )


def _meta(said: Said, key: str) -> str:
    """Return a value from a task's metadata; LabellingError if it is missing."""
    meta = said.data.get("meta")
    if not isinstance(meta, dict) or not isinstance(value := meta.get(key), str) or not value:
        raise LabellingError(f"{said.where}: its data.meta has no text `{key}`; import the tasks unchanged")
    return value


def _swapped(said: Said) -> bool:
    if type(swapped := said.data["meta"].get("swapped")) is not bool:
        raise LabellingError(f"{said.where}: its data.meta must say true or false for `swapped`")
    return swapped


def _choice(said: Said, known: tuple[str, ...]) -> str:
    """Return which of the known words a person chose, or ''; LabellingError for an unknown word, for two
    words, or if list and click disagree.
    """
    listed = []
    clicked = []
    for result in said.results:
        value = result.get("value") if isinstance(result, dict) else None
        if not isinstance(value, dict):
            continue
        kind = type_of(result)
        if kind == "choices" and isinstance(words := value.get("choices"), list):
            listed += [word.strip().lower() if isinstance(word, str) else str(word) for word in words]
        elif kind == "pairwise" and value.get("selected") not in (None, "none"):
            clicked.append(str(value["selected"]))
    for word in (*listed, *clicked):
        if word not in known:
            raise LabellingError(f"{said.where}: {word[:40]!r} is not one of {', '.join(known)}")
    if len(set(listed)) > 1 or len(set(clicked)) > 1:
        raise LabellingError(
            f"{said.where}: chooses {' and '.join(repr(w) for w in dict.fromkeys((*listed, *clicked)))} at"
            " once"
        )
    if listed and clicked and listed[0] in ("left", "right") and listed[0] != clicked[0]:
        raise LabellingError(f"{said.where}: chooses {listed[0]!r} in the list but {clicked[0]!r} by click")
    return (listed or clicked or [""])[0]
