"""SCORERS: one law over all entries, rounding that keeps their order, and one of one's own."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
from faultscape.errors import MetricError, OptionError
from faultscape.metrics.pixel_facts import facts_of, facts_of_members
from faultscape.metrics.scorers import (
    SCORERS,
    Scorer,
    check_scorers,
    missing,
    offset_of,
    rounded,
    score_pixels,
    scorer_named,
)
from faultscape.metrics.scores.histogram import detection_from_histogram, histogram16
from refusals import refused

# not of facts
TRAINED = [scorer.name for scorer in SCORERS if scorer.needs in ("void", "outlier", "dirichlet", "fitted")]
NAMES = [scorer.name for scorer in SCORERS if scorer.name not in TRAINED]
OWN = """
from faultscape.metrics.scorers import Scorer
TWICE = Scorer("twice", "Twice", "2 (1 - max p)", lambda facts: facts.others * 2, most=lambda classes: 2.0)
WRONG = Scorer("wrong", "Wrong", "nothing", lambda facts: facts.others[0])
"""


def pixels(sharpness: np.ndarray) -> np.ndarray:
    """Logits (3, 1, N) of two members each, that fall with what is given."""
    return np.stack([sharpness, np.zeros_like(sharpness), -sharpness])[:, None].astype(np.float32)


@pytest.mark.parametrize("name", NAMES)
def test_every_scorer_is_complete_and_large_where_the_model_doubts(name: str) -> None:
    scorer = scorer_named(name)
    assert all(getattr(scorer, field.name) is not None for field in fields(scorer) if field.name != "most")
    assert scorer.title
    assert scorer.formula
    sharp = np.linspace(8, 0.5, 40)
    one, other = pixels(sharp), pixels(sharp) * np.linspace(1, 0.2, 40, dtype=np.float32)
    facts = facts_of_members([one, other], (40, 1)) if scorer.needs == "members" else facts_of(one, (40, 1))
    facts = replace(facts, variance=np.exp(-sharp, dtype=np.float32)[None])
    score = score_pixels(scorer, facts, classes=3, key=b"image")
    assert score.dtype == np.float32
    assert score.shape == (1, 40)
    assert np.isfinite(score).all()
    if scorer.needs not in ("nothing", "members"):
        assert (np.diff(score[0]) > 0).all()
    half = rounded(scorer, score, 3, offset_of(scorer, [score]))
    assert half.dtype == np.float16
    order = np.argsort(score[0], kind="stable")
    assert (np.diff(half[0][order].astype(float)) >= 0).all()  # rounding turns no pair round
    if scorer.most is not None:
        assert score.max() <= scorer.most(3)


def test_scores_are_those_of_their_formulas() -> None:
    p = np.array([0.7, 0.2, 0.1])
    facts = facts_of(np.log(p).astype(np.float32)[:, None, None] + 3, (1, 1))
    expected = {
        "msp": 0.3,
        "entropy": -(p * np.log(p)).sum(),
        "margin": 0.5,
        "max-logit": -(np.log(0.7) + 3),
        "energy": -3.0,
        "gen": ((p * (1 - p)) ** 0.1).sum(),
    }
    for name, value in expected.items():
        assert score_pixels(scorer_named(name), facts)[0, 0] == pytest.approx(value, rel=1e-5)


def test_a_scorer_says_what_a_model_lacks() -> None:
    one = facts_of(np.zeros((2, 1, 1), np.float32), (1, 1))
    several = facts_of_members([np.zeros((2, 1, 1), np.float32)] * 2, (1, 1))
    assert [name for name in NAMES if missing(scorer_named(name), one)] == [
        "predictive-entropy",
        "expected-entropy",
        "mutual-information",
        "mutual-information-corrected",
        "variance",
    ]
    assert [name for name in NAMES if missing(scorer_named(name), several)] == [
        "max-logit",
        "energy",
        "variance",
    ]
    for name in TRAINED:
        assert "train" in missing(scorer_named(name), one) or "faultscape fit" in missing(
            scorer_named(name), one
        )


def test_chance_follows_from_the_image_alone() -> None:
    facts = facts_of(np.zeros((2, 4, 4), np.float32), (64, 64))
    first, again, other = (score_pixels(scorer_named("random"), facts, key=key) for key in (b"a", b"a", b"b"))
    assert (first == again).all()
    assert (first != other).mean() > 0.99
    assert 0.45 < first.mean() < 0.55


def test_few_members_make_mutual_information_too_small_and_the_correction_makes_up_for_it() -> None:
    """S4 eq. 2 of T members is about 1/T too small; T / (T - 1) removes the bias of first order."""
    rng = np.random.default_rng(0)
    mean = rng.normal(size=(5, 1, 50)).astype(np.float32)

    def information(members: int, repeats: int, name: str) -> float:
        drawn = np.repeat(mean, repeats, axis=2)
        noise = rng.normal(size=(members, *drawn.shape)).astype(np.float32)
        facts = facts_of_members([*(drawn + noise)], (drawn.shape[2], 1))
        return float(score_pixels(scorer_named(name), facts).mean())

    truth = information(1500, 2, "mutual-information")
    for members in (3, 8):
        plain, corrected = (
            information(members, 100, f"mutual-information{kind}") / truth for kind in ("", "-corrected")
        )
        assert plain == pytest.approx(1 - 1 / members, abs=0.04)
        assert corrected == pytest.approx(1, abs=0.05)
    with refused(MetricError, "mutual-information-corrected: needs two members or more; got 1"):
        information(1, 1, "mutual-information-corrected")


def test_rounding_keeps_the_order_of_what_float16_cannot_hold() -> None:
    """A likelihood of thousands of features can be 10^7 nats from that of training."""
    flow = scorer_named("flow")
    score = np.array([-9e7, -1e5, -61440.0, -3.0, 0.0, 2.5, 61440.0, 1e5, 1e6, 9e7], np.float32)
    found = rounded(flow, score, 19)
    assert (np.diff(found.astype(float)) > 0).all()
    assert (found[2:7] == score[2:7]).all()  # what it can hold stays as it is
    assert np.isfinite(rounded(flow, np.array([-3e38, 3e38], np.float32), 19)).all()


def test_rounding_keeps_small_doubt_apart() -> None:
    score = np.geomspace(1e-12, 0.5, 500).astype(np.float32)
    assert len(np.unique(rounded(scorer_named("msp"), score, 19))) == 500
    assert rounded(scorer_named("msp"), np.float32([0, 1]), 19).tolist() == [-2048, 2048]
    assert np.isfinite(rounded(scorer_named("energy"), np.float32([-1e30, 1e30]), 19)).all()


@pytest.mark.parametrize("temperature", [1.0, 100.0, 1000.0])
def test_a_temperature_that_makes_all_probabilities_even_leaves_scores_apart(temperature: float) -> None:
    """ODIN at T = 1000: all of 1 - max p lies within a thousandth of the largest value, and its order still
    counts.
    """
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 3, (19, 100, 200)).astype(np.float32)
    anomalous = (rng.uniform(size=logits.shape[1:]) < 0.1).astype(np.uint8)
    logits[:, anomalous == 1] *= 0.8
    score = facts_of(logits / np.float32(temperature), (200, 100)).others
    half = rounded(scorer_named("odin"), score, 19)
    counted = detection_from_histogram(histogram16(half, anomalous))
    exact = fs.metrics.detection(score, anomalous == 1)
    assert counted.average_precision == pytest.approx(exact.average_precision, abs=2e-3)
    assert counted.fpr95 == pytest.approx(exact.fpr95, abs=4e-3)


def test_a_scorer_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    twice = scorer_named(f"{tmp_path / 'own.py'}:TWICE")
    assert isinstance(twice, Scorer)
    facts = facts_of(np.zeros((2, 1, 1), np.float32), (1, 1))
    assert score_pixels(twice, facts)[0, 0] == 1.0
    with refused(
        MetricError, r"scorer wrong: gave float32 of shape \(1,\); expected floats of shape \(1, 1\)"
    ):
        score_pixels(scorer_named(f"{tmp_path / 'own.py'}:WRONG"), facts)


def test_words_that_are_no_scorers_are_refused() -> None:
    with refused(OptionError, "scorer 'mps' is not known; known are .*Did you mean 'msp'"):
        check_scorers(["mps"])
    with refused(OptionError, "--scorer msp is given twice"):
        check_scorers(["msp", "msp"])
    with refused(OptionError, "--scorer none means no scorer; use it alone"):
        check_scorers(["none", "msp"])


@pytest.mark.parametrize("name", TRAINED)
def test_a_scorer_of_a_trained_or_fitted_network_is_complete(name: str) -> None:
    from faultscape.uncertainty.methods.catalogue import METHODS

    scorer = scorer_named(name)
    assert scorer.title
    assert scorer.source
    assert scorer.tells_errors == (name != "void")  # S4 appendix A
    assert (scorer.needs == "fitted") == (name in {method.name for method in METHODS})
    for method in METHODS:
        if method.name == name:
            assert (scorer.title, scorer.formula, scorer.source) == (
                method.title,
                method.formula,
                method.source,
            )


def test_a_file_of_ones_own_is_no_fitted_method_though_its_name_begins_like_one() -> None:
    from faultscape.metrics.scorers import is_fitted

    assert is_fitted("flow-mine")
    assert not is_fitted("flow-mine.py:SCORE")
    assert not is_fitted("knn-../../x")
