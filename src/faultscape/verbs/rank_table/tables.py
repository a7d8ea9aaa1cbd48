"""Read what `rank-table` is given: a table of all models, or a file of each model.

Conventions: columns are texts, as ``formats.tables`` reads them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from faultscape.errors import RankingError, closest_place
from faultscape.formats import tables
from faultscape.formats.nnunet import read_summary

Columns = dict[str, list[str]]


def read_columns(given: Sequence[str]) -> Columns:
    """Return the columns of a table, or those of each model's file below each other, with a column of models.

    RankingError for what is not a table, and for files of models with different columns.
    """
    named = [_parted(word) for word in given]
    if len(named) == 1 and not named[0][0]:
        place = named[0][1]
        if place.lower().endswith(".json"):
            raise RankingError(
                f"{place}: is of one model; name it, and the others: NAME={place} NAME=FILE ..."
            )
        return _read(place)
    if unnamed := next((place for name, place in named if not name), None):
        raise RankingError(f"{unnamed}: several files are of one model each; name it: NAME={unnamed}")
    names = [name for name, _ in named]
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise RankingError(f"two files are of {repeated!r}; give each model one")
    found: Columns = {"model": []}
    for name, place in named:
        own = read_summary(place) if place.lower().endswith(".json") else _read(place)
        if "model" in own:
            raise RankingError(f"{place}: has a column of models already; give it alone, without a name")
        if len(found) > 1 and {*own} != {*found} - {"model"}:
            other = ", ".join(column for column in found if column != "model")
            raise RankingError(f"{place}: has columns {', '.join(own)}, and {named[0][1]} has {other}")
        rows = len(next(iter(own.values()), []))
        found["model"] += [name] * rows
        for column, values in own.items():
            found.setdefault(column, []).extend(values)
    return found


def _parted(word: str) -> tuple[str, str]:
    """Return the name and the file of NAME=FILE; no name where a file has that very name.

    >>> _parted("unet=unet/summary.json"), _parted("scores.csv")
    (('unet', 'unet/summary.json'), ('', 'scores.csv'))
    """
    name, found, place = word.partition("=")
    return ("", word) if not found or Path(word).exists() else (name.strip(), place)


def _read(place: str) -> Columns:
    if not Path(place).is_file():
        what = "is a folder; give a file" if Path(place).is_dir() else f"no such file{closest_place(place)}"
        raise RankingError(f"{place}: {what}")
    names = tables.names_of(place)
    if more := next((name for name in names if names.count(name) > 1), None):
        raise RankingError(f"{place}: has two columns named {more!r}; rename or remove one")
    if said := tables.parted_otherwise(names, tabs=place.lower().endswith(".tsv")):
        raise RankingError(f"{place}: {said}")
    # of pandas' index, which has no name
    kept = [name for name in names if name.strip() and name != "__index_level_0__"]
    held = tables.read(place, kept)
    return {name: [word or "" for word in held.column(name).to_pylist()] for name in kept}
