"""What the labels of drawn images say about all models: unbiased scores if draws have probabilities, and
margins in any case.

Conventions: scores are (J, ...), large = good, losses 1 - score; a pool is the images that could be drawn,
and ``expected`` the losses that predictions let expect on each of them. Margins lie within (J - 1) / J of 0.
Weighted means outside of what the labels leave possible are clipped to it.
Source: Farquhar et al. 2021; Angelopoulos et al. 2023; effective sample size: Kish 1965; margins and their
re-use are ours.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from faultscape.errors import counted as counted_words
from faultscape.metrics.intervals.units import LEAST
from faultscape.ranking.drawn import estimates
from faultscape.ranking.drawn.choice_control import Preferences, influence, with_choices
from faultscape.ranking.drawn.choice_steps import ChoiceSteps
from faultscape.ranking.drawn.estimates import Estimates
from faultscape.ranking.drawn.leader import believed, leading_margins
from faultscape.ranking.drawn.populations import to_come
from faultscape.ranking.drawn.steps import NOTHING_YET, WORTH, Steps
from faultscape.ranking.panel import Panel, group_numbers
from faultscape.ranking.replicates import MANY

MARGINS = "margins"
REUSED = "reuse_margins"
CORPUS = "corpus"
WITH_CHOICES = "with_choices"

NO_CORPUS = (
    f"{CORPUS} is left out: it is of this pool alone; labels of `select --selector random` speak of all data"
    " to come"
)

NO_PART = (
    f"{CORPUS} is left out: it is of all images, also those on which models agree, and not of a part of them"
)

OF_DATA_TO_COME = "intervals speak of data to come, of which this pool is a sample"  # begins a note


@dataclass(frozen=True, eq=False)
class Expected:
    """The ``losses`` (J, N) to expect of each model on each of the ``images`` of the pool, of a group of
    near-duplicates those of the first, and of the image that the pool names (``named``), where another may be
    drawn. Of classifiers also the scores (J, N) that their ``consensus`` lets expect, and the ``noise`` of
    one label (`leader`).
    """

    images: Sequence[str]
    losses: np.ndarray
    named: np.ndarray | None = None
    consensus: np.ndarray | None = None
    noise: float = 0.0

    def only(self, images: Collection[str]) -> Expected:
        """Return those of some images."""
        there = [k for k, image in enumerate(self.images) if image in images]
        return Expected(
            [self.images[k] for k in there],
            np.asarray(self.losses)[:, there],
            consensus=None if self.consensus is None else self.consensus[:, there],
            noise=self.noise,
        )

    def places(self, names: Sequence[str]) -> np.ndarray:
        """Return the places (M,) of images in the pool; -1 for others."""
        place = {image: k for k, image in enumerate(self.images)}
        return np.array([place.get(name, -1) for name in names], np.intp)

    def behind(self, counted: Steps, names: Sequence[str]) -> Expected | None:
        """Return those of the pool that the draws that count came from, with the images drawn (``names``);
        None if it is another one.
        """
        left = self.only({*self.images} - counted.out)
        return left if len(left.images) == counted.pool and (left.places(names) >= 0).all() else None


@dataclass(frozen=True, eq=False)
class Found:
    """The estimates that the draws allow, by name; whether all labels weigh the same; if they do not, the
    losses (J,) of margins without weights; notes to print; and how many groups of labelled images those
    count.
    """

    estimates: dict[str, Estimates] = field(default_factory=dict)
    even: bool = False
    reused: np.ndarray | None = None
    notes: list[str] = field(default_factory=list)
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
    panel: Panel,
    expected: Expected | None,
    rest: tuple[np.ndarray, int] | None,
    *,
    choices: ChoiceSteps | None = None,
    future: bool = False,
    widen: float = 1.0,
) -> Found:
    """Return the estimates that the draws allow, with notes to print; ``rest``, ``future`` and ``widen`` as
    in `rankings.Draws`. ``choices`` are those that count beside these labels.
    """
    notes = list(counted.notes)
    number = len(counted.columns)
    size = counted.pool
    if number < 2:
        notes.append("fewer than two drawn images are decided for every model: no score can be estimated")
        return Found(notes=notes)
    names = [panel.images[int(k)] for k in counted.columns]
    losses = 1 - panel.scores[:, counted.columns]
    chance = counted.probability
    even = np.allclose(estimates.lure_weights(chance, size), 1)
    most = 1 - 1 / len(losses)
    everywhere = [*names, *("" for _ in range(size - number))]
    drawn = np.arange(number)
    reused = beside = None
    controls: dict[str, tuple[np.ndarray, np.ndarray | None, tuple[float, float]]] = {}
    if expected is not None and (left := expected.behind(counted, names)) is not None:
        everywhere = left.images
        drawn = left.places(names)
        own = estimates.margins(losses)
        said = estimates.margins(left.losses)
        controls[MARGINS] = own, said, (-most, most)
        controls["prediction_powered"] = losses, left.losses, estimates.SHARES
        if not even:
            if left.consensus is not None:
                reused = -leading_margins(1 - losses, left.consensus, drawn, left.noise)
            else:
                steps = estimates.uniform_steps(number, size)
                again = estimates.prediction_powered(own, steps, said, drawn, (-most, most))
                reused = estimates.inside(again).loss
        if choices is not None and choices.preferences is not None and number < size:
            beside = left, choices.preferences
    elif expected is not None:
        notes.append(
            "margins and prediction_powered are left out: the pool is no longer the one that was drawn from"
        )
    controls["lure"] = losses, None, estimates.SHARES
    group = group_numbers([name or f"\0{k}" for k, name in enumerate(everywhere)], panel.groups)
    group = np.arange(size) if group is None else group
    found: dict[str, Estimates] = {}
    if beside is not None:
        notes = [note for note in notes if not note.endswith(NOTHING_YET)]
        found[WITH_CHOICES] = _with_choices(losses, counted, *beside, group if future else None, widen)
    for name, (own, said, span) in controls.items():
        found[name] = estimates.inside(
            estimates.lure(own, chance, size)
            if said is None
            else estimates.prediction_powered(own, chance, said, drawn, span)
        )
        if future:
            found[name] = to_come(found[name], own, chance, group, drawn, proxy=said, span=span, widen=widen)
    scores, agreed = (np.zeros((len(losses), 0)), 0) if rest is None else rest
    if future:
        differ = " on which models differ" if agreed else " that could be drawn"
        notes += [_anew(group, drawn), f"scores are of images like the {size:,}{differ}"]
        notes += [NO_CORPUS] if agreed else []
        return Found(found, even, reused, notes, len(np.unique(group[drawn])))
    here = f"scores of this pool are of the {size:,} images on which models differ"
    if not agreed:
        notes.append(f"scores describe the whole pool: all {size:,} images that could be drawn")
    elif not (labels := np.shape(scores)[1]):
        notes.append(
            f"{here}; on {agreed:,} others they do not. Labels of `select --selector random` tell how good"
            f" they are there: then `{CORPUS}` holds the scores on all"
        )
    else:
        there = estimates.lure(
            1 - np.asarray(scores, dtype=float), estimates.uniform_steps(labels, agreed), agreed
        )
        whole = size + agreed
        found[CORPUS] = estimates.combined(
            [found.get("prediction_powered", found["lure"]), there], [size / whole, agreed / whole]
        )
        tell = "label drawn there at random tells", "labels drawn there at random tell"
        notes.append(
            f"{here}; on {agreed:,} others they do not, and {counted_words(labels, *tell)} how good they are:"
            f" {CORPUS} holds the scores on all {whole:,}"
        )
    return Found(found, even, reused, notes)


def _with_choices(
    losses: np.ndarray,
    counted: Steps,
    left: Expected,
    choices: Preferences,
    group: np.ndarray | None,
    widen: float,
) -> Estimates:
    """Return the estimates from losses (J, K) and choices on the pool that is ``left``, for data to come if
    there are groups (N,).
    """
    at = left.places(counted.order)
    number = losses.shape[1]
    drawn = at[:number]
    size = counted.pool
    found = estimates.inside(
        with_choices(losses, counted.chances, size, choices, proxy=left.losses, drawn=drawn)
    )
    if group is None:
        return found
    more = np.zeros((len(losses), size))
    more[:, at] = influence(choices, found.trust, counted.chances, size, len(losses), number)
    return to_come(
        found, losses, counted.probability, group, drawn, proxy=left.losses, widen=widen, more=more
    )


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


def reused_margins(panel: Panel, weights: np.ndarray, expected: Expected) -> np.ndarray | None:
    """Return margins (1 + B, J) from the scores of a panel, treated as drawn uniformly, under ``weights`` (1
    + B, I) of the images; None if fewer than two are decided.

    The control variate corrects the bias of the choice of images as far as the expected losses predict it.
    Its coefficients, and how far classifiers' labels are believed against their consensus, are those of all
    labels.

    >>> panel = Panel.of(["unet", "fcn"], ["a", "b"], [[1, 1], [1, 0]])
    >>> reused_margins(panel, np.ones((1, 2)), Expected("abcd", np.zeros((2, 4))))
    array([[ 0.25, -0.25]])
    """
    at = expected.places(panel.images)
    kept = np.flatnonzero((at >= 0) & ~np.isnan(panel.scores).any(0))
    if len(kept) < 2:
        return None
    own = estimates.margins(1 - panel.scores[:, kept])
    if expected.consensus is None:
        said = estimates.margins(np.asarray(expected.losses))
        even = estimates.uniform_steps(len(kept), len(expected.images))
        said = estimates.prediction_powered(own, even, said, at[kept]).control @ said
    else:
        said = estimates.margins(1 - expected.consensus)
    residual = own - said[:, at[kept]]
    drawn = weights[:, kept].sum(1, keepdims=True)
    mean = np.divide(
        weights[:, kept] @ residual.T,
        drawn,
        out=np.full((len(weights), len(own)), np.nan),
        where=drawn > 0,
    )
    if expected.consensus is not None:
        # replicates differ by as much as labels alone do: the consensus is no evidence
        mean -= (1 - believed(residual, expected.noise)) * residual.mean(1)
    return -(mean + said.mean(1))


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
