"""Between the stored answers of classifiers and Predictions, and the distances of a study's classes.

Conventions: answers are read for all images of the pool at once, some bytes each. A model's own labels become places of the study's classes; what is no class any
more, or void, is -1.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from faultscape.classes import hierarchy as hierarchies
from faultscape.classes.class_lists import table
from faultscape.classes.imagenet1k import imagenet
from faultscape.comparison import semantic_distances
from faultscape.comparison.distance_files import read_distances
from faultscape.errors import ClassesError, OptionError, StudyError, closest
from faultscape.maps import class_answers
from faultscape.maps.class_answers import MOST
from faultscape.nouns import Classes, Predictions
from faultscape.study.parts import read_manifest, read_part
from faultscape.study.tables import label_maps

KINDS = ("wordnet", "path", "hops", "01")
_ABOVE = KINDS[:3]  # those that look at what stands above classes


def read_predictions(root: Path, settings: Any, models: Sequence[str], images: Any, *, top: bool = True) -> Predictions:
    """Return what these models say of these images (a list or an Arrow array of ids), -1 where one has no answer; without ``top`` their likeliest class alone."""
    import pyarrow as pa

    wanted = images if isinstance(images, pa.Array) else pa.array(list(images), pa.string())
    classes, found = settings.class_list, []
    for name in models:
        folder, model = label_maps.predictions(root, name), settings.models[name]
        if model.kind == "table" and any(
            not part.key.startswith(label_maps.classes_key(settings)) for part in read_manifest(folder).values()
        ):
            raise StudyError(
                f"{name}: the class list changed since its table was read; run `faultscape predict {root} {name}={model.source}` again"
            )
        found.append(_answers(folder, table(classes, model.labels), len(classes), wanted, MOST if top else 1))
    most = max((labels.shape[1] for labels, _ in found), default=1)
    shape = (len(models), len(wanted), most)
    labels, sure = np.full(shape, -1, np.int32), np.full(shape, np.nan, np.float32)
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


def _answers(folder: Path, places: np.ndarray, classes: int, wanted: Any, most: int = MOST) -> tuple[np.ndarray, np.ndarray]:
    """Return (I, K) places and probabilities of one model, or one truth, -1 and NaN where there is none; K at most ``most``."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = [read_part(folder, name, part, ["id", "runs"]) for name, part in sorted(read_manifest(folder).items())]
    whole = pa.concat_tables(parts) if parts else pa.table({"id": pa.array([], pa.string()), "runs": pa.array([], pa.binary())})
    if not len(whole) or not len(wanted):
        return np.full((len(wanted), 1), -1, np.int32), np.full((len(wanted), 1), np.nan, np.float32)
    ids, codes = (pa.concat_arrays(whole[name].chunks) for name in ("id", "runs"))
    labels, sure = class_answers.decode(codes, most)
    known = np.r_[places, np.uint16(classes)][np.where((labels < 0) | (labels > 65535), 65536, labels)].astype(np.int32)
    known[known >= classes] = -1
    if ids.equals(wanted):
        return known, sure
    at = pc.call_function("index_in", [wanted], pc.SetLookupOptions(value_set=ids))
    here = at.is_valid().to_numpy(zero_copy_only=False)
    row = at.drop_null().to_numpy()
    out, how = np.full((len(wanted), labels.shape[1]), -1, np.int32), np.full((len(wanted), labels.shape[1]), np.nan, np.float32)
    out[here], how[here] = known[row], sure[row]
    return out, how


def read_label_sets(root: Path, settings: Any, truth: str, images: Sequence[str]) -> list[frozenset[int] | None]:
    """Return the set of places that a truth names for each image: empty where it is of none of the classes, None where it has no label."""
    import pyarrow as pa

    classes = settings.class_list
    folder, places = label_maps.truth(root, truth), table(classes)
    labels, _ = _answers(folder, places, len(classes), pa.array(list(images), pa.string()))
    known = {
        id_ for name, part in read_manifest(folder).items() for id_ in read_part(folder, name, part, ["id"])["id"].to_pylist()
    }
    return [frozenset(row) - {-1} if id_ in known else None for id_, row in zip(images, labels.tolist(), strict=True)]


def class_hierarchy(classes: Classes, said: str | None = None) -> tuple[Any, np.ndarray] | None:
    """Return the hierarchy that the classes stand in, and their places in it; None where none is known.

    ``said`` is a folder of WordNet, for classes with WordNet ids, or a parent table; without it the part of WordNet above ImageNet's classes serves.
    """
    if said and not Path(said).is_dir():
        held = hierarchies.of_parents(said)
        return held, hierarchies.places(
            held, classes.wnids if classes.wnids and classes.wnids[0] in held.nodes else classes.names
        )
    if not classes.wnids:
        if said:
            raise ClassesError(
                f"{said}: is WordNet, and the classes have no wnid; give each class its own, or a table of parents"
            )
        return None
    held = hierarchies.of_wordnet(said, classes.wnids) if said else imagenet()
    return held, hierarchies.places(held, classes.wnids)


def distances_of(classes: Classes, kind: str | None, hierarchy: str | None = None) -> tuple[str, np.ndarray]:
    """Return the kind of distance and the (C, C) distances: wordnet where all classes have a place in a hierarchy, else 01, or as said (a kind, or a file)."""
    if kind is not None and kind not in KINDS:
        if not Path(kind).is_file():
            missing = (
                f"there is no file {kind}" if Path(kind).name != kind or Path(kind).suffix else f"distance {kind!r} is not known"
            )
            raise OptionError(
                f"{missing}; give {', '.join(KINDS)}, or a file of distances between classes.{closest(kind, KINDS)}"
            )
        return kind, read_distances(kind, classes.names)
    found = None if kind == "01" else class_hierarchy(classes, hierarchy)
    if found is None and kind not in (None, "01"):
        raise OptionError(
            f"the distance {kind!r} needs a hierarchy: classes with WordNet ids, or --hierarchy FILE, a table of parents"
        )
    kind = kind or ("wordnet" if found is not None else "01")
    if found is None:
        return kind, semantic_distances.class_distances("01", None, np.arange(len(classes)))
    return kind, semantic_distances.class_distances(kind, *found)


def define_distances(
    classes: Classes, given: Mapping[str, Any], was: Mapping[str, Any] | None, otherwise: str | None = None
) -> tuple[dict[str, Any], np.ndarray]:
    """Return what a selection's definition says of distances, {distance, hierarchy, distances}, and the (C, C) distances.

    What is not ``given`` is as it ``was``, or at first ``otherwise`` (None: wordnet or 01, as classes allow). Files stand there with their whole path, and a digest of the distances says
    whether they are still the same ones.
    """
    held = {key: given.get(key, (was or {}).get(key)) for key in ("distance", "hierarchy")}
    for key, value in held.items():
        if value and value not in KINDS and Path(value).exists():
            held[key] = str(Path(value).absolute())
    kind, distances = distances_of(classes, held["distance"] or (otherwise if was is None else None), held["hierarchy"])
    if given.get("hierarchy") and kind not in _ABOVE:
        raise OptionError(
            f"--hierarchy says what stands above the classes, and the distance {kind!r} does not look at that; leave it out, or give --distance {', '.join(_ABOVE)}"
        )
    digest = hashlib.sha256(np.round(distances, 9).tobytes()).hexdigest()[:16]
    return {"distance": kind, "hierarchy": held["hierarchy"], "distances": digest}, distances
