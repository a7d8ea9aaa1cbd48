import numpy as np
import pytest

from faultscape.errors import RankingError
from faultscape.ranking.methods.hodge import hodge_rank, hodge_split
from refusals import refused


def made(seed, j, missing=0.0, batch=()):
    rng = np.random.default_rng(seed)
    flow = np.triu(rng.normal(size=(*batch, j, j)), 1)
    weights = np.triu(
        rng.integers(1, 30, (*batch, j, j)) * (rng.random((*batch, j, j)) >= missing), 1
    ).astype(float)
    return flow - np.swapaxes(flow, -1, -2), weights + np.swapaxes(weights, -1, -2)


def by_least_squares(flow, weights):
    """A plain twin: a row a pair, the pseudo-inverse picks mean zero."""
    first, second = np.nonzero(np.triu(weights, 1))
    root = np.sqrt(weights[first, second])
    rows = root[:, None] * (np.eye(len(flow))[first] - np.eye(len(flow))[second])
    y = root * flow[first, second]
    scores = np.linalg.pinv(rows) @ y
    return scores, ((y - rows @ scores) ** 2).sum() / (y**2).sum()


@pytest.mark.parametrize(("j", "missing"), [(3, 0), (6, 0), (9, 0.3), (12, 0.5)])
def test_hodge_rank_is_weighted_least_squares(j, missing):
    flow, weights = made(j, j, missing)
    scores, share = by_least_squares(flow, weights)
    mine, inconsistent = hodge_rank(np.where(weights > 0, flow, np.nan), weights)
    assert mine == pytest.approx(scores, abs=1e-11)
    assert inconsistent == pytest.approx(share, abs=1e-12)


def test_a_difference_of_scores_is_wholly_consistent():
    v = np.random.default_rng(0).uniform(0.1, 1, 11)
    scores, share = hodge_rank(np.log(v[:, None] / v), made(0, 11)[1])
    assert scores == pytest.approx(np.log(v) - np.log(v).mean(), abs=1e-12)
    assert share == pytest.approx(0, abs=1e-24)


def test_weights_decide_between_what_contradicts():
    # a - b = 0 (weight 1), b - c = 0 (weight 1), a - c = 3 (weight w): s_a - s_c = 6 w / (2 w + 1), by hand
    flow = np.array([[0, 0, 3.0], [0, 0, 0], [-3, 0, 0]])
    for w in (0.5, 1, 4):
        weights = np.array([[0, 1, w], [1, 0, 1], [w, 1, 0]])
        scores, share = hodge_rank(flow, weights)
        assert scores == pytest.approx(3 * w / (2 * w + 1) * np.array([1, 0, -1]))
        assert share == pytest.approx(1 / (2 * w + 1))


def test_a_batch_is_a_loop_and_islands_have_no_score():
    flow, weights = made(1, 6, 0.4, (20,))
    weights[3, :2, 2:] = weights[3, 2:, :2] = 0
    weights[3, 0, 1] = weights[3, 1, 0] = 2
    weights[3, 2, 3:] = weights[3, 3:, 2] = 1
    scores, share = hodge_rank(flow, weights)
    for one, (f, w) in enumerate(zip(flow, weights, strict=True)):
        mine, part = hodge_rank(f, w)
        np.testing.assert_allclose(scores[one], mine, atol=1e-13)
        np.testing.assert_allclose(share[one], part, atol=1e-13)
    assert np.isnan(scores[3]).tolist() == [True, True, False, False, False, False]
    assert np.nansum(scores[3]) == pytest.approx(0)
    assert np.isnan(hodge_rank(np.zeros((3, 3)))[1])
    assert np.isnan(hodge_rank(np.array([[0, np.inf], [-np.inf, 0]]))[0]).all()


def by_projection(flow, weights):
    """A plain twin of the split: projections on the span of all scores, and of all triangles, in the weighted
    product.
    """
    edges = [tuple(e) for e in np.argwhere(np.triu(weights, 1)).tolist()]
    root = np.sqrt([weights[e] for e in edges])
    y = root * [flow[e] for e in edges]
    j = len(flow)
    gradient = np.array(
        [[root[k] * ((i == a) - (i == b)) for i in range(j)] for k, (a, b) in enumerate(edges)]
    )
    triangles = [
        (a, b, c)
        for a in range(j)
        for b in range(a)
        for c in range(b)
        if {(b, a), (c, b), (c, a)} <= set(edges)
    ]
    curl = np.array(
        [
            [(((e == (c, b)) + (e == (b, a))) - (e == (c, a))) / root[k] for a, b, c in triangles]
            for k, e in enumerate(edges)
        ]
    ).reshape(len(edges), len(triangles))
    parts = [m @ (np.linalg.pinv(m) @ y) if m.size else np.zeros(len(y)) for m in (gradient, curl)]
    return [float((p**2).sum() / (y**2).sum()) for p in (*parts, y - sum(parts))]


@pytest.mark.parametrize(("seed", "missing"), [(0, 0.3), (1, 0.4), (2, 0.5), (3, 0.6), (4, 0.0)])
def test_the_split_is_that_of_projections(seed, missing):
    flow, weights = made(seed, 8, missing)
    split = hodge_split(flow, weights)
    assert list(split.values()) == pytest.approx(by_projection(flow, weights), abs=1e-9)
    assert sum(split.values()) == pytest.approx(1)
    if seed in (2, 3):
        assert split["harmonic"] > 0.01  # these graphs have holes
    if not missing:
        assert split["harmonic"] == 0


def test_a_circle_of_three_is_curl():
    circle = np.array([[0, 1.0, -1], [-1, 0, 1], [1, -1, 0]])
    assert hodge_split(circle) == {"gradient": 0, "curl": 1, "harmonic": 0}
    assert np.isnan(list(hodge_split(np.zeros((3, 3))).values())).all()


def test_what_is_no_flow_is_refused():
    with refused(RankingError, "skew-symmetric"):
        hodge_rank(np.ones((2, 2)))
    with refused(RankingError, "symmetric, finite and not negative"):
        hodge_rank(np.zeros((2, 2)), np.array([[0, 1], [2, 0]]))
    with refused(RankingError, "square"):
        hodge_rank(np.zeros((2, 3)))
