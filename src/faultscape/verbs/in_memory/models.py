"""Models that were given to `predict` as arrays, tensors, functions or torch modules, not as a SOURCE.

Conventions: maps and answers belong to `images`, and wait in a temporary folder while the verb runs.
"""

from __future__ import annotations

import csv
import secrets
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from faultscape.arguments import Source
from faultscape.errors import ModelError
from faultscape.formats import from_memory
from faultscape.prediction.in_memory import (
    Held,
    HeldAnswers,
    HeldFunction,
    HeldMaps,
    digest_of,
    holding,
)
from faultscape.reading.study import Study
from faultscape.study.settings import MEMORY
from faultscape.verbs.in_memory.images import images_of

_SHOWN = 12  # characters of a digest in study.toml


@contextmanager
def as_sources(study: Study, models: Sequence[Source]) -> Iterator[tuple[Source, ...]]:
    """Yield NAME=SOURCE arguments and dicts with a SOURCE instead of what is in memory, which is held until
    the end; ModelError for a value that cannot be a model, or does not fit the images of the study.
    """
    if not any(_in_memory(value) for one in models if isinstance(one, Mapping) for value in one.values()):
        yield tuple(models)
        return
    with tempfile.TemporaryDirectory(prefix="faultscape-") as folder:
        held = dict[str, Held]()
        named = list[Source]()
        for number, one in enumerate(models):
            if not isinstance(one, Mapping):
                named.append(one)
                continue
            sources = dict[str, Any]()
            for name, value in one.items():
                sources[str(name)] = value
                if _in_memory(value):
                    place = Path(folder, f"{number}-{len(held)}")
                    place.mkdir()
                    mark, kept = _held(study, str(name), value, place)
                    source = sources[str(name)] = f"{MEMORY}{name}:{mark[:_SHOWN]}"
                    held[source] = kept
            named.append(sources)
        with holding(held):
            yield tuple(named)


def _in_memory(value: object) -> bool:
    return not from_memory.is_place(value)


def _held(study: Study, name: str, value: Any, place: Path) -> tuple[str, Held]:
    """Return what is in memory as it is held, and a mark of its content."""
    if from_memory.is_function(value):
        mark = secrets.token_hex(16)  # what a function does cannot be told: it is asked again each time
        return mark, HeldFunction(value, mark)
    if study.classifies:
        return _answers(study, name, value, place)
    made = from_memory.write_maps(value, place, name)
    ids = images_of(study, made.ids, len(made.files), name, error=ModelError)
    files = dict(zip(ids, map(str, made.files), strict=True))
    digests = dict(zip(map(str, made.files), made.digests, strict=True))
    return digest_of(dict(zip(ids, made.digests, strict=True))), HeldMaps(place, files, digests)


def _answers(study: Study, name: str, value: Any, place: Path) -> tuple[str, Held]:
    """Return answers of a classifier as they are held: a table of class ids."""
    if not from_memory.are_answers(value):
        raise ModelError(
            f"{name}: the study is of classifiers, whose answers in memory are one class id an image, (I,) or"
            " {id: class}; of probabilities (I, C) give .argmax(1), or an .npz file"
        )
    given, classes = from_memory.answers(value, name)
    ids = images_of(study, given, len(classes), name, "answer", error=ModelError)
    table = place / "answers.csv"
    with table.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["image", "label"])
        rows.writerows(zip(ids, classes, strict=True))
    return digest_of(dict(zip(ids, map(str, classes), strict=True))), HeldAnswers(table)
