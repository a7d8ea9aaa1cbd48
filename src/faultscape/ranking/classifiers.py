"""Who wins among classifiers, from the labels of a selection: five faithful rankings and two that re-use
labels, with intervals.

Conventions: ``correct`` (J, I) is 1, 0, or NaN where the label does not decide. *Faithful* rankings (Perron,
Hodge, Bradley-Terry with ties, Rank Centrality, Borda) use each label only for the pairs that chose its
image; *re-use* rankings let it score every model that it decides. The bootstrap resamples images. A slot has
``model_a``, ``model_b``, ``image``; the pair is unordered.
Source: Wang et al. 2020, section 2.1, Algorithms 1 and 2, eq. 5, Table 1; the re-use of labels is ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike

from faultscape import nouns
from faultscape.errors import RankingError, closest, counted
from faultscape.maps import checked_arrays
from faultscape.metrics.intervals.units import LEAST, LEVEL
from faultscape.nouns import JsonObject
from faultscape.ranking.assembly import Findings, assemble
from faultscape.ranking.catalogue import Ranking, entry, pair_flow, taking, words_of
from faultscape.ranking.methods.davidson import bradley_terry_ties
from faultscape.ranking.methods.hodge import hodge_split
from faultscape.ranking.methods.likelihood import PSEUDO_COUNT, connected
from faultscape.ranking.methods.perron import consistency_ratio, dominance, smoothed_accuracy
from faultscape.ranking.methods.sandwich import standard_errors
from faultscape.ranking.pair_cases import PairCounts, pair_counts
from faultscape.ranking.panel import Panel, RankingOptions, group_numbers
from faultscape.ranking.replicates import INTERVAL, linked, reused, share_interval, with_intervals
from faultscape.ranking.stability import connectivity, places_shown, stability
from faultscape.standings import FEW, Stability, Standings, labelled_note


class PairSlot(Protocol):
    """A row of a selection of classifiers: this image was chosen for this unordered pair."""

    @property
    def model_a(self) -> str: ...
    @property
    def model_b(self) -> str: ...
    @property
    def image(self) -> str: ...


def classifier_rankings(
    models: Sequence[str],
    rows: Sequence[PairSlot],
    correct: ArrayLike,
    images: Sequence[str],
    *,
    laplace: float = 1,
    resamples: int = 1000,
    seed: int = 0,
    all_labels: bool = False,
    benchmark: Mapping[str, float] | None = None,
    discarded: int = 0,
    definitions: JsonObject | None = None,
    groups: Mapping[str, str] | None = None,
    keys: Sequence[str] | None = None,
    extra: Sequence[Ranking] = (),
    apart: ArrayLike | None = None,
) -> Standings:
    """Return the standings of classifiers from (J, I) whether each model is right on ``images``: 1, 0, or NaN
    where not decided.

    ``rows`` are the chosen slots; labelled images that no row chose are used only by the re-use rankings, and
    only with ``all_labels``. Perron's ranking also holds ``consistency_ratio``, Hodge's its ``shares``,
    Bradley-Terry's the ``tie_parameter``. Matrices: ``accuracy`` A (smoothed), ``dominance`` B, and per pair
    the numbers of images ``case_1``, ``case_2`` (row right, column wrong) and ``case_3``. ``benchmark`` is
    {model: score}, larger is better; ``groups`` {image: group} are drawn whole; ``keys`` (I,) identify images
    independently of their names (ids by default): the bootstrap draws images in the order of the keys.
    ``extra`` are rankings of your own (`find_ranking`). ``apart`` (J, I) is how far each answer is from the
    label, NaN where unknown: with it, of two wrong answers the nearer one wins in a further ranking.

    Errors: RankingError for slots, shapes, answers or a benchmark that do not fit, or no label at all;
    OptionError for options out of range.

    >>> from types import SimpleNamespace as Row
    >>> rows = [Row(model_a="vgg", model_b="resnet", image=image) for image in "xyz"]
    >>> table = classifier_rankings(
    ...     ["vgg", "resnet"], rows, [[1, 1, 0], [0, 1, 0]], ["x", "y", "z"], resamples=0
    ... )
    >>> [
    ...     round(table.matrices[name][0][1], 9) for name in ("accuracy", "dominance", "case_2")
    ... ]  # 3/5, (3/5) / (2/5)
    [0.6, 1.5, 1.0]
    >>> {model: round(score, 9) for model, score in table.rankings["perron"].scores.items()}
    {'vgg': 0.6, 'resnet': 0.4}
    """
    far: dict[str, np.ndarray] = {}
    if apart is not None:
        columns = checked_arrays.numbers(apart, "apart", RankingError, "J x I").astype(float)
        if columns.shape != (len(models), len(images)):
            raise RankingError(
                f"apart has shape {columns.shape}; expected {len(models)} models by {len(images)} images"
            )
        far = dict(zip(images, columns.T, strict=True))
    return assemble(
        Panel.of(models, images, correct, keys=keys, groups=groups, discarded=discarded),
        PairsOfClassifiers(rows, laplace, far),
        RankingOptions(resamples, seed, all_labels, benchmark, definitions or {}, extra),
    )


@dataclass(frozen=True, eq=False)
class PairsOfClassifiers:
    """The slots of pairs of classifiers as evidence; ``laplace`` is added to right and wrong answers of each
    pair. ``apart`` (J,) of each image with a full label is how far the models' answers are from it.
    """

    rows: Sequence[PairSlot]
    laplace: float = 1
    apart: Mapping[str, np.ndarray] = field(default_factory=dict)

    def findings(self, panel: Panel, options: RankingOptions) -> Findings:
        """Return the five faithful rankings and those that re-use labels."""
        chosen = [row.image for row in self.rows]
        part = panel.counting(chosen, panel.labelled, "chosen images", all_labels=options.all_labels)
        part = part.grouped()
        slots = pair_places(part.models, self.rows, part.images)
        weights = part.weights(options)
        counts = pair_counts(*slots, part.scores, weights)
        total = counts.total[0]
        point = PairCounts(total, counts.both_right[0], counts.wins[0], counts.both_wrong[0])
        accuracy = smoothed_accuracy(point.correct, total, self.laplace)
        ratios = dominance(accuracy)

        joined = connected(total)
        images = part.draws(part.chosen)
        scored = {
            faithful.name: linked(part.models, joined, faithful.compute(counts, self.laplace), images)
            for faithful in taking("counts", options.extra)
        }
        nu = float(bradley_terry_ties(point.wins, point.ties, PSEUDO_COUNT)[1])
        strengths = scored["bradley_terry"]
        error = standard_errors(_games(*slots, part.scores), strengths.scores[0], nu, PSEUDO_COUNT)
        scored["bradley_terry"] = replace(strengths, error=error)
        cases = []
        if self.apart:
            unknown = np.full(len(part.models), np.nan)
            apart = np.stack([self.apart.get(image, unknown) for image in part.images], axis=1)
            nearer = pair_counts(*slots, part.scores, weights, apart)
            for one in taking("distances"):
                found = linked(part.models, joined, one.compute(nearer, self.laplace), images)
                tied = float(bradley_terry_ties(nearer.wins[0], nearer.ties[0], PSEUDO_COUNT)[1])
                games = _games(*slots, part.scores, apart)
                error = standard_errors(games, found.scores[0], tied, PSEUDO_COUNT)
                scored[one.name] = replace(found, error=error)
            cases = _cases_by_distance(point, nearer)
        scored |= reused(part, weights, part.draws(part.labelled), options.extra)
        table = with_intervals(scored, part, options.extra)
        own: dict[str, dict[str, Any]] = {
            "perron": {"consistency_ratio": float(consistency_ratio(ratios))},
            "hodge": {"shares": hodge_split(pair_flow(point, self.laplace), total)},
            "bradley_terry": {"tie_parameter": nu},
        }
        rankings = {name: replace(row, **own.get(name, {})) for name, row in table.rankings.items()}
        partly = _partly_labelled(*slots, part)
        number = int(part.chosen.sum())
        return Findings(
            part,
            replace(table, rankings=rankings),
            [labelled_note(number, int((partly & part.chosen).sum()), part.wanted, "chosen")],
            [*_notes(point, slots[2], part, ratios), *cases, *table.notes],
            {"laplace": self.laplace}
            | options.recorded()
            | {"level": LEVEL, "interval": INTERVAL, "pseudo_count": PSEUDO_COUNT, "ties": "Davidson"}
            | words_of(options.extra),
            matrices={
                "accuracy": accuracy,
                "dominance": ratios,
                "case_1": point.both_right,
                "case_2": point.wins,
                "case_3": point.both_wrong,
            },
            partly=partly,
        )

    def stability(self, panel: Panel) -> Stability:
        """Return the stability of Perron's ranking, on all images of a panel; each slot has a ``place``."""
        first, second, image = pair_places(panel.models, self.rows, panel.images)

        def score(keep: np.ndarray) -> np.ndarray:
            counts = pair_counts(first[keep], second[keep], image[keep], panel.scores)
            return entry("perron").compute(counts, self.laplace)[0]

        takes_part = np.stack([(first == k) | (second == k) for k in range(len(panel.models))])
        met = pair_counts(first, second, image, panel.scores).total[0]
        places = [cast("nouns.PairSlot", row).place for row in self.rows]
        return stability("perron", score, panel.models, takes_part, places, met)


@dataclass(frozen=True)
class EitherRight:
    """On what share of the first images of a pair at least one of its two models is right, which an oracle
    that picks between them would reach, by the number of labels; '' for both models where all pairs are taken
    together. An end of an interval is NaN for fewer than ten images, or six groups.
    """

    model_a: str
    model_b: str
    labels: tuple[int, ...]
    share: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


def either_right(
    models: Sequence[str],
    rows: Sequence[nouns.PairSlot],
    correct: np.ndarray,
    images: Sequence[str],
    groups: Mapping[str, str] | None = None,
) -> list[EitherRight]:
    """Return the curve of all pairs together, in the order of their places, and that of each pair; labels
    that do not decide for both models are left out. An image that serves many pairs counts as one in an
    interval, as do all images of a group.

    >>> rows = [
    ...     nouns.PairSlot("mad", 1, 1, "a", "b", "cat", "car", k, "xyz"[k - 1], 1, 1, 1, 9) for k in (1, 2)
    ... ]
    >>> either_right(["a", "b"], rows, np.array([[1.0, 0], [0, 0]]), ["x", "y"])[1].share
    (1.0, 0.5)
    """
    first, second, image = pair_places(models, rows, images)
    numbers = group_numbers(images, groups)
    unit, least = (np.arange(len(images)), FEW) if numbers is None else (numbers, LEAST)
    place = np.array([row.place for row in rows])
    low, high = np.minimum(first, second), np.maximum(first, second)
    right = np.full(len(rows), np.nan)  # where one is not decided, or there is no label
    there = image >= 0
    right[there] = correct[first[there], image[there]] + correct[second[there], image[there]]
    order = np.lexsort((high, low, place))
    order = order[~np.isnan(right[order])]
    _, once = np.unique(np.stack([low, high, image])[:, order], axis=1, return_index=True)
    order = order[np.sort(once)]  # an image counts once for its pair
    low, high, image, right = (column[order] for column in (low, high, image, right))
    if not len(order):
        return []
    found = [_curve("", "", right > 0, unit[image], least)]
    for a, b in sorted({*zip(low.tolist(), high.tolist(), strict=True)}):
        mine = (low == a) & (high == b)
        found.append(_curve(models[int(a)], models[int(b)], right[mine] > 0, unit[image[mine]], least))
    return found


def _curve(model_a: str, model_b: str, right: np.ndarray, unit: np.ndarray, least: int) -> EitherRight:
    """Return the shares of ``right`` (N,) among the first, with intervals of whole units (N,), from
    ``least`` of them on.
    """
    shown = places_shown(len(right))
    out = []
    for number in shown.tolist():
        share = float(right[:number].mean())
        _, of, sizes = np.unique(unit[:number], return_inverse=True, return_counts=True)
        ends = np.full(2, np.nan)
        if len(sizes) >= least:
            apart = np.bincount(of, right[:number] - share)
            variance = float((apart**2).sum()) / number**2 * len(sizes) / (len(sizes) - 1)
            ends = share_interval(share, variance, sizes)
        out.append((number, share, *ends.tolist()))
    labels, share, low, high = zip(*out, strict=True)
    return EitherRight(model_a, model_b, labels, share, low, high)


def _partly_labelled(first: np.ndarray, second: np.ndarray, image: np.ndarray, panel: Panel) -> np.ndarray:
    """Return which images (I,) are decided in part: chosen images not for all models of their slots, other
    images not for all models.
    """
    there = image >= 0
    open_ = ~panel.chosen & np.isnan(panel.scores).any(0)
    for models in (first[there], second[there]):
        np.logical_or.at(open_, image[there], np.isnan(panel.scores[models, image[there]]))
    return open_


def pair_places(
    models: Sequence[str], rows: Sequence[PairSlot], images: Sequence[str]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the slots as places (S,) of first model, second model and image, -1 for an image that is not in
    ``images``.

    RankingError for an unknown model.

    >>> from types import SimpleNamespace as Row
    >>> pair_places(["vgg", "resnet"], [Row(model_a="resnet", model_b="vgg", image="y")], ["x"])
    (array([1]), array([0]), array([-1]))
    """
    model, place = ({name: k for k, name in enumerate(names)} for names in (models, images))
    for row in rows:
        for name in (row.model_a, row.model_b):
            if name not in model:
                raise RankingError(
                    f"a slot pairs {name!r}; the models are"
                    f" {', '.join(models)}.{closest(name, tuple(models))}"
                )
    columns = [(model[row.model_a], model[row.model_b], place.get(row.image, -1)) for row in rows]
    first, second, image = np.array(columns, dtype=np.intp).reshape(-1, 3).T
    return first, second, image


def _games(
    first: np.ndarray,
    second: np.ndarray,
    image: np.ndarray,
    correct: np.ndarray,
    apart: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the games of the slots that count, one per pair and image, as ``sandwich`` takes them; with
    ``apart`` as `pair_counts` takes it.
    """
    rows = np.stack([np.minimum(first, second), np.maximum(first, second), image])
    first, second, image = np.unique(rows[:, image >= 0], axis=1)
    points = (1 + correct[first, image] - correct[second, image]) / 2
    if apart is not None:
        wrong = correct[first, image] + correct[second, image] == 0
        ahead = np.sign(np.nan_to_num(apart[second, image] - apart[first, image]))
        points = np.where(wrong, (1 + ahead) / 2, points)
    known = ~np.isnan(points)
    return first[known], second[known], image[known], points[known]


def _cases_by_distance(point: PairCounts, nearer: PairCounts) -> list[str]:
    """Return a note on how many slots of case III a distance decides."""
    wrong = point.both_wrong.sum() / 2
    decided = wrong - nearer.both_wrong[0].sum() / 2
    # what is not nearer is equally far, or has no full label
    return [f"case III by distance: of {wrong:.0f} slots, one answer is nearer to the label on {decided:.0f}"]


def _notes(point: PairCounts, image: np.ndarray, panel: Panel, ratios: np.ndarray) -> list[str]:
    """Return notes for the reader: shares of the cases, who was compared, and what missing ratios or partial
    labels leave open.
    """
    decided = point.total.sum() / 2
    notes = []
    if decided:
        cases = (point.both_right.sum() / 2, point.wins.sum(), point.both_wrong.sum() / 2)
        shares = ", ".join(
            f"{name} {100 * n / decided:.1f} %" for name, n in zip(("I", "II", "III"), cases, strict=True)
        )
        notes.append(f"cases of {decided:.0f} decided slots: {shares}")
    if open_slots := int((image >= 0).sum() - decided):
        one = "slot has a label that does not decide both of its models, or repeats an image of its pair"
        many = (
            "slots have a label that does not decide both of their models, or repeat an image of their pair"
        )
        notes.append(counted(open_slots, one, many))
    if not (point.total > 0)[~np.eye(len(panel.models), dtype=bool)].all():
        notes.append(connectivity(panel.models, point.total))
    if (ratios == 0).any():
        notes.append(
            "perron, hodge: a model is never right where another is, and no ratio says how far apart they"
            " are; give --laplace above 0"
        )
    if (unknown := np.isnan(panel.scores)).any():
        notes.append(
            f"re-use: labels decide {100 * (~unknown).mean():.1f} % of all answers; a mean is over"
            " those of its own model, and a label that only says what is not there decides against models"
            " alone"
        )
    return notes
