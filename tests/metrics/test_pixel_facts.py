"""What the probabilities of a pixel say: the compiled pass equals its plain twin and float64, no pixels tie
that the logits tell apart, and S4 eq. 1 and 2 hold.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from faultscape.maps import winners
from faultscape.metrics import pixel_facts
from faultscape.metrics.kernels import plain_softmax
from faultscape.metrics.pixel_facts import facts_of, facts_of_members

FIELDS = ("winner", "second", "others", "entropy", "top", "log_sum", "expected", "information", "predictive")
logits = arrays(
    np.float32,
    st.tuples(st.integers(1, 7), st.integers(1, 5), st.integers(1, 6)),
    elements=st.floats(-30, 30, width=32),
)
sizes = st.tuples(st.integers(1, 12), st.integers(1, 12))


def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pixel_facts, "_kernels", lambda: plain_softmax)


def wide(scores: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Probabilities in float64, of the same interpolated logits."""
    z = winners.enlarged(scores, size).astype(np.float64)
    e = np.exp(z - z.max(0))
    return e / e.sum(0)


@settings(max_examples=60, deadline=None)
@given(logits, sizes)
def test_facts_are_those_of_float64(scores: np.ndarray, size: tuple[int, int]) -> None:
    facts, p = facts_of(scores, size), wide(scores, size)
    ranked = np.sort(p, axis=0)[::-1]
    np.testing.assert_allclose(facts.winner, ranked[0], rtol=1e-5)
    np.testing.assert_allclose(facts.others, ranked[1:].sum(0), rtol=2e-5, atol=1e-24)
    np.testing.assert_allclose(facts.second, ranked[1] if len(p) > 1 else 0, rtol=2e-5, atol=1e-24)
    np.testing.assert_allclose(
        facts.entropy, -(p * np.log(np.where(p > 0, p, 1))).sum(0), rtol=2e-5, atol=1e-7
    )
    z = winners.enlarged(scores, size).astype(np.float64)
    np.testing.assert_allclose(
        facts.log_sum, z.max(0) + np.log(np.exp(z - z.max(0)).sum(0)), rtol=1e-5, atol=1e-5
    )


@settings(max_examples=60, deadline=None)
@given(logits, sizes, st.booleans())
def test_the_generalised_entropy_is_that_of_float64(
    scores: np.ndarray, size: tuple[int, int], compiled: bool
) -> None:
    """Liu et al. 2023: sum (p (1 - p))^.1; of members, of their mean probability."""
    assume(len(scores) > 1)

    def entropy(p: np.ndarray) -> np.ndarray:
        others = np.array([np.delete(p, c, axis=0).sum(0) for c in range(len(p))])  # 1 - p
        return ((p * others) ** 0.1).sum(0)

    with pytest.MonkeyPatch.context() as patch:
        if not compiled:
            plain(patch)
        p, q = wide(scores, size), wide(scores[::-1] * 0.5, size)
        made = facts_of(scores, size).generalised()
        of_mean = facts_of_members([scores, scores[::-1] * 0.5], size).generalised()
    np.testing.assert_allclose(made, entropy(p), rtol=1e-5)
    np.testing.assert_allclose(of_mean, entropy((p + q) / 2), rtol=1e-5)


@settings(max_examples=30, deadline=None)
@given(logits, sizes, st.booleans())
def test_the_compiled_pass_equals_its_plain_twin(
    scores: np.ndarray, size: tuple[int, int], marginal: bool
) -> None:
    scores = np.abs(scores) if marginal else scores
    both = []
    for twin in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            if twin:
                plain(patch)
            both.append(
                (
                    facts_of(scores, size, marginal=marginal),
                    facts_of_members([scores, scores[::-1] * 0.5], size, marginal=marginal),
                )
            )
    for mine, theirs in zip(*both, strict=True):
        for name in FIELDS:
            one, other = getattr(mine, name), getattr(theirs, name)
            assert (one is None) == (other is None)
            if one is not None:
                np.testing.assert_allclose(one, other, rtol=3e-5, atol=1e-6)
        np.testing.assert_allclose(mine.generalised(), theirs.generalised(), rtol=3e-5)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(arrays(np.float32, (4, 3, 2), elements=st.floats(-20, 20, width=32)), min_size=2, max_size=4),
    sizes,
)
def test_total_doubt_is_expected_doubt_and_mutual_information(
    members: list[np.ndarray], size: tuple[int, int]
) -> None:
    """S4 eq. 1 and 2."""
    facts = facts_of_members(members, size)
    mean = np.mean([wide(scores, size) for scores in members], axis=0)
    np.testing.assert_allclose(
        facts.predictive, -(mean * np.log(np.where(mean > 0, mean, 1))).sum(0), rtol=1e-4, atol=1e-6
    )
    assert facts.expected is not None
    assert facts.information is not None
    np.testing.assert_allclose(facts.predictive, facts.expected + facts.information, rtol=1e-4, atol=1e-5)
    assert (facts.information >= 0).all()
    best = mean.max(0)
    np.testing.assert_allclose(
        np.take_along_axis(mean, facts.labels[None].astype(int), 0)[0], best, rtol=1e-5
    )


@pytest.mark.parametrize("members", [2, 3, 5])
@pytest.mark.parametrize("apart", [0.01, 0.1, 1.0, 8.0])
def test_mutual_information_is_that_of_float64_however_near_the_members_are(
    members: int, apart: float
) -> None:
    rng = np.random.default_rng(members)
    base = rng.normal(size=(7, 30, 40)).astype(np.float32) * 5
    several = [
        base + rng.normal(size=base.shape).astype(np.float32) * np.float32(apart) for _ in range(members)
    ]
    facts = facts_of_members(several, (40, 30))
    p = np.stack([wide(scores, (40, 30)) for scores in several])
    mean = p.mean(0)
    np.testing.assert_allclose(
        facts.information, (p * np.log(p / mean) - p + mean).sum(1).mean(0), rtol=2e-5 / min(apart, 1)
    )
    np.testing.assert_allclose(facts.expected, -(p * np.log(p)).sum(1).mean(0), rtol=2e-6)
    np.testing.assert_allclose(facts.predictive, -(mean * np.log(mean)).sum(0), rtol=2e-6)
    np.testing.assert_allclose(facts.others, np.sort(mean, axis=0)[:-1].sum(0), rtol=2e-6)


def test_members_of_several_sizes_are_averaged_at_the_wanted_one() -> None:
    rng = np.random.default_rng(0)
    members = [
        rng.normal(size=(3, 2, 2)).astype(np.float32) * 4,
        rng.normal(size=(3, 6, 8)).astype(np.float32) * 4,
    ]
    facts = facts_of_members(members, (8, 6))
    mean = np.mean([wide(scores, (8, 6)) for scores in members], axis=0)
    np.testing.assert_allclose(facts.winner, mean.max(0), rtol=1e-5)


def test_members_that_agree_have_no_mutual_information_and_differ_by_what_float32_tells_apart() -> None:
    scores = np.random.default_rng(1).normal(size=(5, 4, 4)).astype(np.float32) * 5
    assert facts_of_members([scores, scores], (4, 4)).information.max() == 0
    a_little = facts_of_members(
        [scores, scores + np.float32([1e-3, 0, 0, 0, 0])[:, None, None]], (4, 4)
    ).information
    assert a_little.min() > 0
    assert a_little.max() < 1e-6


def test_no_two_pixels_tie_that_the_logits_tell_apart() -> None:
    gaps = np.linspace(20, 60, 4096, dtype=np.float32)
    facts = facts_of(np.stack([np.zeros_like(gaps), -gaps])[:, None], (4096, 1))
    for values in (facts.others, facts.entropy):
        assert len(np.unique(values)) == 4096
        assert (np.diff(values[0]) < 0).all()
    assert len(np.unique(1 - facts.winner)) == 1  # what peers do


def test_marginal_scores_are_shares_of_their_sum() -> None:
    scores = np.array([[[3.0, 0.0]], [[1.0, 0.0]]], np.float32)
    facts = facts_of(scores, (2, 1), marginal=True)
    np.testing.assert_allclose(facts.winner, [[0.75, 0.5]], rtol=1e-6)
    assert facts.top is None
    assert facts.log_sum is None
