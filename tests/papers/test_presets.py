"""The presets `fishyscapes`, `anomaly-seg` and `smiyc` against their rules written down: 60 made scenes and
the real frames, with ties, at all thresholds.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import presets_reference as rule
import pytest
from PIL import Image

import faultscape as fs
import made
from faultscape.metrics.overlaps.components import LIMITS, component_counts, component_metrics
from faultscape.metrics.scores.bootstrap import Coarse, replicates, sparse_histogram
from faultscape.metrics.scores.curves import frame_bins, quantile_curve
from faultscape.verbs.verb import group_options

PIXELS = ("average_precision", "auroc", "fpr95")
COMPONENTS = ("component_siou", "component_precision", "component_f1")


def scene(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A frame with blobs of all sizes, void beside and inside them, and a score of one of six kinds: with
    many ties, some or none.
    """
    rng = np.random.default_rng(seed)
    mask, doubt = np.zeros((72, 96), np.uint8), rng.random((72, 96))
    for _ in range(rng.integers(0, 7)):
        y, x, h, w = rng.integers(0, 66), rng.integers(0, 88), rng.integers(1, 26), rng.integers(1, 34)
        mask[y : y + h, x : x + w] = 1
        if rng.random() < 0.7:  # a find that is moved, or runs over several
            doubt[y + rng.integers(0, 4) : y + h, max(0, x - 3) : x + w + rng.integers(0, 6)] += 0.8
    mask[: rng.integers(0, 9)] = 255
    mask[30:33, 20 : 20 + rng.integers(0, 40)] = 255
    if seed % 20 == 7:
        mask[mask == 0] = 255  # nothing but anomalies
    kinds = (
        lambda s: (s * 6).astype(np.int64) / 12,
        lambda s: np.round(s * 128).astype(np.uint8) / 255,
        lambda s: s.astype(np.float16),
        lambda s: s.astype(np.float32) * 50 - 30,
        lambda s: -np.exp(-s * 9) * 1e3,
        lambda s: s * 1e-3 + 7,
    )
    return kinds[seed // 10](doubt), mask


SCENES = [scene(seed) for seed in range(60)]


@pytest.fixture(scope="module")
def shrunk(data: Path) -> list[tuple[np.ndarray, np.ndarray]]:
    """The masks of the real frames, every sixth pixel, with a made score of float32 rounded to 1/40 on every
    second frame.
    """
    out = []
    for k, path in enumerate(sorted((data / "anomaly").glob("*/masks/*.png"))):
        mask = np.asarray(Image.open(path))[::6, ::6]
        rng = np.random.default_rng(k)
        smooth = np.kron(rng.random((mask.shape[0] // 8 + 1, mask.shape[1] // 8 + 1)), np.ones((8, 8)))
        score = (
            smooth[: mask.shape[0], : mask.shape[1]] * 0.7 + rng.random(mask.shape) * 0.1 + 0.35 * (mask == 1)
        )
        out.append((np.round(score * 40) / 40 if k % 2 else score.astype(np.float32), mask))
    assert len(out) == 67
    return out


def close(found: object, expected: object) -> bool:
    return found == pytest.approx(expected, abs=1e-12, nan_ok=True)


def ours(frames: rule.Frames, preset: str, root: Path) -> dict[str, float]:
    """The numbers that the verb prints for frames in files."""
    for k, (score, mask) in enumerate(frames):
        made.write(root / "masks" / f"{k:03}.png", mask)
        (root / "scores").mkdir(exist_ok=True)
        np.save(root / "scores" / f"{k:03}.npy", score)
    words = {"output": str(root / "out"), "preset": preset, "resamples": 0, "engine": "local", "worst": 0}
    fs.measure(root / "masks", **group_options(fs.measure, {"anomaly": {"a": str(root / "scores")}, **words}))
    found = json.loads((root / "out" / "measure.json").read_text())["models"]["a"]
    return {name: found[name]["value"] for name in (*PIXELS, *COMPONENTS)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("which", "preset"),
    [
        (w, p)
        for w in ("scenes", "frames")
        for p in ("fishyscapes", "anomaly-seg", "smiyc", "smiyc-obstacle")
        if (w, p) != ("frames", "smiyc")
    ],
)
def test_a_preset_gives_the_numbers_of_its_rule(
    preset: str, which: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    frames = SCENES if which == "scenes" else request.getfixturevalue("shrunk")
    found = ours(frames, preset, tmp_path)
    if preset == "fishyscapes":
        expected = rule.fishyscapes(frames)
    elif preset == "anomaly-seg":
        expected = rule.anomaly_seg(frames)
    else:
        *expected, threshold, _ = rule.smiyc_pixels(frames)
        parts = rule.smiyc_components(
            frames, threshold, *LIMITS["obstacle" if preset == "smiyc-obstacle" else "anomaly"]
        )
        assert close([found[name] for name in COMPONENTS], [parts[name] for name in COMPONENTS])
    assert close([found[name] for name in PIXELS], list(expected))


@pytest.mark.parametrize("seed", range(60))
def test_one_frame_alone_and_its_components_at_all_thresholds(seed: int) -> None:
    score, mask = SCENES[seed]
    stored = score.astype(np.float16)
    if (mask == 1).any() and (mask == 0).any():
        assert close(quantile_curve([frame_bins(stored, mask)]), rule.smiyc_pixels([(score, mask)]))
        d = fs.metrics.detection(score, mask, fpr_rule="closest")
        assert close((d.average_precision, d.auroc, d.fpr95), rule.anomaly_seg([(score, mask)]))
        d = fs.metrics.detection(score.astype(np.float32), mask)
        assert close((d.average_precision, d.auroc, d.fpr95), rule.fishyscapes([(score, mask)]))
    levels = np.unique(stored)
    for place, limits in enumerate(((0, 0), LIMITS["obstacle"], (200, 90))):
        # the rule, component by component, is slow: each limit at every third of some twelve levels
        for threshold in levels[:: max(1, len(levels) // 12)][place::3].astype(float):
            counts = component_counts(stored, mask, threshold, min_predicted=limits[0], min_truth=limits[1])
            found = component_metrics(counts)
            expected = rule.smiyc_components([(score, mask)], threshold, *limits)
            assert close([found[name] for name in COMPONENTS], [expected[name] for name in COMPONENTS])


def test_the_closest_recall_is_that_of_the_rule_in_replicates_too() -> None:
    """Ten positives: .9 and 1.0 lie equally far from .95, and float64 decides."""
    score = np.repeat([9, 8, 7, 6, 5, 4], [5, 1, 4, 1, 1, 2]).astype(float)
    mask = np.repeat([1, 0, 1, 0, 1, 0], [5, 1, 4, 1, 1, 2])
    expected = rule.anomaly_seg([(score, mask)])[2]
    assert fs.metrics.detection(score, mask, fpr_rule="closest").fpr95 == expected == 0.5
    one = sparse_histogram(score, mask, Coarse(logit=False))
    assert replicates([one], np.ones((1, 1)), fpr_rule="closest")[0, 2] == expected


def test_a_recall_that_lies_below_the_first_positive_is_a_threshold_too() -> None:
    score, mask = np.array([3, 2, 1]), np.array([0, 1, 0])
    # only the known pixel above
    assert fs.metrics.detection(score, mask, fpr_rule="closest", recall=0.3).fpr95 == 0.5
    assert fs.metrics.detection(score[1:], mask[1:], fpr_rule="closest", recall=0.3).fpr95 == 0
