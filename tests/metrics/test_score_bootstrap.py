"""The bootstrap from sparse histograms is the bootstrap of the pixels themselves, rounded to float16."""

from __future__ import annotations

import numpy as np
import pytest

import faultscape as fs
from faultscape.metrics.scores import bootstrap as sb


def images(seed: int = 0, n: int = 7) -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(n):
        mask = rng.choice([0, 0, 0, 1, 255], (12, 15))
        out.append((np.clip(rng.random(mask.shape) * 0.7 + 0.3 * (mask == 1), 0, 1).astype(np.float32), mask))
    return out


@pytest.mark.parametrize(("logit", "shift"), [(True, 0.0), (False, -3.0)])
@pytest.mark.parametrize("rule", ["first", "closest"])
def test_replicates_are_the_exact_metrics_of_the_drawn_pixels(logit: bool, shift: float, rule: str) -> None:
    given = [(score + np.float32(shift), mask) for score, mask in images()]
    rng = np.random.default_rng(1)
    weights = np.concatenate([np.ones((1, 7)), rng.multinomial(7, np.full(7, 1 / 7), 40)])
    found = sb.replicates(
        [sb.sparse_histogram(*pair, sb.Coarse(logit=logit)) for pair in given], weights, fpr_rule=rule
    )
    for row, times in zip(found, weights.astype(int), strict=True):
        drawn = [given[k] for k in range(7) for _ in range(times[k])]
        score = np.concatenate(
            [sb.coarse_scores(s, sb.Coarse(logit=logit)).ravel() for s, _ in drawn]
        ).astype(np.float32)
        exact = fs.metrics.detection(score, np.concatenate([m.ravel() for _, m in drawn]), fpr_rule=rule)
        assert row == pytest.approx([exact.average_precision, exact.auroc, exact.fpr95], abs=1e-12)


def test_coarse_scores_keep_the_order_and_the_ends() -> None:
    score = np.sort(np.random.default_rng(2).standard_normal(1000).astype(np.float32) * 1e6)
    assert (np.diff(sb.coarse_scores(score, sb.Coarse(logit=False)).astype(float)) >= 0).all()
    p = np.linspace(0, 1, 1001)
    assert (np.diff(sb.coarse_scores(p, sb.Coarse(logit=True)).astype(float)) > 0).all()
    assert np.isfinite(sb.coarse_scores(np.array([0.0, 1.0, 3e38, -3e38]), sb.Coarse(logit=False))).all()


def test_all_images_together_are_one_histogram() -> None:
    sparse = [sb.sparse_histogram(*pair, sb.Coarse(logit=True)) for pair in images()]
    whole = sb.together(sparse)
    assert (whole.known.sum(), whole.anomalous.sum()) == (
        sum((m == 0).sum() for _, m in images()),
        sum((m == 1).sum() for _, m in images()),
    )


def test_a_replicate_without_an_anomaly_has_no_value() -> None:
    none, some = (np.array([0.2, 0.4]), np.array([0, 0])), (np.array([0.1, 0.9]), np.array([0, 1]))
    sparse = [sb.sparse_histogram(*pair, sb.Coarse(logit=True)) for pair in (none, some)]
    found = sb.replicates(sparse, np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]))
    assert np.isnan(found[0]).all()
    assert found[1].tolist() == [1.0, 1.0, 0.0]
    assert np.isnan(found[2]).all()


@pytest.mark.parametrize(
    ("times", "more"), [(1.0, 0.0), (1.0, 1e6), (1e-12, 0.0), (1e12, -1e15), (1e300, 0.0), (1e-300, 0.0)]
)
def test_neither_an_offset_nor_a_unit_changes_the_replicates(times: float, more: float) -> None:
    """What ranks the pixels alike has the same intervals, up to the steps of float16."""
    given = [(-np.log(score.astype(float) / 1.01 + 0.001), mask) for score, mask in images()]
    weights = np.random.default_rng(1).multinomial(7, np.full(7, 1 / 7), 40)

    def replicates(of: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
        whole = fs.metrics.detection(np.concatenate([s for s, _ in of]), np.concatenate([m for _, m in of]))
        how = sb.coarse_of(whole)
        return sb.replicates([sb.sparse_histogram(*pair, how) for pair in of], weights)

    found = replicates([(score * times + more, mask) for score, mask in given])
    assert found == pytest.approx(replicates(given), abs=2e-3)


def test_void_everywhere_has_no_value() -> None:
    nothing = [sb.sparse_histogram(np.array([0.5]), np.array([255]), sb.Coarse(logit=True))] * 2
    assert np.isnan(sb.replicates(nothing, np.ones((3, 2)))).all()


@pytest.mark.parametrize("how", [sb.Coarse(logit=True), sb.Coarse(logit=True, centre=-3.0, width=0.5)])
def test_confidence_is_found_again_from_the_places_of_doubt(how: sb.Coarse) -> None:
    doubt = np.sort(1 / (1 + np.exp(-np.random.default_rng(6).uniform(-8, 2, 200))))
    found = sb.confidence_at([sb.sparse_histogram(doubt, np.zeros(200, int), how)], how)
    places = sb.sparse_histogram(doubt, np.zeros(200, int), how).known
    assert found.repeat(places) == pytest.approx(1 - doubt, abs=2e-3)
