"""The predictions of a study's models on a sample of its pool, small enough to search for misplaced models.

Conventions: as in comparison.misplaced: (J, N, H, W) places in corpus order, NONE where a model has no
prediction, where runs of consecutive images start, and the images' ids. Label maps are sampled at ``GRID``,
whatever their shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from faultscape.classes.class_lists import allowed, table
from faultscape.comparison.candidate_orders import NONE
from faultscape.comparison.misplacement import LOST, Finding, find_misplaced
from faultscape.nouns import Predictions
from faultscape.reading.maps import StoredMaps
from faultscape.reading.study import Study
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import part_name
from faultscape.study.tables.pool import images_at

GRID = (56, 42)  # width, height
_MAPS = 128
_RUN = 32
_FAR = 1024
_ANSWERS = 1 << 14
_LONG_RUN = 1 << 10
_MODELS = 8  # models that a misplaced one is compared with in a longer sample


def misplaced_classifiers(said: Predictions) -> list[Finding]:
    """Return which classifiers are misplaced, and how."""
    places = _sample(len(said.images), _ANSWERS, _LONG_RUN)
    labels = said.labels[:, np.concatenate(places)]
    answers = np.where(labels < 0, NONE, labels).astype(np.uint16)[:, :, None, None]
    return find_misplaced(
        answers, _starts(places), keys=[said.images[k] for k in np.concatenate(places).tolist()]
    )


def misplaced_maps(study: Study, models: Sequence[str], number: int) -> list[Finding]:
    """Return which models of label maps are misplaced in a pool of a ``number`` of images, and how; for one
    that disagrees with all others, more images are searched for an order farther off.
    """
    places = _sample(number, _MAPS, _RUN)
    found = find_misplaced(*_read(study, models, places))
    lost = [f for f in found if f.kind in LOST]
    if lost and len(places) > 1:
        away = {f.model for f in lost}
        some: list[int] = [*away, *[m for m in range(len(models)) if m not in away][:_MODELS]]
        far = find_misplaced(*_read(study, [models[m] for m in some], [np.arange(min(number, _FAR))]))
        better = {some[f.model]: replace(f, model=some[f.model]) for f in far if f.kind not in LOST}
        found = [better.get(f.model, f) if f in lost else f for f in found]
    return found


def _sample(number: int, most: int, run: int) -> list[np.ndarray]:
    """Return the places of all images, or of ``most`` of them in runs spread evenly.

    >>> [part.tolist() for part in _sample(10, 4, 2)]
    [[0, 1], [8, 9]]
    """
    if number <= most:
        return [np.arange(number)]
    return [
        np.arange(start, start + run)
        for start in np.linspace(0, number - run, most // run).astype(int).tolist()
    ]


def _starts(places: list[np.ndarray]) -> list[int]:
    return np.cumsum([0, *map(len, places[:-1])]).tolist()


def _read(
    study: Study, models: Sequence[str], places: list[np.ndarray]
) -> tuple[np.ndarray, list[int], list[str]]:
    """Return the maps of some models of some images, where runs start, and the images' ids."""
    classes = study.classes
    wanted = np.concatenate(places).tolist()
    images = images_at(study.corpus, np.concatenate(places))
    answers = np.full((len(models), len(wanted), GRID[1], GRID[0]), NONE, np.uint16)
    for shard, rows in groupby(enumerate(wanted), key=lambda row: images[row[1]][1]):
        held = list(rows)
        for j, name in enumerate(models):
            labels = study.settings.models[name].labels
            folder = label_maps.predictions(study.root, name)
            part = study.manifest(folder).get(part_name(shard))
            known = part.sha256 if part else ""
            maps = StoredMaps(folder, shard, table(classes, labels), allowed(classes, labels), known)
            for k, place in held:
                drawn = maps.read(images[place][0], GRID)
                if drawn is not None:
                    answers[j, k] = drawn
    answers[answers >= len(classes)] = NONE
    return answers, _starts(places), [images[place][0] for place in wanted]
