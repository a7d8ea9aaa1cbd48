"""Classes that people chose for whole images in Label Studio (Choices).

Conventions: the choices of label_config.xml beside the file are what was asked, or those that appear without
one. A task that someone answered without a choice shows none of them; one without an answer is left out. Of
one person's answers to a task the latest counts. Choices for a single region say nothing about the image.
Source: Label Studio's documentation of Choices and of its JSON export.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faultscape.errors import LabellingError
from faultscape.formats.label_tools.studio.shapes import type_of
from faultscape.formats.label_tools.studio.tasks import (
    CONFIG,
    Said,
    image_of,
    load,
    read_config,
    said_of,
    task_name,
)

_TAG = "choices"


@dataclass(frozen=True)
class SaidPresent:
    """What one person answers about an image: its name in the file, the classes that are in it, those that
    were asked about, () for the classes of the whole file, and those that the person is unsure about, in the
    words of the file; ``where`` is its place for errors.
    """

    image: str
    annotator: str
    present: tuple[str, ...]
    where: str
    asked: tuple[str, ...] = ()
    unsure: tuple[str, ...] = ()


@dataclass(frozen=True)
class PresentFile:
    """What a file says: the classes that people were asked about, () if it does not say so, its images, how
    many are not answered yet, and (image, why) of those that cannot be read.
    """

    asked: tuple[str, ...]
    images: list[SaidPresent]
    untouched: int = 0
    wrong: tuple[tuple[str, str], ...] = ()


def read(path: Path) -> PresentFile:
    """Return the classes that people chose; LabellingError if the file cannot be read."""
    images = list[SaidPresent]()
    untouched = 0
    for k, task in enumerate(load(path)):
        answers = list(said_of(task, path, k))
        untouched += not answers
        for answer in answers:
            if not (image := image_of(answer.data)):
                raise LabellingError(f"{path}, {task_name(task, k)}: its data names no image")
            images.append(SaidPresent(image, answer.annotator, _chosen(answer), answer.where))
    return PresentFile(_asked(path.parent / CONFIG), images, untouched)


def _asked(config: Path) -> tuple[str, ...]:
    if not config.is_file():
        return ()
    controls = read_config(config).controls.values()
    return tuple(sorted({name for tag, names in controls if tag == _TAG for name in names}))


def _chosen(answer: Said) -> tuple[str, ...]:
    """Return the choices for the whole image, whose value holds nothing beside them."""
    found = dict[str, None]()
    for k, result in enumerate(answer.results):
        value: Any = result.get("value") if isinstance(result, dict) else None
        if not isinstance(value, dict) or type_of(result) != _TAG or set(value) != {_TAG}:
            continue
        words = value[_TAG]
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise LabellingError(f"{answer.where}, result {k}: its choices must be a list of words")
        found |= dict.fromkeys(word.strip() for word in words)
    return tuple(found)
