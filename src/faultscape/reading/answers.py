"""Convert the stored answers of classifiers to Predictions, and read the distances of a study's classes.

Conventions: answers are read for all images of the pool at once, a few bytes each. A model's own labels
become places of the study's classes; a label that is void or no longer a class is -1.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from faultscape.classes.class_lists import table
from faultscape.errors import StudyError
from faultscape.maps import class_answers
from faultscape.maps.class_answers import MOST
from faultscape.nouns import Predictions
from faultscape.study.parts import Part, read_part
from faultscape.study.tables import label_maps

if TYPE_CHECKING:
    from faultscape.reading.study import Study


def read_predictions(
    study: Study,
    models: Sequence[str],
    images: Sequence[str] | pa.Array,
    *,
    top: bool = True,
) -> Predictions:
    """Return these models' predictions for these images (a list or an Arrow array of ids), -1 for a missing
    answer; without ``top`` only the most likely class.
    """
    wanted: pa.Array = images if isinstance(images, pa.Array) else pa.array(list(images), pa.string())
    classes = study.classes
    found = []
    for name in models:
        folder = label_maps.predictions(study.root, name)
        model = study.settings.models[name]
        parts = study.manifest(folder)
        if label_maps.of_other_classes(study.settings, parts.values()):
            raise StudyError(
                f"{name}: the class list changed since its table was read; run `faultscape predict"
                f" {study.place} {shlex.quote(f'{name}={model.source}')}` again"
            )
        places = table(classes, model.labels)
        found.append(_answers(folder, parts, places, len(classes), wanted, MOST if top else 1))
    most = max((labels.shape[1] for labels, _ in found), default=1)
    shape = (len(models), len(wanted), most)
    labels = np.full(shape, -1, np.int32)
    sure = np.full(shape, np.nan, np.float32)
    for j, (said, how) in enumerate(found):
        labels[j, :, : said.shape[1]], sure[j, :, : how.shape[1]] = said, how
    return Predictions(
        classes,
        tuple(models),
        tuple(wanted.to_pylist()),
        labels[..., 0],
        sure[..., 0],
        (labels, sure) if most > 1 else None,
    )


def _answers(
    folder: Path,
    manifest: Mapping[str, Part],
    places: np.ndarray,
    classes: int,
    wanted: pa.Array,
    most: int = MOST,
) -> tuple[np.ndarray, np.ndarray]:
    """Return (I, K) places and probabilities of one model or truth, -1 and NaN where missing; K is at most
    ``most``.
    """
    import pyarrow.compute as pc

    parts = [read_part(folder, name, part, ["id", "runs"]) for name, part in sorted(manifest.items())]
    whole = (
        pa.concat_tables(parts)
        if parts
        else pa.table({"id": pa.array([], pa.string()), "runs": pa.array([], pa.binary())})
    )
    if not len(whole) or not len(wanted):
        return np.full((len(wanted), 1), -1, np.int32), np.full((len(wanted), 1), np.nan, np.float32)
    ids, codes = (pa.concat_arrays(whole[name].chunks) for name in ("id", "runs"))
    labels, sure = class_answers.decode(codes, most)
    known = np.r_[places, np.uint16(classes)][
        np.where((labels < 0) | (labels > 65535), 65536, labels)
    ].astype(np.int32)
    known[known >= classes] = -1
    if ids.equals(wanted):
        return known, sure
    at = pc.call_function("index_in", [wanted], pc.SetLookupOptions(value_set=ids))
    here = at.is_valid().to_numpy(zero_copy_only=False)
    row = at.drop_null().to_numpy()
    out = np.full((len(wanted), labels.shape[1]), -1, np.int32)
    how = np.full((len(wanted), labels.shape[1]), np.nan, np.float32)
    out[here], how[here] = known[row], sure[row]
    return out, how


def class_rows(study: Study, truth: str, removed: Collection[str]) -> list[tuple[str, ...]]:
    """Return the yes/no answers of a truth that count, without those about ``removed`` images, with the first
    names of renamed classes: what a key of the truth is made of.
    """
    first = study.settings.classes.first_name_of
    rows = study.answers.answers(truth)
    return [
        (image, first.get(class_, class_), *more) for image, class_, *more in rows if image not in removed
    ]


def read_label_sets(study: Study, truth: str, images: Sequence[str]) -> list[frozenset[int] | None]:
    """Return the set of places that a truth names for each image: empty if the image shows none of the
    classes, None if it has no label.
    """
    classes = study.classes
    folder = label_maps.truth(study.root, truth)
    parts = study.manifest(folder)
    wanted = pa.array(list(images), pa.string())
    labels, _ = _answers(folder, parts, table(classes), len(classes), wanted)
    known = {
        id_ for name, part in parts.items() for id_ in read_part(folder, name, part, ["id"])["id"].to_pylist()
    }
    return [
        frozenset(row) - {-1} if id_ in known else None
        for id_, row in zip(images, labels.tolist(), strict=True)
    ]
