"""The distances between the classes of a study: of a named kind, computed from a hierarchy above the classes,
or from a file.

Conventions: (C, C), symmetric, 0 on the diagonal. ``wordnet`` (Wang et al. 2020, eq. 3), ``path`` and
``hops`` use the hierarchy above the classes; ``01`` is 0 or 1.

Read distances between classes from a file.

Conventions: CSV, UTF-8. A matrix has the class names in its first row and first column, a long table the
columns class, class, distance: the third word of its header is ``distance``. Distances are finite, not
negative, symmetric, and 0 from a class to itself. A file may hold more classes than needed. The triangle
inequality is not required.

``file`` is CSV or JSON. ``names`` are those of the classes.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict, cast

import numpy as np

from faultscape.choices import DistanceKind
from faultscape.classes import hierarchy as hierarchies
from faultscape.comparison import semantic_distances
from faultscape.errors import ClassesError, OptionError, closest
from faultscape.formats.guard import read_bytes
from faultscape.nouns import Classes, Definition

KINDS = semantic_distances.KINDS


_ABOVE = KINDS[:3]  # those that use the hierarchy above the classes
MAX_BYTES = 2**29
_SAME = 1e-9  # the two sides of a matrix written with few digits are equal


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
    held = hierarchies.of_wordnet(said, classes.wnids) if said else hierarchies.imagenet()
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
    held = {key: absolute_distance(value) for key, value in held.items()}
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


def absolute_distance(named: str | os.PathLike[str] | None) -> str | None:
    """Return the name of a kind of distance, or the absolute path of a file that exists."""
    if not named or str(named) in KINDS or not Path(named).exists():
        return None if named is None else str(named)
    return str(Path(named).absolute())


def read_distances(file: str | os.PathLike[str], names: Sequence[str]) -> np.ndarray:
    r"""Return the (C, C) float64 distances of these classes, in this order; ClassesError names the line or
    the pair, and what is wrong.

    >>> import tempfile
    >>> file = tempfile.NamedTemporaryFile("w+", suffix=".csv")
    >>> _ = file.write("class,class,distance\ncat,dog,1\ncat,car,8\ndog,car,9\n")
    >>> file.flush()
    >>> read_distances(file.name, ["car", "cat"])
    array([[0., 8.], [8., 0.]])
    """
    try:
        text = read_bytes(file, ClassesError, limit=MAX_BYTES).decode("utf-8-sig")
        rows = csv.reader(io.StringIO(text, newline=""), strict=True)
        head = [cell.strip() for cell in next(rows, [])]
        read = _long if len(head) == 3 and head[2].lower() == "distance" else _matrix
        found = read(rows, head, list(names), str(file))
    except (csv.Error, UnicodeDecodeError) as error:
        raise ClassesError(f"{file}: cannot be read as a table of distances: {error}") from None
    return _checked(found, names, str(file))


def _long(rows: Any, head: list[str], names: list[str], where: str) -> np.ndarray:
    """Return distances from lines of two classes and a number; a pair may be given in either order, or in
    both.
    """
    place = {name: at for at, name in enumerate(names)}
    out = np.full((len(names), len(names)), np.nan)
    seen = set()
    for row in rows:
        if not row:
            continue
        if len(row) != len(head):
            raise ClassesError(
                f"{where}, line {rows.line_num}: has {len(row)} cells; expected class, class, distance"
            )
        first = row[0].strip()
        second = row[1].strip()
        seen |= {first, second}
        if first in place and second in place:
            a = place[first]
            b = place[second]
            value = _number(row[2], f"{where}, line {rows.line_num}")
            if not np.isnan(out[a, b]) and out[a, b] != value:
                raise ClassesError(
                    f"{where}, line {rows.line_num}: {first!r} to {second!r} is {value:g}, before it was"
                    f" {out[a, b]:g}"
                )
            out[a, b] = value
    _need(names, seen, where)
    out = np.where(np.isnan(out), out.T, out)
    out[np.diag_indices_from(out)] = np.nan_to_num(out.diagonal())
    return out


def _matrix(rows: Any, head: list[str], names: list[str], where: str) -> np.ndarray:
    columns = {name: column for column, name in enumerate(head) if column}
    if len(columns) < len(head) - 1:
        raise ClassesError(f"{where}: two columns are named {Counter(head[1:]).most_common(1)[0][0]!r}")
    _need(names, set(columns), where)
    place = {name: at for at, name in enumerate(names)}
    wanted = [columns[name] for name in names]
    out = np.full((len(names), len(names)), np.nan)
    seen = set()
    for row in rows:
        name = row[0].strip() if row else ""
        if not row or (name not in place and name in columns):
            continue
        line = f"{where}, line {rows.line_num}"
        if name not in place:
            raise ClassesError(
                f"{line}: the row {name!r} has no column of that name.{closest(name, list(columns))}"
            )
        if name in seen or len(row) != len(head):
            odd = f"has {len(row)} cells, the first row {len(head)}"
            raise ClassesError(f"{line}: {f'a second row {name!r}' if name in seen else odd}")
        seen.add(name)
        out[place[name]] = [_number(row[column], line) for column in wanted]
    _need(names, seen, where)
    return out


def _number(text: str, line: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value) or value < 0:
        raise ClassesError(f"{line}: {text[:40]!r} is not a distance; expected a number, 0 or more")
    return value


def _need(names: list[str], there: set[str], where: str) -> None:
    if missing := [name for name in names if name not in there]:
        raise ClassesError(
            f"{where}: has no class {missing[0]!r}.{closest(missing[0], sorted(there))} A file of distances"
            " names every class of the study: in its first row and its first column, or in lines of class,"
            " class, distance"
        )


def _checked(found: np.ndarray, names: Sequence[str], where: str) -> np.ndarray:
    """Return the distances with both sides made equal; ClassesError for the first pair that breaks a rule."""

    def pair(wrong: np.ndarray) -> tuple[int, int]:
        first, second = np.argwhere(wrong)[0]
        return int(first), int(second)

    if (gaps := np.isnan(found)).any():
        a, b = pair(gaps)
        raise ClassesError(f"{where}: has no distance of {names[a]!r} to {names[b]!r}")
    if (own := np.diag(found.diagonal() != 0)).any():
        a, _ = pair(own)
        raise ClassesError(f"{where}: the distance of {names[a]!r} to itself is {found[a, a]:g}; expected 0")
    if (skew := ~np.isclose(found, found.T, rtol=_SAME, atol=_SAME)).any():
        a, b = pair(skew)
        raise ClassesError(
            f"{where}: {names[a]!r} to {names[b]!r} is {found[a, b]:g}, back it is {found[b, a]:g}; distances"
            " must be the same both ways"
        )
    return np.maximum(found, found.T)
