"""`measure` at the edges: truth that is void everywhere, images that fail twice, scores with an offset or a
unit of their own.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import made
from faultscape.cli import main
from faultscape.metrics import groups
from faultscape.metrics.counts import aurc
from refusals import refused_line

SIZE = (24, 31)


@pytest.fixture
def corpus(tmp_path: Path) -> made.Corpus:
    """Five images of one model, and a doubt that mistakes raise."""
    corpus = made.corpus(tmp_path / "corpus", images=6, models=1)
    rng = np.random.default_rng(5)
    for id_, truth, label in zip(corpus.ids, corpus.truths, corpus.maps["model-0"], strict=True):
        keep(tmp_path / "doubt", id_, rng.exponential(1 + 2 * (truth != label)))
        keep(tmp_path / "sure", id_, rng.random(truth.shape))
    return corpus


def keep(folder: Path, id_: str, values: np.ndarray) -> None:
    (folder / id_).parent.mkdir(parents=True, exist_ok=True)
    np.save(folder / f"{id_}.npy", values.astype(np.float32))


def measured(root: Path, *words: object, of: made.Corpus | None = None) -> dict[str, Any]:
    given = (
        [] if of is None else [str(of.truth), f"model-0={of.models['model-0']}", "--classes", str(of.classes)]
    )
    out = ["-o", str(root / "o"), "--resamples", "40", "--engine", "local", "--no-boundaries"]
    assert main(["measure", *given, *map(str, words), *out]) == 0
    return json.loads((root / "o" / "measure.json").read_text())


def masks(root: Path, *values: int | None) -> tuple[str, str]:
    """Write masks, each of one value or (None) of both kinds, and scores; return the two folders."""
    rng = np.random.default_rng(0)
    for k, value in enumerate(values):
        mask = np.full(SIZE, value or 0, np.uint8)
        if value is None:
            mask[:5] = 1
        made.write(root / "masks" / f"{k}.png", mask)
        keep(root / "scores", str(k), rng.standard_normal(SIZE) + 2 * (mask == 1))
    return str(root / "masks"), f"s={root / 'scores'}"


@pytest.mark.parametrize("more", [(), ("--preset", "smiyc"), ("--preset", "anomaly-seg")])
def test_masks_that_are_all_void_have_no_numbers_and_that_is_told(
    more: tuple[str, ...], tmp_path: Path
) -> None:
    truth, scores = masks(tmp_path, 255, 255)
    found = measured(tmp_path, truth, "--anomaly", scores, *more)
    assert found["models"]["s"]["auroc"]["value"] is None
    assert "s: 2 of 2 masks are void everywhere and are not counted" in found["notes"]


ADVISED = re.compile(r"give (--\S+ \S+?)(?:$|, or|;)")


@pytest.mark.parametrize(
    ("known", "anomaly", "void", "held"),
    [
        (0, 255, 255, "no anomalous pixel: nothing has a value; the masks hold 0 (known), 255 (void)"),
        (1, 0, 0, "85.1 % of the pixels are anomalous; the masks hold 0 (known), 1 (anomaly)"),
        (0, 0, 255, "no anomalous pixel: nothing has a value; the masks hold 0 (known), 255 (void)"),
        (255, 255, 255, "no known pixel either; the masks hold 255 (void)"),
        (0, 0, 0, "no anomalous pixel: nothing has a value; the masks hold 0 (known)"),
        (
            1,
            1,
            1,
            "no known pixel: AUROC and the false positive rate have no value; the masks hold 1 (anomaly)",
        ),
    ],
    ids=["0 and 255", "upside down", "known and void", "all void", "all known", "all anomalous"],
)
def test_masks_that_may_mean_something_else_are_told_with_how_to_read_them(
    known: int, anomaly: int, void: int, held: str, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    for k in range(3):
        mask = np.full(SIZE, known, np.uint8)
        mask[:3] = anomaly
        mask[3:5, :9] = void
        made.write(tmp_path / "masks" / f"{k}.png", mask)
        keep(tmp_path / "scores", str(k), rng.standard_normal(SIZE) + 2 * (np.arange(SIZE[0])[:, None] < 3))
    words = [str(tmp_path / "masks"), "--anomaly", f"s={tmp_path / 'scores'}"]
    (told,) = [note for note in measured(tmp_path, *words)["notes"] if "expected" in note]
    assert told.startswith("s: ")
    assert f"{held}, where 0 (known), 1 (anomaly) and 255 (void) are expected" in told
    advised = ADVISED.findall(told)
    assert bool(advised) == (held != "no anomalous pixel: nothing has a value; the masks hold 0 (known)")
    for option in advised:
        found = measured(tmp_path, *words, *option.split())
        assert found["models"]["s"]["average_precision"]["value"] is not None or anomaly == 1


def test_an_anomaly_by_any_value_has_the_same_numbers(tmp_path: Path) -> None:
    truth, scores = masks(tmp_path, None, None, None)
    right = measured(tmp_path, truth, "--anomaly", scores)["models"]
    for value in (255, 7):
        for k in range(3):
            mask = np.zeros(SIZE, np.uint8)
            mask[:5] = value
            made.write(tmp_path / "other" / f"{k}.png", mask)
        words = [str(tmp_path / "other"), "--anomaly", scores]
        if value == 7:
            told = refused_line("measure", *words, "-o", str(tmp_path / "o"))
            assert "holds the value 7; a mask has 0 (known), 1 (anomaly) and 255 (void)" in told
            assert ADVISED.findall(told) == ["--labels 7=anomaly"]
            assert measured(tmp_path, *words, "--ignore", 7)["notes"]
        assert measured(tmp_path, *words, "--labels", f"{value}=anomaly")["models"] == right


def test_one_mask_that_is_all_void_is_told(tmp_path: Path) -> None:
    truth, scores = masks(tmp_path, None, 255, None)
    found = measured(tmp_path, truth, "--anomaly", scores)
    assert found["models"]["s"]["auroc"]["value"] > 0.5
    assert found["notes"][0] == "s: 1 of 3 masks are void everywhere and are not counted"


def test_maps_whose_truth_is_all_void_are_told(corpus: made.Corpus, tmp_path: Path) -> None:
    for id_, truth in zip(corpus.ids[:2], corpus.truths[:2], strict=True):
        made.write(corpus.truth / f"{id_}.png", np.full_like(truth, 255))
    found = measured(tmp_path, "--ignore", 255, of=corpus)
    assert found["notes"] == [
        "model-0: 2 of 6 images have a truth that is void everywhere and are not counted"
    ]


@pytest.mark.parametrize("kind", ["confidence", "doubt"])
def test_truth_that_is_all_void_has_no_numbers_with_scores_either(
    kind: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    for id_, truth in zip(corpus.ids, corpus.truths, strict=True):
        made.write(corpus.truth / f"{id_}.png", np.full_like(truth, 255))
    folder = tmp_path / ("sure" if kind == "confidence" else "doubt")
    found = measured(tmp_path, "--ignore", 255, f"--{kind}", f"model-0={folder}", of=corpus)
    assert all(entry["value"] is None for entry in found["models"]["model-0"].values())
    assert "model-0: 6 of 6 images have a truth that is void everywhere and are not counted" in found["notes"]


def test_an_image_whose_map_is_wrong_is_one_failure_and_its_confidence_is_not_called_missing(
    corpus: made.Corpus, tmp_path: Path
) -> None:
    made.write(corpus.models["model-0"] / f"{corpus.ids[0]}.png", np.zeros((3, 3), np.uint8))
    (corpus.models["model-0"] / f"{corpus.ids[1]}.png").unlink()
    words = ["--confidence", f"model-0={tmp_path / 'sure'}"]
    found = measured(tmp_path, *words, "--skip", of=corpus)
    assert found["failures"] == 2
    assert not [note for note in found["notes"] if "no confidence" in note]
    assert (
        "model-0: 2 of 6 images have no map or confidence that can be used; failures.csv says why"
        in found["notes"]
    )
    line = [
        "measure",
        str(corpus.truth),
        f"model-0={corpus.models['model-0']}",
        "--classes",
        str(corpus.classes),
    ]
    assert "images in all" not in refused_line(*line, *words, "-o", str(tmp_path / "o"))


@pytest.mark.parametrize(("times", "more"), [(1, 100), (1e-9, 0), (50, 1024), (1, -7)])
def test_what_ranks_the_pixels_alike_has_the_same_numbers_and_intervals(
    times: float, more: float, corpus: made.Corpus, tmp_path: Path
) -> None:
    plain = measured(tmp_path, "--doubt", f"model-0={tmp_path / 'doubt'}", of=corpus)["models"]["model-0"]
    for id_ in corpus.ids:
        values = np.load(tmp_path / "doubt" / f"{id_}.npy").astype(float)
        (tmp_path / "other" / id_).parent.mkdir(parents=True, exist_ok=True)
        np.save(tmp_path / "other" / f"{id_}.npy", values * times + more)
    other = measured(tmp_path, "--doubt", f"model-0={tmp_path / 'other'}", of=corpus)["models"]["model-0"]
    wrong = corpus.maps["model-0"] != corpus.truths
    doubt = np.stack([np.load(tmp_path / "doubt" / f"{id_}.npy") for id_ in corpus.ids])
    assert plain["aurc"]["value"] == pytest.approx(float(aurc(*groups(doubt, wrong))), abs=2e-6)
    for metric in (
        "calibration_auroc",
        "misclassification_ap",
        "correct_ap",
        "misclassification_fpr95",
        "aurc",
        "augrc",
    ):
        for end in ("value", "low", "high"):
            assert other[metric][end] == pytest.approx(
                plain[metric][end], abs=2e-3 if end != "value" else 5e-6
            ), (metric, end)


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["pytorch-ood", "keras200", "anomaly-seg"])
def test_both_directions_of_precision_follow_the_definitions(
    preset: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    """The correct pixels found by confidence are the incorrect ones found by doubt, once right and wrong
    change places.
    """
    sure = {id_: np.load(tmp_path / "sure" / f"{id_}.npy") for id_ in corpus.ids}
    found = measured(tmp_path, "--preset", preset, "--confidence", f"model-0={tmp_path / 'sure'}", of=corpus)[
        "models"
    ]["model-0"]
    for id_, truth, label in zip(corpus.ids, corpus.truths, corpus.maps["model-0"], strict=True):
        made.write(tmp_path / "right" / f"{id_}.png", (truth == label).astype(np.uint8))
        keep(tmp_path / "scores", id_, sure[id_])
    words = ("--preset", preset, "--anomaly", f"s={tmp_path / 'scores'}")
    other = measured(tmp_path / "turned", str(tmp_path / "right"), *words)["models"]["s"]
    assert found["correct_ap"]["value"] == pytest.approx(other["average_precision"]["value"], abs=1e-9)


def test_an_interval_moves_with_the_point_that_a_preset_gives(corpus: made.Corpus, tmp_path: Path) -> None:
    words = ("--confidence", f"model-0={tmp_path / 'sure'}")
    plain = measured(tmp_path, *words, of=corpus)["models"]["model-0"]
    other = measured(tmp_path, *words, "--preset", "keras200", of=corpus)["models"]["model-0"]
    for metric in ("misclassification_ap", "calibration_auroc", "correct_ap"):
        moved = other[metric]["value"] - plain[metric]["value"]
        assert abs(moved) > 1e-6, metric
        for end in ("low", "high"):
            assert other[metric][end] - plain[metric][end] == pytest.approx(moved, abs=1e-9), (metric, end)


def test_probabilities_that_do_not_add_up_to_1_are_refused(corpus: made.Corpus, tmp_path: Path) -> None:
    p = np.random.default_rng(1).dirichlet(np.ones(5), SIZE).transpose(2, 0, 1)
    for id_, truth in zip(corpus.ids, corpus.truths, strict=True):
        p = np.random.default_rng(1).dirichlet(np.ones(5), truth.shape).transpose(2, 0, 1)
        keep(tmp_path / "half", id_, p / 2)
    line = [
        "measure",
        str(corpus.truth),
        f"model-0={corpus.models['model-0']}",
        "--classes",
        str(corpus.classes),
    ]
    assert "the probabilities of a pixel add up to 0.5..0.5; expected 1, as a softmax gives" in refused_line(
        *line, "--probabilities", f"model-0={tmp_path / 'half'}", "-o", str(tmp_path / "o")
    )


def test_photos_that_are_not_there_are_counted_on_the_page(corpus: made.Corpus, tmp_path: Path) -> None:
    made.write(tmp_path / "photos" / f"{corpus.ids[0]}.png", np.zeros((*corpus.truths[0].shape, 3), np.uint8))
    measured(tmp_path, "--images", tmp_path / "photos", of=corpus)
    page = (tmp_path / "o" / "report.html").read_text()
    assert re.search(r"\d+ image files? could not be found or read", page)


@pytest.mark.slow
def test_presets_and_options_without_effect_are_told(
    corpus: made.Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measured(tmp_path, "--preset", "keras200", of=corpus)
    assert (
        "note: --preset keras200 has no effect: none of its metrics are computed" in capsys.readouterr().out
    )
    for preset in ("fishyscapes", "smiyc"):  # whose other choices are the default
        measured(tmp_path, "--preset", preset, of=corpus)
        assert (
            f"note: --preset {preset} has no effect: none of its metrics are computed\n"
            in capsys.readouterr().out
        )
    for preset in ("s0-printed", "torchmetrics"):
        measured(tmp_path, "--preset", preset, of=corpus)
        assert "has no effect" not in capsys.readouterr().out
    truth, scores = masks(tmp_path, None)
    measured(
        tmp_path / "a",
        truth,
        "--anomaly",
        scores,
        "--worst",
        5,
        "--images",
        tmp_path / "masks",
        "--connectivity",
        4,
    )
    out = capsys.readouterr().out
    assert "--connectivity has no effect" not in out  # objects hang together by it
    measured(tmp_path / "b", truth, "--anomaly", scores, "--preset", "fishyscapes")
    assert "--preset" not in capsys.readouterr().out
