"""The distances between the classes of a study: of a named kind, computed from a hierarchy above the classes,
or from a file.

Conventions: (C, C), symmetric, 0 on the diagonal. ``wordnet`` (Wang et al. 2020, eq. 3), ``path`` and
``hops`` use the hierarchy above the classes; ``01`` is 0 or 1.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict, cast

import numpy as np

from faultscape.choices import DistanceKind
from faultscape.classes import hierarchy as hierarchies
from faultscape.classes.imagenet1k import imagenet
from faultscape.comparison import semantic_distances
from faultscape.comparison.distance_files import read_distances
from faultscape.errors import ClassesError, OptionError, closest
from faultscape.nouns import Classes, Definition

KINDS = semantic_distances.KINDS


_ABOVE = KINDS[:3]  # those that use the hierarchy above the classes


def class_hierarchy(
    classes: Classes, said: str | None = None
) -> tuple[hierarchies.Hierarchy, np.ndarray] | None:
    """Return the hierarchy of the classes, and their places in it; None if none is known.

    ``said`` is a folder of WordNet, for classes with WordNet ids, or a parent table; by default the part of
    WordNet above ImageNet's classes is used.
    """
    if said and not Path(said).is_dir():
        held = hierarchies.of_parents(said)
        return held, hierarchies.places(
            held, classes.wnids if classes.wnids and classes.wnids[0] in held.nodes else classes.names
        )
    if not classes.wnids:
        if said:
            raise ClassesError(
                f"{said}: needs WordNet, but the classes have no wnid; give each class its own, or a table"
                " of parents"
            )
        return None
    held = hierarchies.of_wordnet(said, classes.wnids) if said else imagenet()
    return held, hierarchies.places(held, classes.wnids)


def distances_of(classes: Classes, kind: str | None, hierarchy: str | None = None) -> tuple[str, np.ndarray]:
    """Return the kind of distance and the (C, C) distances: the given kind or file, by default wordnet if all
    classes have a place in a hierarchy, else 01.
    """
    if kind is not None and kind not in KINDS:
        if not Path(kind).is_file():
            missing = (
                f"there is no file {kind}"
                if Path(kind).name != kind or Path(kind).suffix
                else f"distance {kind!r} is not known"
            )
            raise OptionError(
                f"{missing}; give {', '.join(KINDS)}, or a file of distances between"
                f" classes.{closest(kind, KINDS)}"
            )
        return kind, read_distances(kind, classes.names)
    found = None if kind == "01" else class_hierarchy(classes, hierarchy)
    if found is None and kind not in (None, "01"):
        raise OptionError(
            f"the distance {kind!r} needs a hierarchy: classes with WordNet ids, or --hierarchy FILE, a table"
            " of parents"
        )
    kind = kind or ("wordnet" if found is not None else "01")
    if found is None:
        return kind, semantic_distances.class_distances("01", None, np.arange(len(classes)))
    return kind, semantic_distances.class_distances(cast("DistanceKind", kind), *found)


class DistanceDefinition(TypedDict):
    """What a selection's definition records about distances between classes; ``distances`` is their
    digest.
    """

    distance: str
    hierarchy: str | None
    distances: str


def define_distances(
    classes: Classes, given: Mapping[str, object], was: Definition | None, otherwise: str | None = None
) -> tuple[DistanceDefinition, np.ndarray]:
    """Return what a selection's definition records about distances, {distance, hierarchy, distances}, and the
    (C, C) distances.

    What is not ``given`` stays as it ``was``, or is ``otherwise`` at first (None: wordnet or 01, as the
    classes allow). Files are recorded with their absolute path, and a digest of the distances detects whether
    they changed.
    """
    held = {
        key: cast("str | None", given.get(key, (was or {}).get(key))) for key in ("distance", "hierarchy")
    }
    for key, value in held.items():
        if value and value not in KINDS and Path(value).exists():
            held[key] = str(Path(value).absolute())
    kind, distances = distances_of(
        classes, held["distance"] or (otherwise if was is None else None), held["hierarchy"]
    )
    if given.get("hierarchy") and kind not in _ABOVE:
        raise OptionError(
            f"--hierarchy does not apply to the distance {kind!r}; leave it out, or use --distance"
            f" {', '.join(_ABOVE)}"
        )
    digest = hashlib.sha256(np.round(distances, 9).tobytes()).hexdigest()[:16]
    return {"distance": kind, "hierarchy": held["hierarchy"], "distances": digest}, distances
