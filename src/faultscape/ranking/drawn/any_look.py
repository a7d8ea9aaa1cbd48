"""The ranking of drawn images that may be looked at after every label: scores with sequences of intervals,
ranks, and how many labels are expected until two models are told apart.

Conventions: as in ``anytime`` and ``drawn.scores``. The control variate is what predictions let expect before
any label (``expected``, all votes equal): beliefs that learned from later labels would not do. Intervals of
single scores hold for one model at a time, those of differences for all pairs at once (Bonferroni); who is
better is said by evidence (`anytime.better_of_all`). For images to come the variance of the pool's own means,
of whole groups where there are some, is added, as in ``populations``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from faultscape.metrics.intervals.units import LEVEL
from faultscape.ranking import replicates
from faultscape.ranking.agreement import plain
from faultscape.ranking.drawn import anytime, estimates
from faultscape.ranking.drawn.gaps import gaps_within
from faultscape.ranking.drawn.populations import to_come
from faultscape.ranking.drawn.scores import Expected, unusable
from faultscape.ranking.drawn.steps import Steps
from faultscape.ranking.panel import Panel, group_numbers
from faultscape.ranking.replicates import FUTURE, POOL
from faultscape.ranking.simultaneous_ranks import ranks_of, single_rank_sets
from faultscape.standings import ModelRanking
from faultscape.ties import DECIMALS

NAME = "anytime"


@dataclass(frozen=True, eq=False)
class Look:
    """What the labels say at one look, of each model and then of each pair (J + P,): the ``mean``, its
    ``variance``, the bounds of ``interval`` (J + P, 2), and the ``evidence`` (2, P).

    ``worth`` is the number of labels of equal weight behind a variance, ``spread`` the variance of single
    ones, ``more`` what the pool's own luck adds, and ``unlike`` the number of images on which models differ.
    """

    mean: np.ndarray
    variance: np.ndarray
    interval: np.ndarray
    evidence: np.ndarray
    worth: np.ndarray
    spread: np.ndarray
    more: np.ndarray
    unlike: np.ndarray


def any_look(
    counted: Steps,
    panel: Panel,
    expected: Expected | None,
    *,
    future: bool = False,
    widen: float = 1.0,
) -> ModelRanking:
    """Return the ranking at this look, from the draws that count; it says why there is none where it is too
    early to look. ``future`` and ``widen`` as in `rankings.Draws`.
    """
    models = panel.models
    speaks_of = FUTURE if future else POOL
    number = len(counted.columns)
    chance = counted.probability
    size = counted.pool
    losses = 1 - panel.scores[:, counted.columns]
    even = number > 1 and np.allclose(estimates.lure_weights(chance, size), 1)
    names = [panel.images[int(k)] for k in counted.columns]
    left = None if expected is None or number < 2 else expected.behind(counted, names)
    everywhere = [*names, *("" for _ in range(size - number))] if left is None else left.images
    group = group_numbers([name or f"\0{k}" for k, name in enumerate(everywhere)], panel.groups)
    alone = even and not (future and (group is not None or widen > 1))
    if number < 2 or (number < anytime.START and number < size and not alone):
        why = f"these draws need {anytime.START} labels in the order drawn, and there are {number}"
        return replicates.unusable(models, why, speaks_of=speaks_of)
    drawn = np.arange(number) if left is None else left.places(names)
    fixed = (
        estimates.lure(losses, chance, size)
        if left is None
        else estimates.prediction_powered(losses, chance, left.losses, drawn)
    )
    if why := unusable(fixed):
        return replicates.unusable(models, why, speaks_of=speaks_of)
    luck = np.zeros((len(models), len(models)))
    freedom = max(number - 1, 1)
    if future:
        numbers = np.arange(size) if group is None else group
        proxy = None if left is None else left.losses
        later = to_come(fixed, losses, chance, numbers, drawn, proxy=proxy, widen=widen)
        luck = later.covariance - fixed.covariance
        freedom = min(later.freedom, freedom)
    if not np.isfinite(luck).all():
        why = "labels lie in too few groups to speak of data to come"
        return replicates.unusable(models, why, speaks_of=speaks_of)
    said = None if left is None else np.asarray(left.losses)
    found = _look(losses, chance, size, said, drawn, luck, freedom, future=future, bet=alone)
    return _ranking(models, found, size, speaks_of, fixed.effective, bet=alone)


def _look(
    losses: np.ndarray,
    chance: np.ndarray,
    size: int,
    said: np.ndarray | None,
    drawn: np.ndarray,
    luck: np.ndarray,
    freedom: int,
    *,
    future: bool,
    bet: bool,
) -> Look:
    j, number = losses.shape
    first, second = anytime.pairs(j)
    steps = anytime.single_steps(losses, chance, size)
    bare = _with_pairs(steps)
    if said is not None:
        proxy = anytime.single_steps(said[:, drawn], chance, size)
        steps = anytime.controlled(steps, proxy, said.mean(1), anytime.step_weights(number, size))
    values = _with_pairs(losses)
    running, variances, unlikes = anytime.running(_with_pairs(steps), values, chance, size)
    worths = size * np.arange(1, number + 1.0) / np.maximum(size - np.arange(1, number + 1.0), 1e-9)
    last = number - 1 if number < size else number - 2
    spread = variances[:, last] * worths[last]
    own = np.diagonal(luck)
    more = np.maximum(np.concatenate([own, own[first] + own[second] - 2 * luck[first, second]]), 0.0)
    mean = running[:, -1]
    variance = variances[:, -1] + more
    unlike = unlikes[:, -1]
    worth = np.full(len(mean), worths[-1])
    worth = np.divide(spread, variance, out=worth, where=more > 0)
    if future:
        evidence = _evidence_of_images_to_come(
            values[j:], mean[j:], variance[j:], worth[j:], unlike[j:], freedom, bet=bet
        )
    else:
        proxy_losses = None if said is None else said[:, drawn]
        proxy_mean = None if said is None else said.mean(1)
        evidence = anytime.evidence(losses, chance, size, proxy_losses, proxy_mean)[..., -1]
    alpha = (1 - LEVEL) * np.repeat([1.0, 1 / max(len(first), 1)], [j, len(first)])
    least = np.repeat([0.0, -1.0], [j, len(first)])
    if number < anytime.START and number < size:
        kept = alpha * anytime.BETTING
        interval = (
            anytime.bet_bounds(values, values.cumsum(1), np.inf, least, kept)
            if future
            else anytime.bet_bounds(bare, values.cumsum(1), size, least, kept)
        )
    else:
        kept = alpha * (1 - anytime.BETTING if bet else 1.0)
        half = anytime.half_widths(worth, np.full(len(worth), float(freedom)), kept) * np.sqrt(variance)
        interval = mean[:, None] + half[:, None] * np.array([-1, 1])
    if not future:  # what is labelled limits what the pool can hold
        seen = values.sum(1) / size
        open_ = (size - number) / size
        interval = np.clip(interval, (seen + least * open_)[:, None], (seen + open_)[:, None])
    return Look(mean, variance, interval, evidence, worth, spread, more, unlike)


def _with_pairs(values: np.ndarray) -> np.ndarray:
    """Return values of the models (J, M), and then those of the second of each pair minus the first."""
    first, second = anytime.pairs(len(values))
    return np.concatenate([values, values[second] - values[first]])


def _evidence_of_images_to_come(
    apart: np.ndarray,
    mean: np.ndarray,
    variance: np.ndarray,
    worth: np.ndarray,
    unlike: np.ndarray,
    freedom: int,
    *,
    bet: bool,
) -> np.ndarray:
    """Return the evidence (2, P) at this look: independent images, each worth one bet as long as bets count,
    or what is estimated with the luck of the pool.
    """
    out = np.full((2, len(mean)), -np.inf)
    for side, sign in zip(out, (1, -1), strict=True):
        if apart.shape[1] >= anytime.START:
            side[:] = anytime.mixture(sign * mean, variance, worth, np.array(float(freedom)))
            rest = np.full(apart.shape[1], np.inf)  # more images come
            side[:] = np.minimum(side, anytime.most_evidence(apart, unlike[:, None], rest)[:, -1])
        if bet:
            early = sign * apart[:, : anytime.START - 1]
            wealth = anytime.bets(early, np.full(early.shape, -1.0)).max(-1)
            side[:] = np.logaddexp(np.log(anytime.BETTING) + wealth, np.log(1 - anytime.BETTING) + side)
    return out


def _ranking(
    models: tuple[str, ...], found: Look, size: int, speaks_of: str, effective: float, *, bet: bool
) -> ModelRanking:
    j = len(models)
    first, second = anytime.pairs(j)
    scores = np.clip(1 - found.mean[:j], 0.0, 1.0)
    bounds = replicates.held(1 - found.interval[:j, ::-1], scores)
    beats = anytime.better_of_all(found.evidence, j)
    order = sorted(range(j), key=lambda k: -round(float(scores[k]), DECIMALS))
    p_values = anytime.p_values(found.evidence, j)
    single = single_rank_sets(p_values)
    sets = ranks_of(beats, p_values)
    single = np.stack([np.maximum(single[:, 0], sets[:, 0]), np.minimum(single[:, 1], sets[:, 1])], 1)
    between = np.zeros((j, j, 2))
    between[first, second] = found.interval[j:]
    between[second, first] = -found.interval[j:, ::-1]
    row = ModelRanking(
        scores=dict(zip(models, scores.tolist(), strict=True)),
        order=[models[k] for k in order],
        score_interval=dict(zip(models, bounds.tolist(), strict=True)),
        rank_interval=_plain(models, single),
        simultaneous_rank_interval=_plain(models, sets),
        tied_for_best=[models[k] for k in order if single[k, 0] == 1],
        best_set=[models[k] for k in order if sets[k, 0] == 1],
        effective_labels=None if np.isinf(effective) else effective,
        speaks_of=speaks_of,
    )
    share = 1 - anytime.BETTING if bet else 1.0
    best = anytime.log_inverse(j, share)
    other = anytime.log_inverse(j * (j - 1), share)  # as Holm asks of the first of all pairs
    place = {model: k for k, model in enumerate(models)}
    pair = {(a, b): k for k, (a, b) in enumerate(zip(first.tolist(), second.tolist(), strict=True))}
    out = []
    for gap in gaps_within(models, row.order, scores, between, beats):
        a, b = sorted((place[gap.model], place[gap.other]))
        needed = best if gap.model == row.order[0] else other
        labels = None if gap.settled else _expected(found, j + pair[a, b], needed, size)
        out.append(replace(gap, labels=labels))
    return replace(row, gaps=out)


def _plain(models: Sequence[str], places: np.ndarray) -> dict[str, list[float]]:
    return {m: [plain(r) for r in ends] for m, ends in zip(models, places, strict=True)}


def _expected(found: Look, pair: int, needed: float, size: int) -> list[float]:
    """Return how many labels in all are expected until a pair is told apart, and the range if its difference
    is one standard error larger or smaller; NaN where all labels of the pool would not.
    """
    error = float(np.sqrt(found.variance[pair]))
    gap = abs(float(found.mean[pair]))
    distances = np.array([gap, gap + error, gap - error])
    spread = np.full(3, found.spread[pair])
    worth = anytime.worth_to_tell(distances, spread, needed)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = spread / worth - found.more[pair]
        equal = np.where(variance > 0, spread / variance, np.inf)  # labels of an endless pool
        labels = np.where(np.isinf(equal), np.inf, size * equal / (size + equal))
    number = found.worth[pair] * size / (size + found.worth[pair])
    least = number * needed / np.log(2) / max(float(found.unlike[pair]), 1.0)
    labels = np.maximum(labels, least)
    if not found.more[pair]:  # all labels of a pool tell any difference on it
        labels = np.minimum(labels, size)
    return [float(np.ceil(x)) if np.isfinite(x) else float("nan") for x in labels]
