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
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from faultscape.errors import RankingError, closest, counted
from faultscape.metrics.intervals.units import LEVEL
from faultscape.nouns import JsonObject
from faultscape.ranking import replicates
from faultscape.ranking.agreement import compare_benchmark
from faultscape.ranking.catalogue import Ranking, pair_flow, taking, words_of
from faultscape.ranking.drawn.populations import group_numbers
from faultscape.ranking.methods.davidson import bradley_terry_ties
from faultscape.ranking.methods.hodge import hodge_split
from faultscape.ranking.methods.likelihood import connected
from faultscape.ranking.methods.perron import consistency_ratio, dominance, smoothed_accuracy
from faultscape.ranking.methods.sandwich import standard_errors
from faultscape.ranking.pair_cases import PairCounts, pair_counts
from faultscape.ranking.replicates import draws_of
from faultscape.ranking.stability import connectivity
from faultscape.standings import Standings, labelled_note

PSEUDO_COUNT = replicates.PSEUDO_COUNT


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
) -> Standings:
    """Return the standings of classifiers from (J, I) whether each model is right on ``images``: 1, 0, or NaN
    where not decided.

    ``rows`` are the chosen slots; labelled images that no row chose are used only by the re-use rankings, and
    only with ``all_labels``. Perron's ranking also holds ``consistency_ratio``, Hodge's its ``shares``,
    Bradley-Terry's the ``tie_parameter``. Matrices: ``accuracy`` A (smoothed), ``dominance`` B, and per pair
    the numbers of images ``case_1``, ``case_2`` (row right, column wrong) and ``case_3``. ``benchmark`` is
    {model: score}, larger is better; ``groups`` {image: group} are drawn whole; ``keys`` (I,) identify images
    independently of their names (ids by default): the bootstrap draws images in the order of the keys.
    ``extra`` are rankings of your own (`find_ranking`). Errors: RankingError for slots, shapes, answers or a
    benchmark that do not fit, or no label at all; OptionError for options out of range.

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
    models, images, correct = replicates.checked(models, images, correct, resamples, "answers", keys=keys)
    first, second, image = pair_places(models, rows, images)
    labelled = ~np.isnan(correct).all(0)
    image = np.where((image >= 0) & np.append(labelled, False)[image], image, -1)
    chosen = np.zeros(len(images), bool)
    chosen[image[image >= 0]] = True
    n_chosen = len({row.image for row in rows})
    if not chosen.any():
        raise RankingError(f"none of the {n_chosen} chosen images has a label; label them, then rank")
    used = np.flatnonzero(chosen | (all_labels & labelled))
    image = np.where(image >= 0, np.searchsorted(used, image), -1)
    correct, chosen = correct[:, used], chosen[used]

    group = group_numbers([images[k] for k in used.tolist()], groups)
    weights = replicates.image_weights(chosen, resamples, seed, group)
    counts = pair_counts(first, second, image, correct, weights)
    scores, fits = {}, {}
    total = counts.total[0]
    joined = connected(total)
    for faithful in taking("counts", extra):
        name = faithful.name
        scores[name], fits[name] = replicates.one_footing(models, joined, faithful.compute(counts, laplace))
    point = PairCounts(total, counts.both_right[0], counts.wins[0], counts.both_wrong[0])
    accuracy = smoothed_accuracy(point.correct, total, laplace)
    ratios = dominance(accuracy)
    matrices = {"accuracy": accuracy, "dominance": ratios}
    matrices |= {"case_1": point.both_right, "case_2": point.wins, "case_3": point.both_wrong}
    nu = float(bradley_terry_ties(point.wins, point.ties, PSEUDO_COUNT)[1])
    open_ = _partly_labelled(first, second, image, correct, chosen)
    notes = [labelled_note(int(chosen.sum()), int((open_ & chosen).sum()), n_chosen, "chosen")]
    if besides := len(used) - int(chosen.sum()):
        outside = "labelled image outside the selection counts", "labelled images outside the selection count"
        notes.append(f"{counted(besides, *outside)} in the re-use rankings")
    notes += _said(models, point, image, correct, ratios)
    again, errors, others = replicates.reuse(models, correct, weights, extra)
    errors["bradley_terry"] = standard_errors(
        _games(first, second, image, correct), scores["bradley_terry"][0], nu, PSEUDO_COUNT
    )
    drawn = dict.fromkeys(scores, draws_of(chosen, group)) | dict.fromkeys(
        again, draws_of(np.ones(len(used), bool), group)
    )
    whole = replicates.table(
        models,
        matrices,
        scores | again,
        errors,
        fits | others,
        drawn,
        notes,
        ~np.isnan(correct),
        group,
        extra=extra,
    )
    own = {"laplace": laplace, "resamples": resamples, "seed": seed, "all_labels": all_labels, "level": LEVEL}
    own |= {"interval": replicates.INTERVAL, "pseudo_count": PSEUDO_COUNT, "ties": "Davidson"} | words_of(
        extra
    )
    of = whole.rankings
    rankings = of | {
        "perron": replace(of["perron"], consistency_ratio=float(consistency_ratio(ratios))),
        "hodge": replace(of["hodge"], shares=hodge_split(pair_flow(point, laplace), total)),
        "bradley_terry": replace(of["bradley_terry"], tie_parameter=nu),
    }
    return Standings(
        models=models,
        labels={
            "used": len(used),
            "slots": len(rows),
            "discarded": discarded,
            "missing": n_chosen - int(chosen.sum()),
        }
        | ({"of_selection": int(chosen.sum())} if besides else {})
        | ({"partly": int(open_.sum())} if open_.any() else {}),
        matrices=whole.matrices,
        rankings=rankings,
        definitions={**(definitions or {}), **own},
        benchmark=(
            None
            if benchmark is None
            else compare_benchmark(models, benchmark, whole.scores, whole.replicates)
        ),
        notes=whole.notes,
    )


def _partly_labelled(
    first: np.ndarray, second: np.ndarray, image: np.ndarray, correct: np.ndarray, chosen: np.ndarray
) -> np.ndarray:
    """Return which images (I,) are decided in part: chosen images not for all models of their slots, other
    images not for all models.
    """
    there = image >= 0
    open_ = ~chosen & np.isnan(correct).any(0)
    for models in (first[there], second[there]):
        np.logical_or.at(open_, image[there], np.isnan(correct[models, image[there]]))
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
    first: np.ndarray, second: np.ndarray, image: np.ndarray, correct: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the games of the slots that count, one per pair and image, as ``sandwich`` takes them."""
    rows = np.stack([np.minimum(first, second), np.maximum(first, second), image])
    first, second, image = np.unique(rows[:, image >= 0], axis=1)
    points = (1 + correct[first, image] - correct[second, image]) / 2
    known = ~np.isnan(points)
    return first[known], second[known], image[known], points[known]


def _said(
    models: tuple[str, ...], point: PairCounts, image: np.ndarray, correct: np.ndarray, ratios: np.ndarray
) -> list[str]:
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
    if not (point.total > 0)[~np.eye(len(models), dtype=bool)].all():
        notes.append(connectivity(models, point.total))
    if (ratios == 0).any():
        notes.append(
            "perron, hodge: a model is never right where another is, and no ratio says how far apart they"
            " are; give --laplace above 0"
        )
    if np.isnan(correct).any():
        notes.append(
            f"re-use: labels decide {100 * (~np.isnan(correct)).mean():.1f} % of all answers; a mean is over"
            " those of its own model, and a label that only says what is not there decides against models"
            " alone"
        )
    return notes
