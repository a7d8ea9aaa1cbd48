"""Which member of a group of near-duplicates people should be asked to label when the group is drawn: one
that costs nothing more.

Conventions: a claim is a number for each image of a pool: `LABELLED` if a label of it decides for every
model, `ASKED` if another selection asks for it already, or answers decide for some of the models, 0
otherwise. An image that is discarded, or that no label will decide, claims nothing. Names and the order of
selections play no part.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from faultscape.classes.class_lists import table
from faultscape.maps import runs
from faultscape.reading import evidence
from faultscape.reading.study import Study
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import part_name
from faultscape.verbs.select import artefact as selection

if TYPE_CHECKING:
    from faultscape.study.tables.pool import Pool

ASKED = 1
LABELLED = 2


def claims(study: Study, models: Sequence[str], name: str, truth: str | None, pool: Pool) -> np.ndarray:
    """Return the claim (I,) of each image of a ``pool`` to stand for its group of near-duplicates when
    selection ``name`` draws it; 0 for an image that nearly equals no other.

    Labels are those of the ``truth`` that counts; of any, where none counts without being asked for.
    """
    out = np.zeros(len(pool.families), np.int64)
    _, family, size = np.unique(pool.families, return_inverse=True, return_counts=True)
    if not (several := np.flatnonzero(size[family] > 1)).size:
        return out
    place = {id_: k for k, id_ in pool.names(several).items()}
    counting = study.find_truth(truth)
    truths = [counting] if counting else study.truths if truth is None else []
    some = set[str]()
    whole = set[str]()
    lost = set[str]()
    for one in truths:
        labelled, decided = _labelled(study, models, one, place)
        some |= labelled
        whole |= decided
        lost |= evidence.undecidable(study, models, one)
    for image in (some | _asked_for(study, name)) & place.keys() - study.discarded.keys() - lost:
        out[place[image]] = LABELLED if image in whole else ASKED
    return out


def _labelled(
    study: Study, models: Sequence[str], truth: str, among: Collection[str]
) -> tuple[set[str], set[str]]:
    """Return those ``among`` some images that have a label of a truth, and those whose label decides for
    every model.
    """
    if study.classifies:
        images, right = evidence.correctness(study, models, truth)[:2]
        open_ = np.isnan(right).sum(0).tolist()
        return (
            {image for image, lacks in zip(images, open_, strict=True) if lacks < len(models)},
            {image for image, lacks in zip(images, open_, strict=True) if not lacks},
        )
    folder = label_maps.truth(study.root, truth)
    wanted = set(among)
    parts = study.manifest(folder)
    places = table(study.classes)
    found = set[str]()
    for number in sorted(set(study.corpus.shards_of(wanted).values())):
        if (part := parts.get(part_name(number))) is None:
            continue
        for image in sorted(wanted & set(label_maps.read_ids(folder, number, part))):
            code = label_maps.read_map(folder, number, part, image)
            # a label that is void everywhere scores no model
            if code is not None and (places[runs.labels(code)] < len(study.classes)).any():
                found.add(image)
    return found, found


def _asked_for(study: Study, name: str) -> set[str]:
    """Return the images that people are asked to label for other selections than ``name``."""
    study = study.skipping_damaged()
    return {
        image
        for other in study.selections
        if other != name and _asks(study, other)
        for image in study.selection(other).now.images
    }


def _asks(study: Study, name: str) -> bool:
    """Whether anyone is asked to label a selection: not if it was replaced, or no longer follows from the
    study and cannot be extended.
    """
    if selection.is_superseded(study, name):
        return False
    return selection.SELECTION.is_done(study, name) or selection.can_grow(study, name)
