"""What the labels of drawn images say about all models: unbiased scores if draws have probabilities, and
margins in any case.

Conventions: scores are (J, ...), large = good, losses 1 - score; a pool is the images that could be drawn,
and ``proxy`` (J, N) the expected loss of each model on each of them. Margins lie within (J - 1) / J of 0.
Weighted means outside of what the labels leave possible are clipped to it.
Source: Farquhar et al. 2021; Angelopoulos et al. 2023; effective sample size: Kish 1965; margins and their
re-use are ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from faultscape.errors import counted as counted_words
from faultscape.metrics.intervals.units import LEAST
from faultscape.ranking.drawn import estimates
from faultscape.ranking.drawn.estimates import Estimates
from faultscape.ranking.drawn.populations import to_come
from faultscape.ranking.drawn.steps import Steps
from faultscape.ranking.panel import group_numbers
from faultscape.ranking.replicates import MANY

MARGINS, REUSED, CORPUS = "margins", "reuse_margins", "corpus"
WORTH = 10  # how many equally weighted labels the drawn ones must be worth for an estimate to be used

NO_CORPUS = (
    f"{CORPUS} is left out: it is of this pool alone; labels of `select --selector random` speak of all data"
    " to come"
)

NO_PART = (
    f"{CORPUS} is left out: it is of all images, also those on which models agree, and not of a part of them"
)

OF_DATA_TO_COME = "intervals speak of data to come, of which this pool is a sample"  # begins a note


@dataclass(frozen=True, eq=False)
class Found:
    """The estimates that the draws allow, by name; whether all labels weigh the same; if they do not, the
    losses (J,) of margins without weights; notes to print; and how many groups of labelled images those
    count.
    """

    estimates: dict[str, Estimates]
    even: bool
    reused: np.ndarray | None
    notes: list[str]
    groups: int = 0


def unusable(found: Estimates) -> str:
    """Return why an estimate cannot be used, '' if it can: its weights make the labels worth fewer than ten
    equally weighted ones, and they are not all labels of the pool.

    >>> unusable(estimates.lure(np.zeros((1, 3)), np.array([1 / 4, 1 / 30, 1 / 20]), 90))
    'effective sample size 2.3, below 10'
    """
    return (
        ""
        if found.unit == 0 or found.effective >= WORTH
        else f"effective sample size {found.effective:.1f}, below {WORTH}"
    )


def unbiased(
    counted: Steps,
    images: Sequence[str],
    accuracy: np.ndarray,
    proxy: np.ndarray | None,
    pool: Sequence[str] | None,
    rest: tuple[np.ndarray, int] | None,
    *,
    future: bool = False,
    groups: Mapping[str, str] | None = None,
    widen: float = 1.0,
) -> Found:
    """Return the estimates that the draws allow, with notes to print; ``rest``, ``future``, ``groups`` and
    ``widen`` as in ``draw_rankings``.
    """
    notes, number, size = list(counted.notes), len(counted.columns), counted.pool
    if number < 2:
        return Found(
            {},
            False,
            None,
            [*notes, "fewer than two drawn images are decided for every model: no score can be estimated"],
        )
    losses, chance = 1 - accuracy[:, counted.columns], counted.probability
    even = np.allclose(estimates.lure_weights(counted.probability, size), 1)
    found: dict[str, Estimates] = {}
    names, drawn, reused = [images[int(k)] for k in counted.columns], np.arange(number), None
    everywhere = [*names, *("" for _ in range(size - number))]
    controls: dict[str, tuple[np.ndarray, np.ndarray | None, tuple[float, float]]] = {
        "lure": (losses, None, (0.0, 1.0))
    }
    if proxy is not None and pool is not None:
        stay = np.array([image not in counted.out for image in pool], bool)
        left = [image for image in pool if image not in counted.out]
        place = {image: k for k, image in enumerate(left)}
        if stay.sum() == size and all(name in place for name in names):
            drawn, expected, everywhere = (
                np.array([place[name] for name in names], np.intp),
                np.asarray(proxy)[:, stay],
                left,
            )
            own, said, most = estimates.margins(losses), estimates.margins(expected), 1 - 1 / len(losses)
            found[MARGINS] = estimates.prediction_powered(
                own, counted.probability, said, drawn, (-most, most)
            )
            if not even:
                steps = estimates.uniform_steps(number, size)
                reused = estimates.inside(
                    estimates.prediction_powered(own, steps, said, drawn, (-most, most))
                ).loss
            found["prediction_powered"] = estimates.prediction_powered(
                losses, counted.probability, expected, drawn
            )
            controls |= {
                MARGINS: (own, said, (-most, most)),
                "prediction_powered": (losses, expected, (0.0, 1.0)),
            }
        else:
            notes.append(
                "margins and prediction_powered are left out: the pool is no longer the one that was drawn"
                " from"
            )
    found["lure"] = estimates.lure(losses, counted.probability, size)
    found = {name: estimates.inside(one) for name, one in found.items()}
    if future:
        group = group_numbers([name or f"\0{k}" for k, name in enumerate(everywhere)], groups)
        group = np.arange(size) if group is None else group
        for name, (own, said, span) in controls.items():
            found[name] = to_come(found[name], own, chance, group, drawn, proxy=said, span=span, widen=widen)
        differ = " on which models differ" if rest is not None and rest[1] else " that could be drawn"
        notes = [*notes, _anew(group, drawn), f"scores are of images like the {size:,}{differ}"]
        notes = notes if rest is None or not rest[1] else [*notes, NO_CORPUS]
        return Found(found, even, reused, notes, len(np.unique(group[drawn])))
    if rest is None or not rest[1]:
        return Found(
            found,
            even,
            reused,
            [*notes, f"scores describe the whole pool: all {size:,} images that could be drawn"],
        )
    scores, agreed = rest
    whole = size + agreed
    here = f"scores of this pool are of the {size:,} images on which models differ"
    if not (labels := np.shape(scores)[1]):
        more = (
            f"{here}; on {agreed:,} others they do not. Labels of `select --selector random` tell how good"
            f" they are there: then `{CORPUS}` holds the scores on all"
        )
        return Found(found, even, reused, [*notes, more])
    there = estimates.lure(
        1 - np.asarray(scores, dtype=float), estimates.uniform_steps(labels, agreed), agreed
    )
    found[CORPUS] = estimates.combined(
        [found.get("prediction_powered", found["lure"]), there], [size / whole, agreed / whole]
    )
    drawn_there = counted_words(
        labels, "label drawn there at random tells", "labels drawn there at random tell"
    )
    more = (
        f"{here}; on {agreed:,} others they do not, and {drawn_there} how good they are: {CORPUS} holds the"
        f" scores on all {whole:,}"
    )
    return Found(found, even, reused, [*notes, more])


def _anew(group: np.ndarray, drawn: np.ndarray) -> str:
    """Return what is redrawn when intervals are about data to come: images, or whole groups of them."""
    told = OF_DATA_TO_COME
    if len(np.unique(group)) == len(group):
        return f"{told}: images are redrawn, each for itself"
    labelled = len(np.unique(group[drawn]))
    few = (
        f": fewer than {MANY}, and Student's t with {labelled - 1} degrees of freedom"
        if labelled < MANY
        else ""
    )
    few = f": fewer than {LEAST}, which carry no interval" if labelled < LEAST else few
    return (
        f"{told}: whole groups are redrawn, and labels lie in {labelled} of {len(np.unique(group)):,}"
        f" groups{few}"
    )


def reused_margins(
    accuracy: np.ndarray, images: Sequence[str], weights: np.ndarray, proxy: Any, pool: Sequence[str]
) -> dict[str, np.ndarray]:
    """Return {reuse_margins: (1 + B, J)} from scores (J, I) treated as drawn uniformly, under ``weights`` (1
    + B, I) of the images; empty if fewer than two are decided.

    The control variate corrects the bias of the choice of images as far as the proxy predicts it. Its
    coefficient is that of all labels.

    >>> weights = np.ones((1, 2))
    >>> reused_margins(
    ...     np.array([[1.0, 1.0], [1.0, 0.0]]), ["a", "b"], weights, np.zeros((2, 4)), list("abcd")
    ... )
    {'reuse_margins': array([[ 0.25, -0.25]])}
    """
    place = {image: k for k, image in enumerate(pool)}
    at = np.array([place.get(image, -1) for image in images], np.intp)
    kept = np.flatnonzero((at >= 0) & ~np.isnan(accuracy).any(0))
    if len(kept) < 2:
        return {}
    own, said = estimates.margins(1 - accuracy[:, kept]), estimates.margins(np.asarray(proxy))
    even = estimates.uniform_steps(len(kept), len(pool))
    c = estimates.prediction_powered(own, even, said, at[kept]).coefficient
    drawn = weights[:, kept].sum(1, keepdims=True)
    mean = np.divide(
        weights[:, kept] @ (own - c * said[:, at[kept]]).T,
        drawn,
        out=np.full((len(weights), len(own)), np.nan),
        where=drawn > 0,
    )
    return {REUSED: -(mean + c * said.mean(1))}


def as_drawn(found: Estimates, resamples: int, rng: np.random.Generator) -> np.ndarray:
    """Return (B, J) simulated losses, normal around the estimate (Student's t is added when ranks are
    tested); NaN if their variance is unknown.

    >>> as_drawn(
    ...     Estimates(np.array([0.5]), np.array([[0.01]]), 60), 2000, np.random.default_rng(0)
    ... ).std().round(2)
    np.float64(0.1)
    """
    if not np.isfinite(found.covariance).all():
        return np.full((resamples, len(found.loss)), np.nan)
    values, vectors = np.linalg.eigh(found.covariance + found.unseen)
    root = (
        vectors * np.sqrt(np.maximum(values, 0))
    ) @ vectors.T  # the symmetric root, which does not depend on the signs of the vectors
    return found.loss + rng.standard_normal((resamples, len(found.loss))) @ root
