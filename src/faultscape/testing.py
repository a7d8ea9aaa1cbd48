"""Checks for extensions of Faultscape: whether a kind of model keeps the contract that `predict` relies on.

Conventions: a check returns nothing on success and raises AssertionError with what is wrong. It changes
nothing in the study that it is given.

``study`` is the path of the study. ``change`` changes what the model reads.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from faultscape.classes.class_lists import table
from faultscape.maps import class_answers, runs
from faultscape.nouns import UNKNOWN
from faultscape.prediction import catalogue
from faultscape.prediction.networks import largest
from faultscape.prediction.source import Opening, Part, Request, Source, Trial
from faultscape.prediction.sources.folder import check_size
from faultscape.prediction.sources.own import OwnModel
from faultscape.reading.study import Study
from faultscape.study.settings import ModelOptions, Settings
from faultscape.study.tables.corpus import Image

if TYPE_CHECKING:
    from faultscape.prediction.batches import Row

_NAME = "checked"


def check_source(
    study: str,
    place: str,
    *,
    change: Callable[[], None] | None = None,
    options: dict[str, object] | None = None,
) -> None:
    """Check that the kind of model named by a SOURCE keeps the contract that `predict` relies on, on the
    images of a study.

    It is recognised again from what study.toml keeps; it opens; it gives the same answers twice, one batch
    per requested batch and one row per image, in order; its labels are valid and its maps have sizes that
    fit, and there is at least one; its fingerprint is the same each time and different after ``change()``.
    ``place`` is the SOURCE as on the command line (``own.py:STACK:maps.npy``); ``options`` are its options.
    Errors: AssertionError; ModelError if it cannot be opened.
    """
    held = Study(study)
    settings = held.settings
    source = catalogue.source_of(_NAME, place, settings.task)
    assert source.name.isidentifier(), f"a kind of model is called by a plain word; got {source.name!r}"
    assert source.called, f"{source.name}: `called` is to say what a person calls it"
    assert source.written, f"{source.name}: `written` is to say how its SOURCE is written"
    kept = source.kept_as(place)
    assert source.kept_as(kept) == kept, f"{place}: kept_as makes another SOURCE of what it made, {kept}"
    assert catalogue.source_of(_NAME, kept, settings.task) == source, (
        f"{kept}: is recognised as another kind than {place}"
    )
    assert source.there(place), f"{place}: is said not to be there"
    request = Request(_NAME, place, settings, held.corpus.each_shard, cast("ModelOptions", options or {}))
    origin = source.origin(source, request)
    again = source.origin(source, request)
    assert (origin.stamps, origin.keys, origin.digest) == (again.stamps, again.keys, again.digest), (
        f"{place}: follows from something else each time"
    )
    shards = {number: list(images) for number, images in held.corpus.each_shard()}
    assert set(origin.stamps) == set(shards), (
        f"{place}: has stamps of shards {sorted(origin.stamps)}; the study has {sorted(shards)}"
    )
    opening = Opening(source.name, origin.source or kept, origin.options, origin.labels, "cpu", origin.digest)
    answers = 0
    problem = ""
    for number, images in shards.items():
        files = origin.files.get(number, {})
        first, second = (_rows(source, opening, settings, images, files) for _ in range(2))
        assert first == second, f"{place}: answers otherwise when it is asked again"
        for image, row in zip(images, first, strict=True):
            _check_row(settings, opening, image, row)
            answers = answers + (row.runs is not None)
            problem = problem or row.problem
    assert answers, f"{place}: has an answer to none of the study's images; the first problem: {problem}"
    _check_trial(source, opening, settings, request, next(iter(shards.values()))[0])
    if change is not None:
        change()
        changed = source.origin(source, request)
        assert all(
            changed.stamps[s].split(":")[-2] != stamp.split(":")[-2] for s, stamp in origin.stamps.items()
        ), f"{place}: changed, and its answers are said to follow from the same as before"


def _rows(
    source: Source, opening: Opening, settings: Settings, images: Sequence[Image], files: Mapping[str, str]
) -> list[Row]:
    """Return the rows of a shard, requested in the batches that the model wants."""
    model = source.open(opening, settings)
    size = model.batch_size(len(images))
    assert size >= 1, f"{opening.source}: wants {size} images at once"
    asked = [images[k : k + size] for k in range(0, len(images), size)]
    made = list(model.batches(asked, Part(files)))
    if isinstance(model, OwnModel):
        assert not model.fault, model.fault
    assert len(made) == len(asked), (
        f"{opening.source}: yields {len(made)} batches where {len(asked)} were asked for"
    )
    for batch, images_of_it in zip(made, asked, strict=True):
        named = [row.id for row in batch.rows]
        wanted = [image.id for image in images_of_it]
        assert named == wanted, f"{opening.source}: yields rows of {named}; expected {wanted}"
    return [row for batch in made for row in batch.rows]


def _check_row(settings: Settings, opening: Opening, image: Image, row: Row) -> None:
    """Raise AssertionError for a row that is neither an answer that a study can hold nor a problem in
    words.
    """
    if row.runs is None:
        assert row.problem, f"{image.id}: has neither an answer nor a problem"
        return
    assert not row.problem, f"{image.id}: has an answer and a problem, {row.problem}"
    if settings.classifies:
        label = class_answers.first(row.runs)
        assert label == -1 or label in settings.classes.ids or opening.labels, (
            f"{image.id}: is said to be {label}, which is not a class"
        )
        return
    tall, wide = runs.shape(row.runs)
    places = table(settings.class_list, opening.labels)
    unknown = [int(v) for v in runs.labels(row.runs) if places[v] == UNKNOWN]
    assert not unknown, f"{image.id}: holds the label {unknown[0]}, which means nothing"
    check_size(image.id, np.empty((tall, wide), np.bool_), (image.width, image.height), settings.working_size)


def _check_trial(
    source: Source, opening: Opening, settings: Settings, request: Request, image: Image
) -> None:
    """Try the model as `predict` does, without keeping anything."""
    with tempfile.TemporaryDirectory() as where:
        source.open(replace(opening), settings).try_on(Trial(image, 1, largest(request), Path(where)))
