"""Where a model fails on labelled images: the class that it finds worst, what it takes it for, and an image.

Conventions: of label maps, at most `COUNTED` labelled images count, the first in an order that is independent
of names; pixels void in the truth never count. Only classes that are true on at least `LEAST` of them are
compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from faultscape.maps import counts
from faultscape.progress import progress
from faultscape.reading.answers import read_predictions
from faultscape.reading.choices import EVERYBODY, Voices
from faultscape.reading.evidence import true_classes
from faultscape.reading.maps import ShardMaps
from faultscape.reading.study import Study
from faultscape.reporting.competition.model_sections import LEAST
from faultscape.standings import Failing
from faultscape.study.tables.corpus import Image, shards

COUNTED = 500  # labelled images whose maps are read


def failing(
    study: Study,
    model: str,
    truth: str,
    images: Sequence[Image],
    voices: Voices = EVERYBODY,
) -> Failing | None:
    """Return where a model fails on labelled ``images``, which are in an order independent of names, by the
    answers of ``voices``; None if no class is true on enough of them.
    """
    if study.classifies:
        return _of_answers(study, model, truth, [image.id for image in images], voices)
    return _of_maps(study, model, truth, images[:COUNTED])


def _of_maps(study: Study, model: str, truth: str, images: Sequence[Image]) -> Failing | None:
    classes = study.classes
    n = len(classes)
    each: dict[str, np.ndarray] = {}
    with progress("where it fails", len(images)) as tick:
        for rows in shards(list(images)).values():
            maps = ShardMaps(study, [model], truth, rows)
            for image in rows:
                label = maps.truth(image.id)
                said = maps.of(model, image.id)
                if label is not None and said is not None:
                    each[image.id] = counts.confusions([label, said], n + 1, np.array([(0, 1)]))[0][:n]
                tick(1)
    cells = {image.id: each[image.id] for image in images if image.id in each}
    groups = list(classes.groups)
    return _worst(classes.names, model, cells, groups)


def _worst(
    names: Sequence[str], model: str, cells: Mapping[str, np.ndarray], groups: Sequence[int]
) -> Failing | None:
    """Return where a model fails, from the confusions (C, C + 1) of each image: true classes in rows, void
    last in columns.

    >>> one = np.array([[6, 0, 0], [3, 1, 0]])
    >>> _worst(["sky", "road"], "fcn", {"x": one, "y": one, "z": one * 2}, [0, 1])
    Failing(model='fcn', worst='road', score=0.25, images=3, taken_for='sky', share=0.75, image='z')
    """
    if not cells:
        return None
    whole = np.sum(list(cells.values()), axis=0)
    seen = np.sum([cell.sum(1) > 0 for cell in cells.values()], axis=0)
    right = np.diagonal(whole)
    union = whole.sum(1) + whole[:, :-1].sum(0) - right
    judged = [k for k in groups if seen[k] >= LEAST]
    if not judged:
        return None
    worst = min(judged, key=lambda k: (round(float(right[k] / union[k]), 12), k))
    mistaken = whole[worst, :-1].copy()
    mistaken[worst] = 0
    other = int(mistaken.argmax())
    share = float(mistaken[other] / whole[worst].sum())
    # the image with the most of that mistake, else with the most that is missed
    missed = {
        id_: int(cell[worst, other] if share else cell[worst].sum() - cell[worst, worst])
        for id_, cell in cells.items()
    }
    image = max(missed, key=lambda id_: missed[id_])
    score = float(right[worst] / union[worst])
    return Failing(model, names[worst], score, int(seen[worst]), names[other] if share else "", share, image)


def _of_answers(
    study: Study, model: str, truth: str, images: Sequence[str], voices: Voices
) -> Failing | None:
    truths = true_classes(study, truth, images, voices)
    known = [image for image in images if image in truths]
    if not known:
        return None
    names = study.classes.names
    said = read_predictions(study, [model], known).labels[0].tolist()
    place = {name: k for k, name in enumerate(names)}
    wrong: dict[int, dict[int, list[str]]] = {}
    number: dict[int, int] = {}
    for image, label in zip(known, said, strict=True):
        true = place[truths[image]]
        if label < 0:
            continue
        number[true] = number.get(true, 0) + 1
        if label != true:
            wrong.setdefault(true, {}).setdefault(label, []).append(image)
    judged = [k for k in number if number[k] >= LEAST]
    if not judged:
        return None
    missed = {k: sum(len(some) for some in wrong.get(k, {}).values()) for k in judged}
    worst = min(judged, key=lambda k: (1 - missed[k] / number[k], -number[k], k))
    if not missed[worst]:
        return None
    other, some = max(wrong[worst].items(), key=lambda item: (len(item[1]), -item[0]))
    score = 1 - missed[worst] / number[worst]
    share = len(some) / number[worst]
    return Failing(model, names[worst], score, number[worst], names[other], share, some[0])
