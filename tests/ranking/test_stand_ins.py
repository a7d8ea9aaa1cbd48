"""Drawn groups of near-duplicates that are labelled on another image than the first: estimates stay unbiased over
groups, intervals hold, and a shift that matters is reported.
"""

from __future__ import annotations

import numpy as np
import pytest

from faultscape.nouns import Draw
from faultscape.ranking.drawn.estimate_intervals import loss_intervals, margin_intervals
from faultscape.ranking.drawn.estimates import lure, margins, prediction_powered
from faultscape.ranking.drawn.stand_ins import score_shifts
from faultscape.selection.draws import draw, members
from made_draws import draw_rankings

MODELS, GROUPS, TWINS, LABELS = 3, 120, 3, 30


def pool(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Losses (J, I) and expected losses (J, I) of images in groups of three that nearly equal each other, and the
    group of each.
    """
    base = rng.beta(2, 5, (MODELS, GROUPS)) + np.array([[0.0], [0.03], [0.06]])
    losses = np.clip(np.repeat(base, TWINS, 1) + rng.normal(0, 0.02, (MODELS, GROUPS * TWINS)), 0, 1)
    expected = np.clip(losses * 0.6 + 0.1 + rng.normal(0, 0.05, losses.shape), 0, 1)
    return losses, expected, np.repeat(np.arange(GROUPS), TWINS)


def claimed(expected: np.ndarray, families: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """The claims (I,) of a selection of duels: in a ``share`` of the groups, the image on which models differ
    most.
    """
    apart = np.ptp(expected, axis=0)
    best = np.zeros(len(families), np.int64)
    for family in np.flatnonzero(rng.random(GROUPS) < share):
        own = np.flatnonzero(families == family)
        best[own[apart[own].argmax()]] = 1
    return best


@pytest.mark.slow
def test_estimates_stay_unbiased_over_groups_and_their_intervals_hold() -> None:
    """The mean over groups of the image that stands for each is what is estimated, whatever the weights, with and
    without a control variate of each group's first image.
    """
    rng = np.random.default_rng(11)
    losses, expected, families = pool(rng)
    claims = claimed(expected, families, 0.5, rng)
    weights = np.ptp(expected, axis=0) + 0.05
    first = np.arange(0, GROUPS * TWINS, TWINS)
    stands = members(first, families, claims, weights > 0)
    assert 0.2 < (stands != first).mean() < 0.5
    truth, apart = losses[:, stands].mean(1), margins(losses[:, stands]).mean(1)
    proxy = expected[:, first]
    off: dict[str, list[np.ndarray]] = {"lure": [], "prediction_powered": []}
    held: dict[str, list[bool]] = {"prediction_powered": [], "margins": []}
    for seed in range(800):
        found = draw(weights, LABELS, seed=seed, families=families)
        own = losses[:, members(found.images, families, claims, weights > 0)]
        at = found.images // TWINS
        powered = prediction_powered(own, found.probability, proxy, at)
        off["lure"].append(lure(own, found.probability, found.pool).loss - truth)
        off["prediction_powered"].append(powered.loss - truth)
        between = margin_intervals(prediction_powered(margins(own), found.probability, margins(proxy), at))
        for name, bounds, right in (
            ("prediction_powered", loss_intervals(powered), truth),
            ("margins", between, apart),
        ):
            held[name] += ((bounds[:, 0] <= right) & (right <= bounds[:, 1])).tolist()
    for errors in off.values():
        each = np.array(errors)
        assert (np.abs(each.mean(0)) < 4 * each.std(0) / np.sqrt(len(each))).all()
    for name, hits in held.items():
        assert 0.93 < np.mean(hits) < 0.99, name


def test_a_control_variate_of_the_image_labelled_would_be_biased() -> None:
    """Why the pool holds the expected losses of each group's first image: what it holds must not depend on what was
    drawn.
    """
    rng = np.random.default_rng(3)
    losses, expected, families = pool(rng)
    claims = claimed(expected, families, 1.0, rng)
    first = np.arange(0, GROUPS * TWINS, TWINS)
    stands = members(first, families, claims, np.ones(len(families), bool))
    expected[:, stands[stands != first]] += 0.2  # predictions show the stand-ins to be harder
    right, wrong = [], []
    for seed in range(150):
        found = draw(np.ones(len(families)), LABELS, seed=seed, families=families)
        own = members(found.images, families, claims, np.ones(len(families), bool))
        at = found.images // TWINS
        fixed = expected[:, first]
        named = fixed.copy()
        named[:, at] = expected[:, own]
        for out, proxy in ((right, fixed), (wrong, named)):
            out.append(prediction_powered(losses[:, own], found.probability, proxy, at).loss)
    off = [np.abs(np.mean(out, 0) - losses[:, stands].mean(1)).max() for out in (right, wrong)]
    assert off[0] < 0.003
    assert off[1] > 0.02


@pytest.mark.parametrize(("shift", "told"), [(0.3, True), (0.001, False)])
def test_a_shift_of_more_than_a_tenth_of_an_interval_is_reported(shift: float, told: bool) -> None:
    rng = np.random.default_rng(5)
    images = [f"i{k}" for k in range(60)]
    rows = [Draw("random", 1, m, images[m - 1], 1.0, 1 / (61 - m), 60) for m in range(1, 21)]
    losses = rng.beta(2, 5, (2, 20))
    proxy = rng.beta(2, 5, (2, 60))
    named = proxy.copy()
    named[0, :10] += shift  # ten draws are labelled on another image, harder for the first model
    options = {"learns": False, "resamples": 0, "proxy": proxy, "pool": images}
    found = draw_rankings(["unet", "fcn"], rows, 1 - losses, images[:20], proxy_named=named, **options)
    notes = [note for note in found.notes if "of its near-duplicates" in note]
    assert bool(notes) is told
    if told:
        moves = score_shifts(margins(named[:, :20]), margins(proxy[:, :20]), np.full(20, 1 / 20))
        assert moves == pytest.approx([-shift / 4, shift / 4])
        assert notes[0].startswith("10 of 20 draws use an image that was already labelled or requested")
        assert "shifts unet's margin by -0.075, more than a tenth" in notes[0]
    plain = draw_rankings(["unet", "fcn"], rows, 1 - losses, images[:20], **options)
    assert repr(plain.rankings) == repr(found.rankings)  # it holds NaN
    assert not any("near-duplicates" in note for note in plain.notes)
    same = draw_rankings(["unet", "fcn"], rows, 1 - losses, images[:20], proxy_named=proxy, **options)
    assert same.notes == plain.notes
