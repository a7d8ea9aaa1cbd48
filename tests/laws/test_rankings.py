"""What every ranking of the catalogue obeys, and a ranking of a person's own as well, in standings of duels,
of pairs and of draws.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import faultscape as fs
from faultscape.errors import RankingError
from faultscape.nouns import Draw, Slot
from faultscape.ranking.catalogue import KINDS, RANKINGS, Ranking, find_ranking, refuse_misfits, taking
from faultscape.ranking.pair_cases import PairCounts
from faultscape.ranking.points.answers import PointAnswers
from faultscape.ranking.points.estimates import point_scores
from faultscape.ranking.points.intervals import pool_spread
from faultscape.ranking.points.pool import PointPool, mask_counts
from faultscape.ranking.points.row import point_ranking
from faultscape.ranking.points.totals import point_totals
from faultscape.standings import Standings
from made_draws import draw_rankings
from refusals import refused

MODELS = ("best", "twin", "other-twin", "worst")
IMAGES = [f"i{k:02d}" for k in range(16)]
RNG = np.random.default_rng(3)


def best_case(scores: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The best that a model ever did."""
    return np.where(weights[:, None] > 0, scores, -np.inf).max(-1)


OWN = Ranking(
    "best_case", "Best case", "Best", "the best that a model ever did", "ours", "re-use", "scores", best_case
)


def graded(images: int) -> np.ndarray:
    """Scores (4, I): the first model is the best on every image, the two in the middle are the same model."""
    low = RNG.uniform(0.1, 0.3, images)
    return np.stack([low + 0.6, low + 0.3 + RNG.uniform(0, 0.1, images), np.zeros(images), low])[[0, 1, 1, 3]]


GRADED = graded(len(IMAGES))
RIGHT = np.array([[1] * 16, [1, 0, 0, 1] * 4, [1, 0, 0, 1] * 4, [0, 0, 0, 1] * 4], float)
POOL = [f"p{k:02d}" for k in range(40)]
DRAWN = graded(len(POOL))
PROXY = 1 - DRAWN + np.array([RNG.uniform(-0.1, 0.1, len(POOL))] * 4)
PREFERRED = RNG.uniform(0.8, 1.2, len(POOL))
LEFT = np.cumsum(PREFERRED[::-1])[::-1]


def of_duels(order: list[int], accuracy: np.ndarray = GRADED) -> Standings:
    """Every ordered pair of models meets on every image."""
    pairs = [(d, a) for d in MODELS for a in MODELS if d != a]
    rows = [
        Slot("mad", 1, 1, d, a, "car", k, image, 0.1, 1.0, 9)
        for d, a in pairs
        for k, image in enumerate(IMAGES, 1)
    ]
    names = [MODELS[k] for k in order]
    return fs.ranking.rank_accuracies(
        names, rows, accuracy[order], IMAGES, class_names=["car"], resamples=0, extra=[OWN]
    )


def of_pairs(order: list[int], correct: np.ndarray = RIGHT) -> Standings:
    names = [MODELS[k] for k in order]
    rows: list[Any] = [
        SimpleNamespace(model_a=a, model_b=b, image=image)
        for k, a in enumerate(names)
        for b in names[:k]
        for image in IMAGES
    ]
    return fs.ranking.classifier_rankings(names, rows, correct[order], IMAGES, resamples=0, extra=[OWN])


def of_near(order: list[int], correct: np.ndarray = RIGHT) -> Standings:
    """Every two models meet on every image; a wrong answer is nearer to the label the better the model."""
    names = [MODELS[k] for k in order]
    rows: list[Any] = [
        SimpleNamespace(model_a=a, model_b=b, image=image)
        for k, a in enumerate(names)
        for b in names[:k]
        for image in IMAGES
    ]
    return fs.ranking.classifier_rankings(
        names, rows, correct[order], IMAGES, resamples=0, apart=1 - GRADED[order]
    )


def of_draws(order: list[int], accuracy: np.ndarray = DRAWN) -> Standings:
    """Thirty-eight images of a pool of forty, drawn with uneven chances, of which the first thirty have labels
    and all have choices, and labels of twelve on which models do not differ.
    """
    rows = [
        Draw("vma", 1, k + 1, image, 1.0, float(PREFERRED[k] / LEFT[k]), len(POOL))
        for k, image in enumerate(POOL[:38])
    ]
    better = np.sign(accuracy[:, None] - accuracy)
    votes = {
        (image, MODELS[a], MODELS[b]): {"ann": float(better[a, b, k] + 1) / 2}
        for k, image in enumerate(POOL[:38])
        for a, b in combinations(range(4), 2)
    }
    names, rest = [MODELS[k] for k in order], (np.full((4, 12), 0.9), 60)
    return draw_rankings(
        names,
        rows,
        accuracy[order, :30],
        POOL[:30],
        proxy=PROXY[order],
        pool=POOL,
        rest=rest,
        votes=votes,
        resamples=0,
        extra=[OWN],
        learns=True,
    )


def of_looks(order: list[int]) -> Standings:
    """Thirty images of a pool of forty, drawn evenly, which are looked at before the others are labelled."""
    rows = [
        Draw("random", 1, k + 1, image, 1.0, 1 / (len(POOL) - k), len(POOL))
        for k, image in enumerate(POOL[:30])
    ]
    return draw_rankings(
        [MODELS[k] for k in order],
        rows,
        DRAWN[order, :30],
        POOL[:30],
        proxy=PROXY[order],
        pool=POOL,
        resamples=0,
        anytime=True,
        learns=False,
    )


def of_choices(order: list[int], accuracy: np.ndarray = GRADED) -> Standings:
    """People choose the better of every two models on every image, each for itself; a tie is half, and a
    model that nothing is known of is never shown.
    """
    pairs = [(d, a) for d in range(4) for a in range(d) if not np.isnan(accuracy[[d, a]]).all(1).any()]
    said = {}
    for a, b in pairs:
        for k, image in enumerate(IMAGES):
            said[image, MODELS[a], MODELS[b]] = (float(np.sign(accuracy[a, k] - accuracy[b, k]) + 1) / 2, 2)
    rows = [
        Slot("mad", 1, 1, MODELS[a], MODELS[b], "car", 1, image, 0.1, 1.0, 9)
        for a, b in pairs
        for image in IMAGES
    ]
    names = [MODELS[k] for k in order]
    none = np.full((4, len(IMAGES)), np.nan)
    return fs.ranking.rank_accuracies(
        names, rows, none, IMAGES, class_names=["car"], resamples=0, choices=said
    )


def of_points(order: list[int]) -> Standings:
    """Nine classes of four pixels each, of which a model is right about a share; a mask tells every pixel."""
    names = [MODELS[k] for k in order]
    rng = np.random.default_rng(5)
    truth = np.repeat(np.arange(9), 4)
    middle = np.where(rng.random(36) < 0.5, truth, 0)
    said = np.stack([truth, middle, middle, np.roll(truth, 4)])[order]
    pool = PointPool(np.zeros((4, 0), int), np.zeros(0), 9, mask_counts(said, truth, 9))
    totals = point_totals(pool, PointAnswers(np.zeros(0, int), np.zeros(0), np.zeros((0, 10))))
    found = point_scores(totals)
    row = point_ranking(tuple(names), found, pool_spread(totals, found), speaks_of="pool")
    return Standings(tuple(names), {}, {}, {"points": row}, {})


WORLDS: dict[str, Callable[..., Standings]] = {
    "ratios": of_duels,
    "counts": of_pairs,
    "distances": of_near,
    "draws": of_draws,
    "scores": of_duels,
    "choices": of_choices,
    "points": of_points,
}


def world_of(ranking: Ranking) -> Callable[..., Standings]:
    return of_looks if ranking.name == "anytime" else WORLDS[ranking.takes]


ALL = pytest.mark.parametrize("ranking", [*RANKINGS, OWN], ids=lambda ranking: ranking.name)


def scores(found: Standings, name: str) -> np.ndarray:
    assert not found.rankings[name].unusable
    return np.array([found.rankings[name].scores[model] for model in MODELS])


@ALL
def test_permuting_models_permutes_their_scores(ranking: Ranking) -> None:
    world = world_of(ranking)
    found = scores(world([0, 1, 2, 3]), ranking.name)
    assert scores(world([2, 0, 3, 1]), ranking.name) == pytest.approx(found, rel=1e-9, abs=1e-12)


@ALL
def test_a_model_that_wins_everything_is_first_and_one_that_loses_everything_last(ranking: Ranking) -> None:
    for order in ([0, 1, 2, 3], [3, 2, 1, 0]):
        found = world_of(ranking)(order).rankings[ranking.name].order
        assert (found[0], found[-1]) == ("best", "worst")


@ALL
def test_the_same_model_under_two_names_ties(ranking: Ranking) -> None:
    found = scores(world_of(ranking)([0, 1, 2, 3]), ranking.name)
    assert found[1] == pytest.approx(found[2], rel=1e-9, abs=1e-12)
    assert len({round(float(score), 9) for score in found}) == 3


@ALL
def test_scores_lie_in_the_span_that_the_entry_says(ranking: Ranking) -> None:
    low, high = ranking.span(4)
    found = scores(world_of(ranking)([0, 1, 2, 3]), ranking.name)
    assert (found >= low).all()
    assert (found <= high).all()


@pytest.mark.parametrize(
    "ranking", [r for r in RANKINGS if r.takes not in ("draws", "points")], ids=lambda ranking: ranking.name
)
def test_a_model_without_any_label_has_no_score(ranking: Ranking) -> None:
    world, known = WORLDS[ranking.takes], RIGHT if ranking.takes in ("counts", "distances") else GRADED
    lacking = np.where(np.arange(4)[:, None] == 3, np.nan, known)
    found = scores(world([0, 1, 2, 3], lacking), ranking.name)
    assert np.isnan(found).tolist() == [False, False, False, True]


def test_every_entry_is_complete_and_has_its_row_in_the_guide() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "explanation" / "rankings.md").read_text(encoding="utf-8")
    told = re.findall(
        r"^\| ((?:`\w+`(?:, )?)+) \|",
        guide.partition("## The rankings")[2].partition("\n## ")[0],
        re.MULTILINE,
    )
    rows = [name for cell in told for name in re.findall(r"\w+", cell)]
    assert sorted(rows) == sorted(ranking.name for ranking in RANKINGS)
    for ranking in RANKINGS:
        assert all(ranking.words().values()), ranking.name
        assert ranking.kind in KINDS
        assert (ranking.matrix is None) == (ranking.takes != "ratios")
    assert len({word for ranking in RANKINGS for word in (ranking.title, ranking.name)}) == 2 * len(RANKINGS)


def test_a_ranking_of_ones_own_fits_what_it_takes_and_is_recorded() -> None:
    for world in (of_duels, of_pairs, of_draws):
        assert world([0, 1, 2, 3]).definitions["rankings"] == [OWN.words()]
    refuse_misfits([OWN], None)
    (borda,) = (ranking for ranking in taking("counts") if ranking.name == "borda")
    refuse_misfits([borda], "counts")
    with refused(
        fs.errors.OptionError,
        "--ranking borda is made from pairs of classifiers, and this selection is of others",
    ):
        refuse_misfits([borda], "ratios")
    with refused(fs.errors.OptionError, "--ranking best_case is given twice"):
        refuse_misfits([OWN, OWN], None)


def test_a_ranking_of_ones_own_cannot_change_the_counts_that_the_others_are_made_from(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from faultscape.ranking import Ranking\n"
        "def write(counts, laplace):\n    counts.wins[:] = 0\n    return counts.wins[..., 0]\n"
        "WRITES = Ranking('writes', 'W', 'W', 'w', 'ours', 'faithful', 'counts', write)\n"
    )
    counts = PairCounts(*(np.ones((1, 2, 2)) for _ in range(4)))
    with refused(RankingError, "mine.py:WRITES: ValueError: assignment destination is read-only"):
        find_ranking(f"{tmp_path / 'mine.py'}:WRITES").compute(counts, 1.0)
    assert (counts.wins == 1).all()
