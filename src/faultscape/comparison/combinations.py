"""Several measures of how closely two maps agree, combined into one order of the images: the mean of the
ranks that each measure gives them (Zhang et al. 2021, III-C, leave such combinations for later).

Conventions: measures are joined by ``+``: names of ``metrics.CONCORDANCES``, ``file.py:function`` of your
own, and those made from maps: ``regions``, 1 - ROM - RUM of both, and ``pq``, panoptic quality of their
instances, or of their connected regions. The first one also scores the models, so it cannot be ``regions``,
which only compares. Ranks are among the images of the pool on which two models differ, each ordered pair for
itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Required, TypedDict, TypeVar

import numpy as np

from faultscape import plug
from faultscape.choices import Over
from faultscape.comparison.concordance import concordances
from faultscape.errors import OptionError
from faultscape.maps.regions import overlaps
from faultscape.metrics.catalogue import CONCORDANCES
from faultscape.metrics.instances.panoptic_counts import count_segments, qualities
from faultscape.metrics.instances.segments import Segments
from faultscape.metrics.overlaps import over_under
from faultscape.metrics.overlaps.region_counts import count_regions
from faultscape.nouns import Classes, Definition, Pairs

T = TypeVar("T")
REGIONS, PQ = ON_MAPS = ("regions", "pq")


class Recorded(TypedDict, total=False):
    """What a definition records of its measures (`nouns.Definition`)."""

    concordance: Required[str]
    concordance_file: str
    combined: str
    combined_file: str


def measures(name: str) -> tuple[str, ...]:
    """Return the measures that a name joins, the one that scores the models first.

    >>> measures("miou+regions"), measures("miou")
    (('miou', 'regions'), ('miou',))
    """
    # a folder may have a + in its name
    whole = plug.is_own(name) and Path(name.rpartition(":")[0]).is_file()
    return (name,) if whole else tuple(name.split("+"))


def spelt(define: Definition) -> str:
    """Return what `select --concordance` was given for a definition; '' for one without concordances."""
    return define.get("combined", define.get("concordance", ""))


def as_defined(name: str) -> Recorded:
    """Return what a definition records of `select --concordance`: the concordance that scores the models, the
    combination that chooses, if there is one, and digests of your own files. OptionError for measures that
    are not known or do not fit.
    """
    first, *others = names = measures(name)
    known = {**CONCORDANCES, **dict.fromkeys(ON_MAPS)}
    for one in names:
        alone = {**CONCORDANCES, PQ: None}
        plug.find("concordance", one, alone if names == (one,) != (REGIONS,) else known)
    if first == REGIONS:
        swapped = "+".join((*(others or ["miou"]), REGIONS))
        raise OptionError(
            f"concordance {name!r}: the first measure scores the models, and {REGIONS} only chooses images;"
            f" write {swapped}"
        )
    if twice := next((one for one in names if names.count(one) > 1), ""):
        raise OptionError(f"concordance {name!r} names {twice} twice; name each measure once")
    found: Recorded = {"concordance": first}
    if own := plug.digest(first):
        found["concordance_file"] = own
    if others:
        found["combined"] = name
        if own := "+".join(filter(None, map(plug.digest, others))):
            found["combined_file"] = own
    return found


def of_maps(define: Definition) -> str:
    """Return the measure of a definition that is made from maps, '' if counts tell all of them."""
    return next((name for name in measures(spelt(define)) if name in ON_MAPS), "")


def absolute(name: str) -> str:
    """Return a name whose own files have absolute paths."""
    return "+".join(map(plug.absolute, measures(name)))


def measured(
    pairs: Pairs, names: Sequence[str], *, over: Over = "union", on_maps: Mapping[str, np.ndarray] = {}
) -> np.ndarray:
    """Return (M, J, J, I) the concordances by each measure; ``on_maps`` are those by measures made from maps
    {name: (J, J, I)}. OptionError where counts alone cannot tell.
    """
    if lacking := next((name for name in names if name in ON_MAPS and name not in on_maps), ""):
        raise OptionError(
            f"concordance {lacking}: it needs label maps, and these are counts of pairs; choose with"
            f" `fs.select` on a study, or leave out {'+' * (len(names) > 1)}{lacking}"
        )
    return np.stack(
        [on_maps[name] if name in on_maps else concordances(pairs, name, over=over) for name in names]
    )


def rank_shares(values: np.ndarray) -> np.ndarray:
    """Return (I,) the share of the images that lie below each one, on average over the measures (M, I); an
    equal one counts half, and an image without a value of some measure is NaN and counts for none.

    Sums of whole numbers are divided once, so that equal ranks are equal numbers on every machine.

    >>> rank_shares(np.array([[0.1, 0.2, 0.3, 0.3], [5.0, 1.0, 9.0, np.nan]])).round(3)
    array([0.333, 0.333, 0.833,   nan])
    """
    known = ~np.isnan(values).any(0)
    total = np.zeros(int(known.sum()), np.int64)
    for row in values[:, known]:
        # 12 decimals, as duels of one measure are compared
        _, place, equal = np.unique(np.rint(row * 1e12), return_inverse=True, return_counts=True)
        total += (2 * np.cumsum(equal) - equal)[place]  # twice the middle of those that are equal
    out = np.full(values.shape[1], np.nan)
    out[known] = total / (2 * len(values) * max(len(total), 1))
    return out


def ranked(values: np.ndarray) -> np.ndarray:
    """Return (J, J, I) the concordances by one measure, or the rank shares of several, (M, J, J, I)."""
    if len(values) == 1:
        return values[0]
    out = np.full(values.shape[1:], np.nan)
    for first, second in np.ndindex(out.shape[:2]):
        out[first, second] = rank_shares(values[:, first, second])
    return out


def of_regions(maps: Sequence[np.ndarray | None], classes: Classes) -> np.ndarray:
    """Return (J, J) 1 - ROM - RUM (Zhang et al. 2021, eq. 7 and 10) of the maps of one image, [defender,
    attacker], the defender's map as the truth; NaN where a map is missing.

    The mean is over the classes of either map; a class of one alone is neither torn nor run together.

    >>> from faultscape.classes.class_lists import resolve
    >>> whole, torn = np.array([[1, 1, 1]], np.uint8), np.array([[1, 0, 1]], np.uint8)
    >>> of_regions([whole, torn], resolve(2, background=0)).round(4).tolist()
    [[nan, 0.2384], [0.2384, nan]]
    """
    # without void, torn one way is run together the other way
    whole = [one is not None and int(one.max()) < len(classes) for one in maps]
    return _of_pairs(maps, whole, lambda truth, said: _agreement(truth, said, classes))


def of_segments(segments: Sequence[Segments | None], classes: Classes) -> np.ndarray:
    """Return (J, J) the panoptic quality of the segments of two models, [defender, attacker], the
    defender's as the truth; NaN where there are none.

    The mean is over the classes of either one; two without any segment that counts agree.
    """
    # without void and crowds, missed one way is invented the other way
    plain = [one is not None and int(one.numbers.min()) >= 0 and not one.crowd.any() for one in segments]
    return _of_pairs(segments, plain, lambda truth, said: segment_quality(truth, said, len(classes)))


def _of_pairs(
    given: Sequence[T | None], symmetric: Sequence[bool], agreement: Callable[[T, T], float]
) -> np.ndarray:
    """Return (J, J) agreements; those of two ``symmetric`` ones are the same in both orders."""
    out = np.full((len(given), len(given)), np.nan)
    for first, second in np.ndindex(out.shape):
        truth, said = given[first], given[second]
        if truth is None or said is None or first == second:
            continue
        if first > second and symmetric[first] and symmetric[second]:
            out[first, second] = out[second, first]
        else:
            out[first, second] = agreement(truth, said)
    return out


def segment_quality(truth: Segments, said: Segments, classes: int) -> float:
    """Return the panoptic quality of one image: the mean over the classes of either side, 1 where neither has
    any.
    """
    counts = count_segments(
        truth.numbers, truth.classes, said.numbers, said.classes, classes, crowd=truth.crowd
    )
    quality = qualities(counts)["pq"]
    known = quality[~np.isnan(quality)]
    return float(known.mean()) if len(known) else 1.0


def _agreement(truth: np.ndarray, said: np.ndarray, classes: Classes) -> float:
    counts = count_regions(overlaps(truth, said, len(classes)), len(classes))
    groups = list(classes.groups)
    error = (over_under.rom(counts, absent="zero") + over_under.rum(counts, absent="zero"))[groups]
    there = ~np.isnan(error)
    return 1.0 - float(error[there].mean()) if there.any() else 1.0


def changed(define: Mapping[str, object]) -> bool:
    """Return whether a file of your own that a definition names has changed, or is gone."""
    first, *others = measures(str(define.get("combined", define.get("concordance", ""))))
    now = plug.digest(first), "+".join(filter(None, map(plug.digest, others)))
    return now != (define.get("concordance_file", ""), define.get("combined_file", ""))
