"""What is unusual about the labels of a truth: much void, and classes that models predict and no label has.

Conventions: shares are of pixels; those of void and of models are taken from at most ``_MOST`` labelled
images, spread over the study, because decoding all would take long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from faultscape.classes.class_lists import table
from faultscape.errors import FaultscapeError
from faultscape.maps import runs
from faultscape.nouns import UNKNOWN
from faultscape.reading.study import Study
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import part_name

# CamVid leaves 4 % void, VOC 6, Cityscapes 12, BDD100K 13; more is left where images are labelled in part
_MUCH_VOID = 0.3


# below it, predictions of a class that does not occur are the mistakes that every model makes
_MUCH_PREDICTED = 0.01


_MOST = 64


_NAMED = 6


def unusual(study: Study, truth: str) -> tuple[str, ...]:
    """Return a sentence each about void pixels and about classes that are missing in a truth, if that is
    unusual.
    """
    classes = study.classes
    folder = label_maps.truth(study.root, truth)
    n = len(classes)
    places = table(classes)
    parts = study.manifest(folder)
    missing = {*range(n)}
    labelled = list[tuple[int, str]]()
    for name, part in sorted(parts.items()):
        shard = int(name)
        if missing:
            maps = label_maps.read_maps(folder, shard, part)
            missing -= {place for code in maps.values() for place in places[runs.labels(code)].tolist()}
        labelled += [(shard, id_) for id_ in sorted(label_maps.read_ids(folder, shard, part))]
    shown = labelled[:: -(-len(labelled) // _MOST)] if labelled else []
    counts = np.zeros(n + 1)
    for shard, id_ in shown:
        code = label_maps.read_map(folder, shard, parts[part_name(shard)], id_)
        counts += 0 if code is None else _counts(code, places, n)
    said = []
    if counts.sum() and (share := counts[n] / counts.sum()) > _MUCH_VOID:
        said.append(f"note: {share:.0%} of the pixels of truth {truth} are void".replace("%", " %"))
    if missing and len(missing) < n:
        said += _predicted(study, truth, shown, sorted(missing))
    return tuple(said)


def _predicted(
    study: Study, truth: str, images: Sequence[tuple[int, str]], missing: Sequence[int]
) -> list[str]:
    """Return a sentence about the ``missing`` classes that models predict on these images."""
    shares = {model: _shares(study, model, images) for model in study.models}
    known = {model: share for model, share in shares.items() if share is not None}
    line = only_predicted(f"truth {truth}", study.classes.names, missing, known)
    return [f"note: {line}"] if line else []


def only_predicted(
    truth: str, names: Sequence[str], missing: Sequence[int], shares: Mapping[str, np.ndarray]
) -> str:
    """Return a sentence about the classes that are ``missing`` in a truth although models predict them often,
    or ''; ``shares`` is {model: share of the pixels (C + 1,) that it gives each class}.
    """
    if not shares:
        return ""
    mean = np.mean([*shares.values()], axis=0)
    found = [place for place in missing if mean[place] >= _MUCH_PREDICTED]
    if not found:
        return ""
    named = ", ".join(names[place] for place in found[:_NAMED])
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    on = {model: share[found].sum() for model, share in shares.items()}
    each = ", ".join(f"{model} on {100 * part:.0f} %" for model, part in on.items() if part >= 0.005)
    them = "it" if len(found) == 1 else "them"
    return f"{truth} never has {named}{more}, but models predict {them} ({each} of the pixels)"


def _shares(study: Study, model: str, images: Sequence[tuple[int, str]]) -> np.ndarray | None:
    """Return (C + 1,), the share of pixels that a model gives each class on these images; None if it has no
    map of them that can be read.
    """
    classes = study.classes
    folder = label_maps.predictions(study.root, model)
    counts = np.zeros(len(classes) + 1)
    try:
        parts = study.manifest(folder)
        places = table(classes, study.settings.models[model].labels)
        for shard, id_ in images:
            part = parts.get(part_name(shard))
            code = label_maps.read_map(folder, shard, part, id_) if part is not None else None
            if code is not None:
                counts += _counts(code, places, len(classes))
    except FaultscapeError:
        return None  # whoever compares its maps says so
    return counts / counts.sum() if counts.sum() else None


def _counts(code: bytes, places: np.ndarray, n: int) -> np.ndarray:
    """Return (C + 1,), how many pixels of a map have each place; other values are left out."""
    found = np.bincount(places[runs.decode(code)].ravel(), minlength=UNKNOWN + 1)
    return found[: n + 1]
