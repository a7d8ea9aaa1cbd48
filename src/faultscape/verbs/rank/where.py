"""Images that `rank --where` selects: those of a tag, group, set or condition, or of several combined.

Conventions: a condition is ``KEY=VALUE``. Groups, sets and conditions are known for every image. A tag
belongs to the image or a region of it, regardless of who gave it. Tags of one model's prediction are left
out: ranking on images that were tagged for a model's failure would only confirm that failure.
"""

from __future__ import annotations

from collections.abc import Sequence

from faultscape.errors import OptionError, closest
from faultscape.ranking.drawn.domains import Domain
from faultscape.reading.study import Study
from faultscape.study.tables.corpus import duplicates_column

KEYS = ("tag", "group", "set", "condition")
_SHOWN = 6


def domain_of(study: Study, where: Sequence[str]) -> Domain | None:
    """Return the images that meet all conditions ``where``; None without conditions. OptionError for a
    malformed condition, one that names something the study lacks, and if no image is left.
    """
    asked = conditions(where)
    if not asked:
        return None
    names = study.corpus.names
    ids = None
    held = set[str]()
    for key, value in asked:
        if key == "tag":
            held = _tagged(study, value)
        else:
            known = key in names and (key != "group" or duplicates_column(names) != "group")
            table = study.corpus.columns("id", key).to_pydict() if known else {"id": [], key: []}
            held = {id_ for id_, word in zip(table["id"], table[key], strict=True) if word == value}
            if not held:
                raise OptionError(f"--where {key}={value}: {_none(key, value, sorted({*table[key]} - {''}))}")
        ids = held if ids is None else ids & held
    words = " and ".join(f"{key}={value}" for key, value in asked)
    if not ids:
        raise OptionError(
            f"--where {words}: no image of the study meets all of these conditions; leave one out"
        )
    return Domain(words, frozenset(ids), all(key != "tag" for key, _ in asked))


def conditions(where: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return (key, value) of each distinct condition, in the order of KEYS; OptionError for one that is not
    KEY=VALUE.

    >>> conditions(["set=main", "tag=night", "set=main"])
    (('tag', 'night'), ('set', 'main'))
    """
    found = dict[tuple[str, str], None]()
    for text in where:
        key, equals, value = text.partition("=")
        key = key.strip()
        value = value.strip()
        if not equals or not key or not value:
            raise OptionError(
                f"--where {text}: is not a condition; give KEY=VALUE, for example tag=night, with KEY "
                f"one of {', '.join(KEYS)}"
            )
        if key not in KEYS:
            raise OptionError(
                f"--where {text}: {key!r} is not known; use {', '.join(KEYS)}.{closest(key, KEYS)}"
            )
        found[key, value] = None
    return tuple(sorted(found, key=lambda one: (KEYS.index(one[0]), one[1])))


def _tagged(study: Study, tag: str) -> set[str]:
    """Return the images with a tag; OptionError if there are none."""
    tags = study.tags
    if found := {one.image for one in tags if one.tag == tag and not one.model}:
        return found
    if any(one.tag == tag for one in tags):
        raise OptionError(
            f"--where tag={tag}: this tag describes predictions of single models, not images; the report "
            "counts it by model"
        )
    raise OptionError(
        f"--where tag={tag}: {_none('tag', tag, sorted({one.tag for one in tags if not one.model}))}"
    )


def _none(key: str, value: str, known: Sequence[str]) -> str:
    """Return the error message for a value that no image of the study has.

    >>> _none("tag", "nihgt", ["night", "rain"])
    "no image has the tag 'nihgt'; available: night, rain. Did you mean 'night'?"
    """
    if not known:
        return f"no image of the study has a {key}"
    more = f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
    near = closest(value, list(known))
    return (
        f"no image has the {key} {value!r}; available:"
        f" {', '.join(known[:_SHOWN])}{more}{'.' if near else ''}{near}"
    )
