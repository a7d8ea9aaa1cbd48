"""Who wins, from images that were drawn for all models at once: two rankings of re-used labels, margins, and
unbiased scores where draws have probabilities.

Conventions: ``accuracy`` (J, I) is each model's concordance with the truth, or 1 and 0 for classifiers, NaN
where unknown. ``lure`` weights each label by the inverse of its probability of being drawn,
``prediction_powered`` adds what the models' predictions say about unlabelled images. Both are scores on the
pool that was drawn from; ``corpus`` adds the images on which no two models differ, from labels drawn there.
``margins`` is how far a model is above the mean of all, with the same control variate. ``reuse_margins`` uses
the labels for it without weights, and of classifiers begins with their agreement (`leader`), while its
intervals and ranks come from the weighted estimate. If
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
from dataclasses import dataclass, field, replace

import numpy as np

from faultscape.choices import Population
from faultscape.errors import OptionError
from faultscape.metrics.intervals.units import LEAST, LEVEL
from faultscape.nouns import Draw
from faultscape.ranking import replicates
from faultscape.ranking.agreement import plain
from faultscape.ranking.assembly import Findings
from faultscape.ranking.catalogue import SELECTION, entry, words_of
from faultscape.ranking.drawn import any_look, estimate_intervals, estimates
from faultscape.ranking.drawn import scores as drawn_estimates
from faultscape.ranking.drawn.choice_steps import BESIDE, ChoiceSteps, Votes, choice_steps, worth_note
from faultscape.ranking.drawn.domains import Domain, domain_scores
from faultscape.ranking.drawn.estimates import Estimates, lure_weights
from faultscape.ranking.drawn.gaps import gaps
from faultscape.ranking.drawn.scores import MARGINS, REUSED, WITH_CHOICES, Expected, Found, unusable
from faultscape.ranking.drawn.stand_ins import Shifts, score_shifts, shift_note
from faultscape.ranking.drawn.steps import Steps, steps
from faultscape.ranking.intervals import ranks
from faultscape.ranking.methods.likelihood import PSEUDO_COUNT
from faultscape.ranking.panel import Panel, RankingOptions
from faultscape.ranking.replicates import CHOSEN, FUTURE, POOL, Scored, Table, reused, with_intervals
from faultscape.ranking.simultaneous_ranks import better, replicate_p_values
from faultscape.standings import ModelRanking, labelled_note
from faultscape.ties import DECIMALS

SKIPPED_DRAWS = "drawn images were skipped"  # why intervals are descriptive


@dataclass(frozen=True, eq=False)
class Draws:
    """Images drawn for all models at once, as evidence: the draws in order (``rows``).

    ``learns``, ``lost`` and ``elsewhere``: see ``drawn.steps``. ``expected`` are the losses on the pool that
    predictions let expect, for the control variate. ``rest`` are scores (J, n) on images drawn uniformly from
    those on which no two models differ, and the number of such images. ``partly`` are the images that labels
    decide in part. ``population`` says what intervals are about: this "pool", or data to come ("future"),
    which redraw images, or whole groups; without groups, neighboring images that are alike ``widen`` such
    intervals by a factor (`too_narrow`). Groups are also redrawn whole where nothing was drawn at random.
    Standings of the pool also hold the rankings of data to come (``to_come``). ``where`` is the part of the
    pool that is ranked, all of it by default. ``votes`` are what people chose between two models on drawn
    images, by person, and ``voices`` the weights of people, if they differ.

    >>> from faultscape.ranking.assembly import assemble
    >>> rows = [Draw("random", 1, k, image, 1.0, 1 / (5 - k), 4) for k, image in enumerate("abc", 1)]
    >>> panel = Panel.of(["unet", "fcn"], ["a", "b", "c"], [[1, 1, 0], [0, 1, 0]])
    >>> table = assemble(panel, Draws(rows, learns=False), RankingOptions(resamples=0))
    >>> {model: round(score, 6) for model, score in table.rankings["reuse_mean"].scores.items()}
    {'unet': 0.666667, 'fcn': 0.333333}
    >>> table.rankings["lure"].unusable
    'effective sample size 3.0, below 10'
    """

    rows: Sequence[Draw]
    learns: bool
    expected: Expected | None = None
    rest: tuple[np.ndarray, int] | None = None
    lost: Collection[str] = ()
    elsewhere: Collection[str] = ()
    partly: Collection[str] = ()
    population: Population = "pool"
    widen: float = 1.0
    where: Domain | None = None
    alone: bool = False  # without the rankings of the other population
    anytime: bool = False  # one ranking, of intervals that hold at any look, instead of those for one look
    votes: Votes = field(default_factory=dict)
    voices: Mapping[str, float] | None = None

    def findings(self, panel: Panel, options: RankingOptions) -> Findings:
        """Return the rankings that re-use labels, and the estimates that the draws allow."""
        by_chance = all(math.isfinite(row.probability) for row in self.rows)
        check_population(self.population, by_chance, where=self.where is not None)
        future = self.population == FUTURE
        mine = {row.image for row in self.rows if self._covers(row.image)}
        known = panel.labelled & np.array([self._covers(image) for image in panel.images], bool)
        there = "" if self.where is None else f" in {self.where.words}"
        part = panel.counting(mine, known, f"drawn images{there}", all_labels=options.all_labels)
        if future or not by_chance:
            part = part.grouped()
        counted = None
        choices = ChoiceSteps()
        if by_chance:
            counted, choices, found = self.estimated(panel)
        else:
            note = (
                f"{self.rows[0].selector} does not draw at random: no score of the pool can be estimated from"
                " its images, and intervals are descriptive"
            )
            found = Found(notes=[note])
        table = self._reused(part, options, found, by_chance=by_chance)
        said = [*table.notes, *found.notes]
        loose = []
        # at any look draws may have learnt from labels: each step is unbiased by itself
        if by_chance and by_learning(self.rows, self.learns) and not self.anytime:
            loose.append("rounds learnt from labels")
            said.append(
                f"{loose[0]}: intervals are descriptive, since simulated ones held the truth too seldom"
            )
        skipped = counted is not None and counted.skipped
        loose += [SKIPPED_DRAWS] if skipped else []
        redrawn = future and counted and found.even and len(part.images) == len(counted.columns)
        if redrawn and not skipped and not self.anytime:
            table = replace(
                table, rankings={name: replace(one, speaks_of=FUTURE) for name, one in table.rankings.items()}
            )
        speaks_of = CHOSEN if loose else self.population
        if self.anytime and counted is not None:
            estimated = Table({any_look.NAME: self._at_any_look(panel, counted, speaks_of)}, {}, {}, [])
        else:
            estimated = self._rows(panel.models, found, options, speaks_of)
        said += [note] if counted and (note := self._shift_note(panel, counted, estimated.rankings)) else []
        said += [choices.note] if choices.note else []

        partly = np.array([image in self.partly for image in part.images], bool)
        number = int(part.chosen.sum())
        note = labelled_note(number, int((partly & part.chosen).sum()), len(mine), "drawn")
        labels = {"missing": len(mine) - number - part.discarded}
        if counted is not None:
            labels["counted"] = sum(self._covers(panel.images[k]) for k in counted.columns.tolist())
            labels |= {"pool": counted.pool} if self.where is None else {}
        beside = estimated.rankings.get(WITH_CHOICES)
        if counted is not None and beside is not None and not beside.unusable:
            labels["choices"] = choices.votes
            said.append(worth_note(choices, len(counted.columns), found.estimates[WITH_CHOICES].gain))
        to_come: dict[str, ModelRanking] = {}
        of_pool: dict[str, ModelRanking] = {}
        if by_chance and self.where is None and not loose and not self.alone:
            bare = replace(options, extra=())
            other = replace(self, population=POOL if future else FUTURE, alone=True).findings(panel, bare)
            if future:
                of_pool = {name: row for name, row in other.table.rankings.items() if row.speaks_of == POOL}
            else:
                to_come = {name: row for name, row in other.table.rankings.items() if row.speaks_of == FUTURE}
        usable = [name for name, row in estimated.rankings.items() if not row.unusable and name != REUSED]
        return Findings(
            part,
            Table(
                estimated.rankings | table.rankings,
                table.scores | estimated.scores,
                table.replicates | estimated.replicates,
                table.notes,
            ),
            [note + (f", {part.discarded} are discarded" if part.discarded else "")],
            said,
            options.recorded()
            | {
                "population": self.population,
                "level": LEVEL,
                "pseudo_count": PSEUDO_COUNT,
                "interval": _intervals_are(usable),
            }
            | ({"descriptive": ", and ".join(loose)} if loose else {})
            | ({"anytime": True} if self.anytime else {})
            | words_of(options.extra),
            labels=labels,
            partly=partly,
            to_come=to_come,
            of_pool=of_pool,
        )

    def _covers(self, image: str) -> bool:
        return self.where is None or image in self.where.images

    def estimated(self, panel: Panel) -> tuple[Steps, ChoiceSteps, Found]:
        """Return the draws and the choices that count, and the estimates that they allow."""
        images = panel.images
        scores = panel.scores
        counted = steps(
            self.rows, images, scores, lost=self.lost, elsewhere=self.elsewhere, learns=self.learns
        )
        choices = self._choices(counted, panel.models)
        if self.where is not None:
            found = domain_scores(counted, panel, self.expected, self.where)
            found.notes.extend([drawn_estimates.NO_PART] if self.rest is not None and self.rest[1] else [])
            return counted, choices, found
        future = self.population == FUTURE
        return (
            counted,
            choices,
            drawn_estimates.unbiased(
                counted, panel, self.expected, self.rest, choices=choices, future=future, widen=self.widen
            ),
        )

    def _choices(self, counted: Steps, models: Sequence[str]) -> ChoiceSteps:
        """Return the choices that count beside the draws that do."""
        if not self.votes or not len(counted.columns):
            return ChoiceSteps()
        if self.where is not None or self.anytime:
            what = "where one may look at any time (`--anytime`); `rank` without it counts them"
            if self.where is not None:
                what = "in a part of the images (`--where`)"
            return ChoiceSteps(note=f"choices between two models do not count {BESIDE} {what}")
        return choice_steps(counted, models, self.votes, weights=self.voices, elsewhere=self.elsewhere)

    def _reused(self, part: Panel, options: RankingOptions, found: Found, *, by_chance: bool) -> Table:
        """Return the rankings that re-use labels, with margins where the draws allow no better ones."""
        weights = part.weights(options)
        images = part.draws(part.labelled)
        scored = reused(part, weights, images, options.extra)
        expected = self.expected
        if expected is not None and self.where is not None:
            expected = expected.only(self.where.images if self.where.known else ())
        none = not by_chance or (MARGINS in found.estimates and unusable(found.estimates[MARGINS]))
        if none and expected is not None:
            margins = drawn_estimates.reused_margins(part, weights, expected)
            scored |= {} if margins is None else {REUSED: Scored(margins, images)}
        return with_intervals(scored, part, options.extra, groups_told=found.groups)

    def _at_any_look(self, panel: Panel, counted: Steps, speaks_of: str) -> ModelRanking:
        """Return the ranking whose intervals may be looked at after every label."""
        future = self.population == FUTURE
        row = any_look.any_look(counted, panel, self.expected, future=future, widen=self.widen)
        return replace(row, speaks_of=speaks_of, gaps=[] if speaks_of == CHOSEN else row.gaps)

    def _rows(self, models: tuple[str, ...], found: Found, options: RankingOptions, speaks_of: str) -> Table:
        """Return the estimates as rankings, whose intervals speak of a population, or of chosen images."""
        out = Table({}, {}, {}, [])
        for name, estimate in found.estimates.items():
            if why := unusable(estimate):
                out.rankings[name] = replicates.unusable(models, why, speaks_of=self.population)
                continue
            row, out.scores[name], out.replicates[name] = _row(models, name, estimate, options)
            row = replace(row, speaks_of=speaks_of, gaps=[] if speaks_of == CHOSEN else row.gaps)
            out.rankings[name] = row
            if name == MARGINS and found.reused is not None:
                out.rankings[REUSED] = _as_they_come(models, -found.reused, row)
                out.scores[REUSED] = -found.reused
                out.replicates[REUSED] = out.replicates[MARGINS]
        return out

    def _shift_note(self, panel: Panel, counted: Steps, rankings: Mapping[str, ModelRanking]) -> str:
        """Return a note if margins or scores shift by more than a tenth of their intervals, because drawn
        groups of near-duplicates are labelled on another image than the first; '' otherwise.
        """
        if self.expected is None or self.expected.named is None:
            return ""
        names = [panel.images[int(k)] for k in counted.columns]
        at = self.expected.places(names)
        if not names or (at < 0).any():
            return ""
        own = np.asarray(self.expected.named)[:, at]
        first = np.asarray(self.expected.losses)[:, at]
        weights = lure_weights(counted.probability, counted.pool)
        weights *= [self._covers(name) for name in names]
        moved = int((own != first).any(0).sum())
        if not moved or not weights.any():
            return ""
        weights /= weights.sum() if self.where is not None else len(weights)
        margins = score_shifts(estimates.margins(own), estimates.margins(first), weights)
        scores = score_shifts(own, first, weights)
        shifts = []
        for name, moves, of in (
            (MARGINS, margins, "margin"),
            (WITH_CHOICES, scores, "score"),
            ("prediction_powered", scores, "score"),
            ("lure", scores, "score"),
        ):
            if name in rankings and not rankings[name].unusable:
                bounds = np.array([rankings[name].score_interval[m] for m in panel.models], dtype=float)
                shifts.append(Shifts(moves, bounds[:, 1] - bounds[:, 0], of))
        return shift_note(panel.models, shifts, moved, len(names))


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


def _row(
    models: tuple[str, ...], name: str, found: Estimates, options: RankingOptions
) -> tuple[ModelRanking, np.ndarray, np.ndarray]:
    """Return the row of an estimate, its scores (J,), and simulated scores (B, J)."""
    best = 0.0 if name == MARGINS else 1.0  # a score is 1 - loss; a margin has no largest value
    rng = np.random.default_rng((options.seed, zlib.crc32(name.encode())))
    scores = best - found.loss
    draws = best - drawn_estimates.as_drawn(found, options.resamples, rng)
    # labels worth fewer than ten equally weighted ones are unusable already
    labels = found.freedom + 1
    exact = found.unit == 0
    row = replicates.ranking(models, scores, draws, labels, least=LEAST, exact=exact)
    beats = better(replicate_p_values(scores, draws, labels, exact=exact))
    tested = exact or labels >= LEAST
    apart = gaps(models, row.order, scores, found, beats) if tested and options.resamples else []
    around = estimate_intervals.margin_intervals if name == MARGINS else estimate_intervals.loss_intervals
    low, high = (None, None) if found.possible is None else found.possible.T[:, :, None]
    bounds = best - np.clip(around(found), low, high)[:, ::-1]
    intervals = dict(zip(models, replicates.held(bounds, scores).tolist(), strict=True))
    worth = None if np.isinf(found.effective) else found.effective * found.gain
    row = replace(row, score_interval=intervals, effective_labels=worth, gaps=apart)
    return row, scores, draws


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
        held = replicates.held(np.array([intervals[m] for m in models], dtype=float), places)
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
        score_interval=dict(zip(models, replicates.held(bounds, scores).tolist(), strict=True)),
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
        + (f"{any_look.NAME} sequences that hold at any look, of " if any_look.NAME in unbiased else "")
        + ("margins Student's t, of " if MARGINS in unbiased else "")
        + f"{wilson} Wilson's"
    )
