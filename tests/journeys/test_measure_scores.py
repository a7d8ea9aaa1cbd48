"""The road of scores: anomaly maps against masks; every file form, every way to be wrong."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
import made
from faultscape.classes.placed_maps import read_ids
from faultscape.cli import main
from faultscape.errors import LabelMapError, MetricError
from faultscape.formats.label_maps import read_map
from faultscape.formats.scores import read_scores
from faultscape.metrics.scores.curves import trapezoid_precision
from refusals import refused, refused_line, typed

SHAPE = (24, 32)


@pytest.fixture
def scene(tmp_path: Path) -> tuple[Path, list[np.ndarray], list[np.ndarray]]:
    """Nine masks, the last without an anomaly, and float32 scores as .npy."""
    rng = np.random.default_rng(0)
    masks, scores = [], []
    for k in range(9):
        mask = np.zeros(SHAPE, np.uint8)
        mask[4 + k : 12 + k, 5:15] = k < 8
        mask[:2] = 255
        score = (rng.random(SHAPE) * 0.8 + 0.2 * (mask == 1)).astype(np.float32)
        made.write(tmp_path / "masks" / f"frame {k}.png", mask)
        (tmp_path / "scores").mkdir(exist_ok=True)
        np.save(tmp_path / "scores" / f"frame {k}.npy", score)
        masks.append(mask)
        scores.append(score)
    return tmp_path, masks, scores


def run(root: Path, *words: object, scores: str = "scores") -> dict[str, Any]:
    line = "measure {root}/masks --anomaly soft={root}/{scores} -o {root}/o --resamples 50"
    assert main([*typed(line, root=root, scores=scores), *map(str, words)]) == 0
    return json.loads((root / "o" / "measure.json").read_text())


def told(root: Path, *words: object, scores: str = "scores") -> str:
    return refused_line(
        "measure", root / "masks", "--anomaly", f"soft={root / scores}", "-o", root / "o", *words
    )


def test_anomaly_scores_are_judged_over_all_pixels_exactly(scene: Any) -> None:
    root, masks, scores = scene
    found = run(root)["models"]["soft"]
    exact = fs.metrics.detection(np.stack(scores), np.stack(masks))
    for name in ("average_precision", "auroc", "fpr95"):
        assert found[name]["value"] == pytest.approx(getattr(exact, name), abs=1e-12)
        assert found[name]["low"] <= found[name]["value"] <= found[name]["high"]
        # the frame without an anomaly
        assert (found[name]["undefined"], found[name]["undefined_of"]) == (1, "images")
    assert (found["auroc"]["better"], found["fpr95"]["better"]) == ("high", "low")
    assert {"component_siou", "component_precision", "component_f1"} <= set(found)
    assert "miou" not in found


@pytest.mark.parametrize("kind", ["float64", "int32", "int64"])
def test_scores_of_more_than_32_bits_are_kept_apart(scene: Any, kind: str) -> None:
    """Log-likelihoods a million away from zero: float32 has steps of 1/16 there, and their order is lost."""
    root, masks, scores = scene
    wide = [
        (
            np.round(s.astype(float) * 500) / 500 - 1e6
            if kind == "float64"
            else np.round(s * 500).astype(kind) + 2**30
        )
        for s in scores
    ]
    (root / "wide").mkdir()
    for k, score in enumerate(wide):
        np.save(root / "wide" / f"frame {k}.npy", score)
    exact = fs.metrics.detection(np.stack(wide), np.stack(masks))
    rounded = fs.metrics.detection(np.stack(wide).astype(np.float32), np.stack(masks))
    assert exact.average_precision > rounded.average_precision + 0.01
    for preset, expected in (((), exact), (("--preset", "fishyscapes"), rounded)):
        found = run(root, *preset, scores="wide")["models"]["soft"]
        for name in ("average_precision", "auroc", "fpr95"):
            assert found[name]["value"] == pytest.approx(getattr(expected, name), abs=1e-12)


def test_several_names_may_follow_one_option(scene: Any) -> None:
    root = scene[0]
    folder = root / "scores"
    line = "measure {root}/masks --anomaly a={folder} b={folder} -o {root}/o --resamples 0"
    assert main(typed(line, root=root, folder=folder)) == 0
    assert list(json.loads((root / "o" / "measure.json").read_text())["models"]) == ["a", "b"]


def test_per_image_means_skip_and_count_the_frame_without_an_anomaly(scene: Any) -> None:
    root, masks, scores = scene
    found = run(root, "--pooling", "per_image")["models"]["soft"]
    alone = [fs.metrics.detection(s, m) for s, m in zip(scores[:8], masks[:8], strict=True)]
    assert found["auroc"]["value"] == pytest.approx(np.mean([d.auroc for d in alone]))
    assert found["auroc"]["undefined"] == 1


@pytest.mark.parametrize("form", ["npz", "tiff", "png16", "float16"])
def test_every_form_of_scores_is_read(scene: Any, form: str) -> None:
    root, masks, scores = scene
    other = root / form
    other.mkdir()
    for k, score in enumerate(scores):
        path = other / f"frame {k}"
        if form == "npz":
            np.savez_compressed(f"{path}.npz", scores=score[None])
        elif form == "tiff":
            Image.fromarray(score).save(f"{path}.tiff")
        elif form == "png16":
            Image.fromarray(np.round(score * 50_000).astype(np.uint16)).save(f"{path}.png")
        else:
            np.save(f"{path}.npy", score.astype(np.float16))
    words = ("--score-scale", 50_000) if form == "png16" else ()
    found = run(root, *words, scores=form)["models"]["soft"]
    exact = fs.metrics.detection(np.stack(scores), np.stack(masks))
    assert found["auroc"]["value"] == pytest.approx(
        exact.auroc, abs=1e-12 if form in ("npz", "tiff") else 1e-4
    )


def test_what_was_measured_is_not_measured_again(scene: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from faultscape.verbs.measure.scores import model_scores as scoring

    root = scene[0]
    first = run(root, "--engine", "local")
    calls: list[str] = []
    whole = scoring.score_model
    monkeypatch.setattr(
        scoring, "score_model", lambda job, tick: calls.append(job["name"]) or whole(job, tick)
    )
    assert run(root, "--engine", "local") == first
    assert calls == []
    # neither is a choice of what is kept
    run(root, "--engine", "local", "--match", "dice", "--pooling", "per_image")
    assert calls == []
    run(root, "--engine", "local", "--fpr-rule", "closest")
    assert calls == ["soft"]


@pytest.mark.slow
def test_presets_give_others_numbers_and_say_so(scene: Any) -> None:
    root, masks, scores = scene
    exact = fs.metrics.detection(np.stack(scores), np.stack(masks))
    trapezoid = run(root, "--preset", "pytorch-ood")["models"]["soft"]["average_precision"]
    assert trapezoid["value"] != pytest.approx(exact.average_precision, abs=1e-9)
    assert "trapezoid" in trapezoid["definition"]
    keras = run(root, "--preset", "keras200")["models"]["soft"]["auroc"]
    assert keras["value"] == pytest.approx(exact.auroc, abs=5e-3)
    assert keras["value"] != exact.auroc
    assert "keras200" in keras["definition"]
    alone = run(root, "--curve", "trapezoid", "--pooling", "per_image")["models"]["soft"]["average_precision"]
    each = [
        trapezoid_precision(fs.metrics.detection(s, m)) for s, m in zip(scores[:8], masks[:8], strict=True)
    ]
    assert alone["value"] == pytest.approx(np.mean(each), abs=1e-12)  # of each image too, not of all alone
    assert "pooled" not in alone["definition"]
    smiyc = run(root, "--preset", "smiyc-obstacle")["models"]["soft"]
    assert "obstacle" in smiyc["component_f1"]["definition"]


def test_scores_that_are_no_numbers_name_the_image_and_how_many(scene: Any) -> None:
    root, _, scores = scene
    bad = scores[3].copy()
    bad[5, :7] = np.nan
    np.save(root / "scores" / "frame 3.npy", bad)
    said = told(root)
    assert "frame 3" in said
    assert "7 of its 704 scores are NaN" in said
    bad[5, :7] = np.inf
    np.save(root / "scores" / "frame 3.npy", bad)
    assert "7 of its 704 scores are infinite" in told(root)
    assert run(root, "--skip")["images"] == {"soft": 8}
    void = scores[3].copy()
    void[0] = np.nan  # the first two rows are void: what stands there changes nothing
    np.save(root / "scores" / "frame 3.npy", void)
    assert run(root)["models"]["soft"]["auroc"]["value"] == pytest.approx(
        fs.metrics.detection(np.stack(scores), np.stack(scene[1])).auroc, abs=1e-12
    )
    assert "frame 3" not in (root / "o" / "failures.csv").read_text()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda p: np.save(p, np.zeros((3, 4), np.float32)), "4 x 3 pixels, the truth 32 x 24"),
        (lambda p: np.save(p, np.zeros((2, 24, 32), np.float32)), "expected one number per pixel"),
        (
            lambda p: np.save(p, np.array([{"a": 1}], object), allow_pickle=True),
            "frame 2.npy: it contains Python objects, and nothing is unpickled",
        ),
        (lambda p: p.write_bytes(b"\x93NUMPY broken"), "frame 2.npy"),
        (lambda p: p.write_bytes(b"PK\x03\x04 broken"), "frame 2.npy"),
        (lambda p: p.write_bytes(b""), "frame 2.npy"),
        (lambda p: np.save(p, np.full((24, 32), "a")), "expected one number per pixel"),
    ],
)
def test_hostile_score_files_are_told_by_name(scene: Any, make: Any, said: str) -> None:
    root = scene[0]
    make(root / "scores" / "frame 2.npy")
    assert said in told(root)


def _archive(path: Path, damage: int | None, method: int = zipfile.ZIP_DEFLATED) -> None:
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("hello.txt", bytes(range(256)) * 9)
    if damage is not None:
        data = bytearray(path.read_bytes())
        data[damage : damage + 30] = b"\xff" * 30
        path.write_bytes(data)


def _header(path: Path, text: bytes) -> None:
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(80))


@pytest.mark.parametrize(
    "make",
    [
        lambda p: _archive(p, None),
        lambda p: _archive(p, 60),
        lambda p: _header(p, b"{'shape': (5, 5"),
        lambda p: _header(
            p, b"{'descr': '<f8', 'fortran_order': False, 'shape': (1" + b"0" * 30 + b", 1), }\n"
        ),
        lambda p: _header(p, b"{'descr': '|O', 'fortran_order': False, 'shape': (5, 5), }\n"),
        lambda p: _archive(p, 60, zipfile.ZIP_LZMA),
        lambda p: _header(p, b"{[]: 1}"),
        lambda p: _header(p, b"{1: 2, 'a': 3}"),
        lambda p: _header(p, b"{'descr': (), 'fortran_order': False, 'shape': (5, 5), }\n"),
        lambda p: _header(p, b"{'descr': '<f4', 'fortran_order': False, 'shape': (True, 5), }\n"),
    ],
)
def test_files_made_to_do_harm_are_read_by_no_reader(make: Any, tmp_path: Path) -> None:
    path = tmp_path / "frame.npy"
    make(path)
    with refused(MetricError, r"frame\.npy"):
        read_scores(path)
    for read in (read_ids, read_map):
        with refused(LabelMapError, r"frame\.npy"):
            read(path)


@pytest.mark.parametrize(
    ("kind", "whole"), [(">u2", 65535), ("<u2", 65535), ("u1", 255), (">f4", 1), (">f8", 1)]
)
def test_scores_of_any_byte_order_are_the_same_scores(kind: str, whole: int, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.full((2, 3), 51 if whole > 1 else 0.2, kind))
    np.savez(tmp_path / "a.npz", np.full((2, 3), 51 if whole > 1 else 0.2, kind))
    for ending in ("npy", "npz"):
        read = read_scores(tmp_path / f"a.{ending}")
        assert read.dtype.isnative
        assert read == pytest.approx(np.full((2, 3), 51 / whole if whole > 1 else 0.2))


def test_components_are_found_whatever_the_scores_are_kept_in(scene: Any) -> None:
    root, masks, _ = scene
    (root / "wide").mkdir()
    for k, mask in enumerate(masks):  # .6 as float32 lies above .6 as float64
        np.save(root / "wide" / f"frame {k}.npy", np.where(mask == 1, 0.6, 0.1))
    assert run(root, scores="wide")["models"]["soft"]["component_f1"]["value"] == 1


def test_a_mask_of_other_values_is_refused(scene: Any) -> None:
    root, masks, _ = scene
    made.write(root / "masks" / "frame 4.png", masks[4] * 0 + 2)
    assert "holds the value 2; a mask has 0 (known), 1 (anomaly) and 255 (void)" in told(root)


def test_without_an_anomaly_nothing_has_a_value_and_that_is_said(scene: Any) -> None:
    root, masks, _ = scene
    for k, mask in enumerate(masks):
        made.write(root / "masks" / f"frame {k}.png", np.where(mask == 1, 0, mask).astype(np.uint8))
    found = run(root)
    assert [found["models"]["soft"][name]["value"] for name in ("average_precision", "auroc", "fpr95")] == [
        None,
        None,
        None,
    ]
    assert any("no anomalous pixel" in note for note in found["notes"])


def test_missing_scores_are_counted(scene: Any) -> None:
    root = scene[0]
    (root / "scores" / "frame 1.npy").unlink()
    found = run(root)
    assert found["images"] == {"soft": 8}
    assert any("1 of 9 images" in note for note in found["notes"])


@pytest.mark.slow
def test_a_made_score_finds_the_real_anomalies(data: Path) -> None:
    """67 real frames: the score is the mask blurred by what a person could not see, plus noise; pooled, per
    image and streamed agree.
    """
    rng = np.random.default_rng(0)
    pairs = []
    for path in sorted((data / "anomaly").glob("*/masks/*.png")):
        mask = np.asarray(Image.open(path))[::2, ::2]
        pairs.append(((rng.random(mask.shape) + 0.5 * (mask == 1)).astype(np.float32), mask))
    assert len(pairs) == 67
    streamed = fs.metrics.stream(lambda: iter(pairs))
    whole = fs.metrics.detection(
        np.concatenate([s.ravel() for s, _ in pairs]), np.concatenate([m.ravel() for _, m in pairs])
    )
    assert (streamed.average_precision, streamed.auroc, streamed.fpr95) == (
        whole.average_precision,
        whole.auroc,
        whole.fpr95,
    )
    assert whole.positives > 400_000
    skipped = fs.metrics.per_image([fs.metrics.detection(s, m) for s, m in pairs])
    assert skipped.without_average_precision >= 5  # frames without an anomaly
