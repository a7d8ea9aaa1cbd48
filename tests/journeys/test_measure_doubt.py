"""The road of doubt: doubt, confidence and probabilities of maps against their mistakes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.cli import main
from faultscape.metrics import calibration, doubt, selective
from refusals import refused_line


@pytest.fixture
def maps(tmp_path: Path) -> tuple[made.Corpus, dict[str, np.ndarray]]:
    """A corpus whose model-1 has probabilities that make its maps."""
    corpus = made.corpus(tmp_path / "corpus", images=8, models=2)
    rng = np.random.default_rng(1)
    out = {}
    for k, id_ in enumerate(corpus.ids):
        p = rng.dirichlet([0.3] * 5, corpus.truths[k].shape).transpose(2, 0, 1)
        order = np.argsort(-p, 0)
        first = np.take_along_axis(p, order, 0)
        label = corpus.maps["model-1"][k]
        rank = np.argsort(np.where(np.arange(5)[:, None, None] == label, -1, np.arange(5)[:, None, None]), 0)
        p = np.empty_like(p)
        np.put_along_axis(p, rank, first, 0)
        p = p.astype(np.float32)
        assert (p.argmax(0) == label).all()
        out[id_] = p
        for what, values in (("probabilities", p), ("doubt", doubt.entropy(p)), ("sure", p.max(0))):
            (tmp_path / what / id_).parent.mkdir(parents=True, exist_ok=True)
            np.save(tmp_path / what / f"{id_}.npy", values)
        made.write(tmp_path / "sure8" / f"{id_}.png", np.round(p.max(0) * 255).astype(np.uint8))
    return corpus, out


def line_of(corpus: made.Corpus, root: Path, *words: str) -> list[str]:
    maps = f"model-1={corpus.models['model-1']}"
    out = ["-o", str(root / "o"), "--no-boundaries", "--resamples", "50"]
    return ["measure", str(corpus.truth), maps, "--classes", str(corpus.classes), *out, *words]


def of_maps(corpus: made.Corpus, root: Path, *words: str) -> dict[str, Any]:
    assert main(line_of(corpus, root, *words)) == 0
    return json.loads((root / "o" / "measure.json").read_text())


def test_probabilities_that_name_another_class_than_the_map_are_told_with_their_share(
    maps: Any, tmp_path: Path
) -> None:
    """Channels in another order than the class list's: the commonest mistake, and nothing else would say
    it.
    """
    corpus, p = maps
    words = ("--probabilities", f"model-1={tmp_path / 'probabilities'}")
    assert not any(
        "differs from the most probable class" in note for note in of_maps(corpus, tmp_path, *words)["notes"]
    )
    other = judged = 0
    for id_, values in p.items():
        turned = values[[1, 0, 2, 3, 4]]
        np.save(tmp_path / "probabilities" / f"{id_}.npy", turned)
        k = corpus.ids.index(id_)
        kept = corpus.truths[k] < 5
        label = corpus.maps["model-1"][k]
        other += int((kept & (turned.argmax(0) != label)).sum())
        judged += int(kept.sum())
    told = [
        note
        for note in of_maps(corpus, tmp_path, *words)["notes"]
        if "differs from the most probable class" in note
    ]
    assert len(told) == 1
    assert (
        f"in {100 * other / judged:.1f} % of the pixels; check that their channels are in the order"
        in told[0]
    )


def test_probabilities_give_calibration_and_doubt_without_ties(maps: Any, tmp_path: Path) -> None:
    corpus, p = maps
    found = of_maps(corpus, tmp_path, "--probabilities", f"model-1={tmp_path / 'probabilities'}")["models"][
        "model-1"
    ]
    ids = sorted(p)
    wrong = np.stack(
        [corpus.maps["model-1"][corpus.ids.index(i)] != corpus.truths[corpus.ids.index(i)] for i in ids]
    )
    unsure = np.stack([doubt.max_probability(p[i]) for i in ids])
    exact = fs.metrics.detection(unsure, wrong)
    assert found["calibration_auroc"]["value"] == pytest.approx(exact.auroc, abs=1e-12)
    assert found["misclassification_ap"]["value"] == pytest.approx(exact.average_precision, abs=1e-12)
    other = fs.metrics.misclassification(unsure, wrong.astype(np.uint8)).correct
    assert found["correct_ap"]["value"] == pytest.approx(other.average_precision, abs=1e-12)
    assert found["correct_ap"]["low"] <= found["correct_ap"]["value"] <= found["correct_ap"]["high"]
    label = np.stack([corpus.truths[corpus.ids.index(i)] for i in ids])
    stacked = np.stack([p[i] for i in ids]).transpose(1, 0, 2, 3)
    counts = calibration.probability_counts(stacked, label)
    sure = calibration.calibration_counts(stacked.max(0), ~wrong)
    assert found["nll"]["value"] == pytest.approx(float(calibration.nll(counts, sure["judged"])))
    assert found["brier"]["value"] == pytest.approx(float(calibration.brier(counts, sure["judged"])))
    assert found["ece"]["value"] == pytest.approx(float(calibration.ece(sure)))
    assert found["ece_classwise"]["value"] == pytest.approx(float(calibration.ece_classwise(counts)))
    equal = found["ece_equal_mass"]
    assert equal["value"] == pytest.approx(calibration.equal_mass_exact(stacked.max(0), ~wrong), abs=1e-4)
    assert equal["low"] < equal["value"] < equal["high"] < equal["value"] + 0.1
    right, bad = selective.groups(unsure, wrong)
    assert found["aurc"]["value"] == pytest.approx(float(selective.aurc(right, bad)), abs=1e-4)
    assert found["augrc"]["value"] == pytest.approx(float(selective.augrc(right, bad)), abs=1e-12)


@pytest.mark.slow
def test_doubt_goes_before_confidence_and_8_bits_are_warned_of(maps: Any, tmp_path: Path) -> None:
    corpus, p = maps
    entropy = of_maps(
        corpus,
        tmp_path,
        "--doubt",
        f"model-1={tmp_path / 'doubt'}",
        "--confidence",
        f"model-1={tmp_path / 'sure'}",
    )
    ids = sorted(p)
    wrong = np.stack(
        [corpus.maps["model-1"][corpus.ids.index(i)] != corpus.truths[corpus.ids.index(i)] for i in ids]
    )
    exact = fs.metrics.detection(np.stack([doubt.entropy(p[i]) for i in ids]), wrong)
    assert entropy["models"]["model-1"]["calibration_auroc"]["value"] == pytest.approx(exact.auroc, abs=1e-12)
    assert "ece" in entropy["models"]["model-1"]
    assert "confidence" in entropy["curves"]["model-1"]
    coarse = of_maps(corpus, tmp_path, "--confidence", f"model-1={tmp_path / 'sure8'}")
    assert any("8-bit images" in note and "ties" in note for note in coarse["notes"])
    fine = of_maps(corpus, tmp_path, "--confidence", f"model-1={tmp_path / 'sure'}")
    assert fine["models"]["model-1"]["calibration_auroc"]["value"] == pytest.approx(
        coarse["models"]["model-1"]["calibration_auroc"]["value"], abs=0.01
    )


def test_probabilities_a_thousandth_above_1_are_still_some_and_more_are_none(
    maps: Any, tmp_path: Path
) -> None:
    """What one pass over the scores lets through, none of the later ones refuses."""
    corpus, p = maps
    first, second = sorted(p)[:2]
    for id_, top in ((first, 1.0009), (second, 1.2)):
        values = p[id_].copy()
        values[:, 0, 0] = 0
        values[0, 0, 0] = top
        np.save(tmp_path / "probabilities" / f"{id_}.npy", values)
    found = of_maps(corpus, tmp_path, "--probabilities", f"model-1={tmp_path / 'probabilities'}", "--skip")
    assert "ece" in found["models"]["model-1"]
    rows = (tmp_path / "o" / "failures.csv").read_text()
    assert second in rows
    assert first not in rows


def test_a_file_of_confidence_that_is_wrong_is_one_failure(maps: Any, tmp_path: Path) -> None:
    corpus, p = maps
    np.save(tmp_path / "sure" / f"{min(p)}.npy", np.full((3, 3), 0.5, np.float32))
    found = of_maps(corpus, tmp_path, "--confidence", f"model-1={tmp_path / 'sure'}", "--skip")
    assert found["failures"] == 1
    assert (tmp_path / "o" / "failures.csv").read_text().count(min(p)) >= 1


def test_a_softmax_that_ends_a_rounding_above_1_is_still_one(maps: Any, tmp_path: Path) -> None:
    corpus, p = maps
    sharp = (p[corpus.ids[0]] == p[corpus.ids[0]].max(0)).astype(np.float32) * np.nextafter(
        np.float32(1), np.float32(2)
    )
    np.save(tmp_path / "probabilities" / f"{corpus.ids[0]}.npy", sharp)
    found = of_maps(corpus, tmp_path, "--probabilities", f"model-1={tmp_path / 'probabilities'}")["models"][
        "model-1"
    ]
    assert 0 <= found["ece"]["value"] <= 1


@pytest.mark.parametrize("absent", [0, 3])
def test_doubt_of_all_frames_and_confidence_of_some(absent: int, maps: Any, tmp_path: Path) -> None:
    corpus, p = maps
    ids = sorted(p)
    (tmp_path / "sure" / f"{ids[absent]}.npy").unlink()
    words = ("--doubt", f"model-1={tmp_path / 'doubt'}", "--confidence", f"model-1={tmp_path / 'sure'}")
    found = of_maps(corpus, tmp_path, *words)["models"]["model-1"]
    left = [i for i in ids if i != ids[absent]]
    wrong = np.stack(
        [corpus.maps["model-1"][corpus.ids.index(i)] != corpus.truths[corpus.ids.index(i)] for i in left]
    )
    sure = calibration.calibration_counts(np.stack([p[i].max(0) for i in left]), ~wrong)
    assert found["ece"]["value"] == pytest.approx(float(calibration.ece(sure)))


def test_maps_brought_to_the_size_of_their_truth_have_their_doubt_judged_too(
    maps: Any, tmp_path: Path
) -> None:
    corpus, _ = maps
    made.write(
        corpus.models["model-1"] / f"{corpus.ids[0]}.png", corpus.maps["model-1"][0].repeat(2, 0).repeat(2, 1)
    )
    found = of_maps(corpus, tmp_path, "--resize-maps", "--doubt", f"model-1={tmp_path / 'doubt'}")
    assert found["images"] == {"model-1": 8}
    assert found["failures"] == 0


def test_probabilities_of_another_number_of_classes_are_refused(maps: Any, tmp_path: Path) -> None:
    corpus, p = maps
    np.save(tmp_path / "probabilities" / f"{corpus.ids[0]}.npy", p[corpus.ids[0]][:4])
    assert "expected probabilities, 5 x H x W" in refused_line(
        *line_of(corpus, tmp_path, "--probabilities", f"model-1={tmp_path / 'probabilities'}")
    )


def test_noise_makes_errors_of_calibration_larger_so_that_their_intervals_reach_further_down_and_those_of_smooth_metrics_do_not(
    tmp_path: Path,
) -> None:
    """Of a model that is right nearly as often as it says, draws of images with replacement have larger
    errors than the images themselves.
    """
    rng = np.random.default_rng(5)
    for k in range(12):
        sure = rng.uniform(0.5, 1, (24, 24)).astype(np.float32)
        truth = rng.integers(0, 2, sure.shape).astype(np.uint8)
        made.write(tmp_path / "truth" / f"{k}.png", truth)
        made.write(
            tmp_path / "maps" / f"{k}.png",
            np.where(rng.random(sure.shape) < sure - 0.02, truth, 1 - truth).astype(np.uint8),
        )
        (tmp_path / "sure").mkdir(exist_ok=True)
        np.save(tmp_path / "sure" / f"{k}.npy", sure)
    line = ["measure", str(tmp_path / "truth"), f"m={tmp_path / 'maps'}", "--classes", "2", "--no-boundaries"]
    assert (
        main(
            [*line, "--confidence", f"m={tmp_path / 'sure'}", "--resamples", "200", "-o", str(tmp_path / "o")]
        )
        == 0
    )
    found = json.loads((tmp_path / "o" / "measure.json").read_text())["models"]["m"]
    reach = {
        name: (found[name]["value"] - found[name]["low"], found[name]["high"] - found[name]["value"])
        for name in ("ece", "brier_top")
    }
    assert found["ece"]["low"] > 0  # it ends there by itself
    assert reach["ece"][0] > 1.2 * reach["ece"][1]
    assert reach["brier_top"][0] == pytest.approx(reach["brier_top"][1])
