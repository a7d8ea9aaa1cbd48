"""Who wins, from images that were drawn for all models at once: two rankings of re-used labels, margins, and
unbiased scores where draws have probabilities.

Conventions: ``accuracy`` (J, I) is each model's concordance with the truth, or 1 and 0 for classifiers, NaN
where unknown. ``lure`` weights each label by the inverse of its probability of being drawn,
``prediction_powered`` adds what the models' predictions say about unlabelled images. Both are scores on the
pool that was drawn from; ``corpus`` adds the images on which no two models differ, from labels drawn there.
``margins`` is how far a model is above the mean of all, with the same control variate. ``reuse_margins`` uses
the labels for it without weights, while its intervals and ranks come from the weighted estimate. If
``speaks_of`` is "pool", intervals hold for the pool. If it is "chosen", they describe the chosen images
alone, by redrawing them: for selectors that do not draw at random, re-use of labels (the bootstrap ignores
that the pool is finite), draws of which some were skipped, and everything made of rounds that learnt from
labels. In simulations such intervals cover too seldom (docs/benchmarks/coverage.md). Which draws count:
``drawn_steps``.
Source: Farquhar et al. 2021; Angelopoulos et al. 2023 (prediction-powered inference).
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from faultscape.choices import Population
from faultscape.errors import OptionError, RankingError
from faultscape.errors import counted as counted_words
from faultscape.metrics.intervals.units import LEAST, LEVEL
from faultscape.nouns import Draw, JsonObject
from faultscape.ranking import replicates as replicated
from faultscape.ranking.agreement import compare_benchmark, plain
from faultscape.ranking.catalogue import SELECTION, Ranking, entry, words_of
from faultscape.ranking.drawn import estimate_intervals, estimates
from faultscape.ranking.drawn import scores as drawn_estimates
from faultscape.ranking.drawn.domains import Domain, domain_scores
from faultscape.ranking.drawn.estimates import Estimates, lure_weights
from faultscape.ranking.drawn.gaps import gaps
from faultscape.ranking.drawn.populations import group_numbers
from faultscape.ranking.drawn.scores import MARGINS, REUSED, unusable
from faultscape.ranking.drawn.stand_ins import Shifts, score_shifts, shift_note
from faultscape.ranking.drawn.steps import Steps, steps
from faultscape.ranking.intervals import ranks
from faultscape.ranking.replicates import CHOSEN, FUTURE, POOL
from faultscape.ranking.simultaneous_ranks import better, replicate_p_values
from faultscape.standings import ModelRanking, Standings, labelled_note
from faultscape.ties import DECIMALS

SKIPPED_DRAWS = "drawn images were skipped"  # why intervals are descriptive


def draw_rankings(
    models: Sequence[str],
    rows: Sequence[Draw],
    accuracy: ArrayLike,
    images: Sequence[str],
    *,
    proxy: np.ndarray | None = None,
    proxy_named: np.ndarray | None = None,
    pool: Sequence[str] | None = None,
    rest: tuple[np.ndarray, int] | None = None,
    lost: Collection[str] = (),
    elsewhere: Collection[str] = (),
    learns: bool,
    partly: Collection[str] = (),
    resamples: int = 1000,
    seed: int = 0,
    all_labels: bool = False,
    benchmark: Mapping[str, float] | None = None,
    discarded: int = 0,
    definitions: JsonObject | None = None,
    population: Population = "pool",
    groups: Mapping[str, str] | None = None,
    widen: float = 1.0,
    keys: Sequence[str] | None = None,
    extra: Sequence[Ranking] = (),
    where: Domain | None = None,
) -> Standings:
    """Return the standings from (J, I) scores of the models on the labelled ``images``.

    ``rows`` are the draws in order. ``proxy`` (J, N) is the expected loss of each model on each image of the
    ``pool``, for the control variate; of a group of near-duplicates it is that of the first image, and
    ``proxy_named`` (J, N) that of the image that the pool names, where another may be drawn. ``rest`` are
    scores (J, n) on images drawn uniformly from those on which no two models differ, and the number of such
    images. ``partly`` are those of the ``images`` that labels decide in part. ``lost``, ``elsewhere`` and
    ``learns``: see ``drawn_steps``. ``keys`` (I,) identify images independently of their names (ids by
    default): the bootstrap draws images in the order of the keys. ``extra`` are rankings of your own
    (`find_ranking`). ``population`` says what intervals are about: this "pool", or data to come ("future"),
    which redraw images, or whole ``groups`` {image: group}; without groups, neighboring images that are alike
    ``widen`` such intervals by a factor (`too_narrow`). Groups are also redrawn whole where nothing was drawn
    at random. Standings of the pool also hold the rankings of data to come (``to_come``). ``where`` is the
    part of the pool that is ranked, all of it by default. Errors: RankingError for shapes that do not fit, or
    no labelled draw; OptionError for negative resamples, and for a population that the draws do not support.

    >>> rows = [Draw("random", 1, k, image, 1.0, 1 / (5 - k), 4) for k, image in enumerate("abc", 1)]
    >>> table = draw_rankings(
    ...     ["unet", "fcn"], rows, [[1, 1, 0], [0, 1, 0]], ["a", "b", "c"], learns=False, resamples=0
    ... )
    >>> {model: round(score, 6) for model, score in table.rankings["reuse_mean"].scores.items()}
    {'unet': 0.666667, 'fcn': 0.333333}
    >>> table.rankings["lure"].unusable
    'effective sample size 3.0, below 10'
    """
    models, images, accuracy = replicated.checked(models, images, accuracy, resamples, "scores", keys=keys)
    by_chance = all(math.isfinite(row.probability) for row in rows)
    check_population(population, by_chance, where=where is not None)
    future = population == FUTURE
    mine = {row.image for row in rows if where is None or row.image in where.images}
    labelled = ~np.isnan(accuracy).all(0) & np.array(
        [where is None or image in where.images for image in images], bool
    )
    chosen = labelled & np.array([image in mine for image in images], bool)
    if not (number := int(chosen.sum())):
        raise RankingError(
            f"not one of the {len(mine)} drawn images{_in(where)} has a label; label them, then rank"
        )
    used = np.flatnonzero(chosen | (all_labels & labelled))
    group = group_numbers([images[k] for k in used.tolist()], groups) if future or not by_chance else None
    weights = replicated.image_weights(chosen[used], resamples, seed, group)
    scores, errors, fits = replicated.reuse(models, accuracy[:, used], weights, extra)
    open_ = np.array([images[k] in partly for k in used.tolist()], bool)
    note = labelled_note(number, int((open_ & chosen[used]).sum()), len(mine), "drawn")
    notes = [note + (f", {discarded} are discarded" if discarded else "")]
    if besides := len(used) - number:
        outside = "labelled image outside the selection counts", "labelled images outside the selection count"
        notes.append(f"{counted_words(besides, *outside)} in the re-use rankings")
    counted, found, reused, even, told = None, {}, None, False, 0
    if by_chance:
        counted = steps(rows, images, accuracy, lost=lost, elsewhere=elsewhere, learns=learns)
        if where is None:
            allowed = drawn_estimates.unbiased(
                counted, images, accuracy, proxy, pool, rest, future=future, groups=groups, widen=widen
            )
        else:
            allowed = domain_scores(counted, images, accuracy, proxy, pool, where)
            allowed.notes.extend([drawn_estimates.NO_PART] if rest is not None and rest[1] else [])
        found, even, reused, said, told = (
            allowed.estimates,
            allowed.even,
            allowed.reused,
            allowed.notes,
            allowed.groups,
        )
    else:
        said = [
            (
                f"{rows[0].selector} does not draw at random: no score of the pool can be estimated from"
                " its images, and intervals are descriptive"
            )
        ]
    shifts = _shifts(counted, images, proxy, proxy_named, pool, where)
    if where is not None and proxy is not None and pool is not None:
        there = [k for k, image in enumerate(pool) if where.known and image in where.images]
        proxy, pool = (proxy[:, there], [pool[k] for k in there]) if there else (None, None)
    if (
        (counted is None or (MARGINS in found and unusable(found[MARGINS])))
        and proxy is not None
        and pool is not None
    ):
        known = [images[k] for k in used.tolist()]
        scores = scores | drawn_estimates.reused_margins(accuracy[:, used], known, weights, proxy, pool)
    draws = dict.fromkeys(scores, replicated.draws_of(np.ones(len(used), bool), group))
    whole = replicated.table(
        models, {}, scores, errors, fits, draws, notes, ~np.isnan(accuracy[:, used]), group, told, extra
    )
    measured = whole.rankings
    if (
        population == FUTURE
        and counted is not None
        and even
        and len(used) == len(counted.columns)
        and not counted.skipped
    ):
        measured = {name: replace(row, speaks_of=population) for name, row in whole.rankings.items()}
    rankings: dict[str, ModelRanking] = {}
    replicates, points = dict(whole.replicates), dict(whole.scores)
    learnt = counted is not None and by_learning(rows, learns)
    loose = ["rounds learnt from labels"] if learnt else []
    loose += [SKIPPED_DRAWS] if counted is not None and counted.skipped else []
    if learnt:
        said.append(
            "rounds learnt from labels: intervals are descriptive, since simulated ones held the truth too"
            " seldom"
        )
    for name, estimate in found.items():
        if why := unusable(estimate):
            rankings[name] = replicated.unusable(models, why, speaks_of=population)
            continue
        row, points[name], replicates[name] = _row(models, name, estimate, resamples, seed)
        if loose:
            row = replace(row, gaps=[])
        rankings[name] = replace(row, speaks_of=CHOSEN if loose else population)
        if name == MARGINS and reused is not None:
            rankings[REUSED] = _as_they_come(models, -reused, rankings[name])
            points[REUSED], replicates[REUSED] = -reused, replicates[name]
    if shifts is not None and (note := _shift_note(models, rankings, *shifts)):
        said.append(note)
    own = {
        "resamples": resamples,
        "seed": seed,
        "all_labels": all_labels,
        "population": population,
        "level": LEVEL,
        "pseudo_count": replicated.PSEUDO_COUNT,
        "interval": _intervals_are([name for name in found if not rankings[name].unusable]),
    } | ({"descriptive": ", and ".join(loose)} if loose else {})
    own |= words_of(extra)
    labels = {
        "used": len(used),
        "slots": len(mine),
        "discarded": discarded,
        "missing": len(mine) - number - discarded,
    }
    if besides:
        labels["of_selection"] = number
    if open_.any():
        labels["partly"] = int(open_.sum())
    if counted is not None:
        fell = [k for k in counted.columns.tolist() if where is None or images[k] in where.images]
        labels |= {"counted": len(fell)} | ({"pool": counted.pool} if where is None else {})
    to_come: dict[str, ModelRanking] = {}
    if by_chance and not future and where is None and not loose:
        later = draw_rankings(
            models,
            rows,
            accuracy,
            images,
            proxy=proxy,
            proxy_named=proxy_named,
            pool=pool,
            rest=rest,
            lost=lost,
            elsewhere=elsewhere,
            learns=learns,
            partly=partly,
            resamples=resamples,
            seed=seed,
            all_labels=all_labels,
            population=FUTURE,
            groups=groups,
            widen=widen,
            keys=keys,
        )
        to_come = {name: row for name, row in later.rankings.items() if row.speaks_of == FUTURE}
    return Standings(
        models=models,
        labels=labels,
        matrices={},
        rankings=rankings | measured,
        definitions={**(definitions or {}), **own},
        benchmark=None if benchmark is None else compare_benchmark(models, benchmark, points, replicates),
        to_come=to_come,
        notes=(*whole.notes, *said),
    )


def _shifts(
    counted: Steps | None,
    images: Sequence[str],
    proxy: np.ndarray | None,
    proxy_named: np.ndarray | None,
    pool: Sequence[str] | None,
    where: Domain | None,
) -> tuple[np.ndarray, np.ndarray, int, int] | None:
    """Return how far margins (J,) and scores (J,) shift because drawn groups of near-duplicates are labelled
    on another image than the first, for how many draws, and of how many; None if none is, or it is unknown.
    """
    if counted is None or proxy is None or proxy_named is None or pool is None:
        return None
    place = {image: k for k, image in enumerate(pool)}
    names = [images[int(k)] for k in counted.columns]
    if not names or not all(name in place for name in names):
        return None
    at = [place[name] for name in names]
    own, first = np.asarray(proxy_named)[:, at], np.asarray(proxy)[:, at]
    weights = lure_weights(counted.probability, counted.pool)
    weights *= [where is None or name in where.images for name in names]
    moved = int((own != first).any(0).sum())
    if not moved or not weights.any():
        return None
    weights /= weights.sum() if where is not None else len(weights)
    apart = score_shifts(estimates.margins(own), estimates.margins(first), weights)
    return apart, score_shifts(own, first, weights), moved, len(names)


def _shift_note(
    models: Sequence[str],
    rankings: Mapping[str, ModelRanking],
    margins: np.ndarray,
    scores: np.ndarray,
    moved: int,
    drawn: int,
) -> str:
    """Return a note if margins or scores shift by more than a tenth of their intervals; '' otherwise."""
    found = []
    for name, moves, of in (
        (MARGINS, margins, "margin"),
        ("prediction_powered", scores, "score"),
        ("lure", scores, "score"),
    ):
        if name in rankings and not rankings[name].unusable:
            bounds = np.array([rankings[name].score_interval[model] for model in models], dtype=float)
            found.append(Shifts(moves, bounds[:, 1] - bounds[:, 0], of))
    return shift_note(models, found, moved, drawn)


def by_learning(rows: Sequence[Draw], learns: bool) -> bool:
    """Return whether some draws used labels of earlier rounds, with a selector that ``learns`` from them.

    >>> rows = [Draw("information", round, round, image, 1.0, 0.5, 9) for round, image in enumerate("ab", 1)]
    >>> by_learning(rows, True), by_learning(rows[:1], True), by_learning(rows, False)
    (True, False, False)
    """
    return learns and len({row.round for row in rows}) > 1


def check_population(
    population: Population, by_chance: bool, study: str = "STUDY", *, where: bool = False
) -> None:
    """Raise OptionError for an unknown population, and for data to come if images were not drawn at random
    (``by_chance``) or only a part of them is ranked (``where``); ``study`` is its folder, as a command names
    it.
    """
    if population not in (POOL, FUTURE):
        raise OptionError(f"--population is {POOL} or {FUTURE}; got {population!r}")
    if population == FUTURE and not by_chance:
        raise OptionError(
            f"--population {FUTURE}: the images were chosen by what the models predict, so they do not"
            f" represent future data; draw some at random with `faultscape select {study} {SELECTION}"
            " --budget N`"
        )
    if population == FUTURE and where:
        raise OptionError(
            f"--population {FUTURE} speaks of all data to come, and --where of a part of this pool; leave"
            " one out"
        )


def _in(where: Domain | None) -> str:
    return "" if where is None else f" in {where.words}"


def _row(
    models: tuple[str, ...], name: str, found: Estimates, resamples: int, seed: int
) -> tuple[ModelRanking, np.ndarray, np.ndarray]:
    """Return the row of an estimate, its scores (J,), and simulated scores (B, J)."""
    best = 0.0 if name == MARGINS else 1.0  # a score is 1 - loss; a margin has no largest value
    rng = np.random.default_rng((seed, zlib.crc32(name.encode())))
    scores, replicates = best - found.loss, best - drawn_estimates.as_drawn(found, resamples, rng)
    # labels worth fewer than ten equally weighted ones are unusable already
    labels, exact = found.freedom + 1, found.unit == 0
    row = replicated.ranking(models, scores, replicates, labels, least=LEAST, exact=exact)
    beats = better(replicate_p_values(scores, replicates, labels, exact=exact))
    tested = exact or labels >= LEAST
    apart = gaps(models, row.order, scores, found, beats) if tested and resamples else []
    around = estimate_intervals.margin_intervals if name == MARGINS else estimate_intervals.loss_intervals
    low, high = (None, None) if found.possible is None else found.possible.T[:, :, None]
    bounds = best - np.clip(around(found), low, high)[:, ::-1]
    intervals = dict(zip(models, replicated.held(bounds, scores).tolist(), strict=True))
    worth = None if np.isinf(found.effective) else found.effective
    row = replace(row, score_interval=intervals, effective_labels=worth, gaps=apart)
    return row, scores, replicates


def _as_they_come(models: tuple[str, ...], scores: np.ndarray, weighted: ModelRanking) -> ModelRanking:
    """Return the row of margins without the draws' weights: its scores, with the intervals and ranks of the
    ``weighted`` row, widened to contain them.
    """
    bounds = np.array([weighted.score_interval[m] for m in models])
    order = sorted(range(len(models)), key=lambda k: -round(float(scores[k]), DECIMALS))
    places = ranks(scores)

    def widen(
        intervals: Mapping[str, Sequence[float]], best: list[str]
    ) -> tuple[dict[str, list[float]], list[str]]:
        held = replicated.held(np.array([intervals[m] for m in models], dtype=float), places)
        ends = {
            m: [plain(r) for r in (np.floor(low), np.ceil(high))]
            for m, (low, high) in zip(models, held, strict=True)
        }
        # none where nothing was tested
        return ends, [models[k] for k in order if best and np.floor(held[k, 0]) == 1]

    single, tied = widen(weighted.rank_interval, weighted.tied_for_best)
    at_once, best = widen(weighted.simultaneous_rank_interval, weighted.best_set)
    return replace(
        weighted,
        scores=dict(zip(models, scores.tolist(), strict=True)),
        order=[models[k] for k in order],
        score_interval=dict(zip(models, replicated.held(bounds, scores).tolist(), strict=True)),
        rank_interval=single,
        simultaneous_rank_interval=at_once,
        tied_for_best=tied,
        best_set=best,
        gaps=[],  # those of the weighted order
    )


def _intervals_are(unbiased: list[str]) -> str:
    wilson = ", ".join([*(name for name in unbiased if entry(name).interval == "wilson"), "reuse_mean"])
    return (
        "percentile bootstrap over images; of "
        + ("margins Student's t, of " if MARGINS in unbiased else "")
        + f"{wilson} Wilson's"
    )
