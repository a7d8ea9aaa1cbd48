"""The pictures of `measure` mark the regions that an error is made of, show the worst images, and stay
small.
"""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
import made
from faultscape.nouns import Classes
from faultscape.reporting.measure import region_pictures
from faultscape.reporting.pictures import flat_uri
from faultscape.verbs.measure import pictures as measure_pictures
from faultscape.verbs.measure.pictures import worst_images
from made_document import Page

ONE = Classes(("sky", "pole"), (0, 1), ((0, 0, 250), (250, 0, 0)))


def regions_of(truth: list[list[int]], prediction: list[list[int]]) -> Any:
    return region_pictures.connected(np.array(truth, np.uint8), np.array(prediction, np.uint8), ONE, 8, "cut")


def test_torn_joined_missed_and_invented_regions_are_marked() -> None:
    torn = regions_of([[1, 1, 1, 0]], [[1, 0, 1, 0]])
    assert region_pictures.marked_regions(*torn, "rom") == ({0}, {0, 2})
    joined = regions_of([[1, 0, 1, 0]], [[1, 1, 1, 0]])
    assert region_pictures.marked_regions(*joined, "rum") == ({0, 2}, {0})
    assert region_pictures.marked_regions(*joined, "missed") == ({1}, set())
    assert region_pictures.marked_regions(*torn, "invented") == (set(), {1})
    assert region_pictures.told(*torn, ({0}, {0, 2}), "rom").startswith("1 of 2 true regions are torn")


def test_void_of_the_truth_is_no_region_and_cuts_those_of_the_prediction() -> None:
    truth, prediction = regions_of([[1, 2, 1]], [[1, 1, 1]])
    assert truth.numbers.tolist() == [[0, -1, 1]]
    assert prediction.numbers.tolist() == [[0, -1, 1]]
    assert region_pictures.marked_regions(truth, prediction, "rum") == (set(), set())


def test_a_picture_has_marked_regions_strong_and_others_pale() -> None:
    label_map = np.repeat(np.array([[0, 1]], np.uint8), 8, 1).repeat(8, 0)
    drawn = region_pictures.picture(label_map, label_map.astype(np.int32), {1}, ONE, (16, 8))
    assert drawn.shape == (8, 16, 3)
    assert drawn[4, 12].tolist() == [250, 0, 0]
    assert drawn[4, 2].min() > 150
    with Image.open(io.BytesIO(base64.b64decode(flat_uri(drawn).split(",")[1]))) as back:
        assert np.array_equal(np.asarray(back.convert("RGB")), drawn)


def test_worst_images_leave_out_the_undefined_and_the_faultless() -> None:
    images = {"a": {"miou": np.array([1.0, np.nan, 0.2, 0.5]), "rom": np.array([0.0, 0.0, 0.0, 0.0])}}
    assert worst_images(images, 3) == [(0, "miou", "a", 2), (1, "miou", "a", 3)]
    assert worst_images(images, 0) == []


def test_errors_that_rounding_tells_apart_are_equal() -> None:
    images = {"a": {"rom": np.array([0.1 + 0.2, 0.3, 1e-14, 0.2])}}
    assert images["a"]["rom"][0] > images["a"]["rom"][1]
    asked: list[list[int]] = []

    def backwards(places: np.ndarray) -> np.ndarray:
        asked.append(places.tolist())
        return -places

    assert worst_images(images, 2, backwards) == [(0, "rom", "a", 1), (1, "rom", "a", 0)]
    assert worst_images(images, 1, backwards) == [(0, "rom", "a", 1)]
    assert worst_images({"a": {"rom": np.array([0.1, 0.3, 0.2])}}, 2, backwards) == [
        (0, "rom", "a", 1),
        (1, "rom", "a", 2),
    ]
    assert asked == [[0, 1], [0, 1]]  # no file is read where nothing is tied


def written(folder: Path, *, images: int, models: int, worst: int, resamples: int = 0) -> Page:
    """The page that `measure` writes of a small corpus."""
    corpus = made.corpus(folder / "corpus", images=images, models=models)
    fs.measure(
        corpus.truth,
        corpus.models,
        classes=corpus.classes,
        files=fs.options.FileRules(images=str(corpus.photos)),
        output=folder / "out",
        resamples=resamples,
        worst=worst,
        engine="local",
    )
    return Page((folder / "out" / "report.html").read_text())


def test_measure_writes_the_page_with_pictures(tmp_path: Path) -> None:
    page = written(tmp_path, images=6, models=3, worst=1, resamples=50)
    pictures = [str(a["src"]) for t, a in page.tags if t == "img"]
    assert any(p.startswith("data:image/webp") for p in pictures)
    assert sum(p.startswith("data:image/png") for p in pictures) >= 6
    assert {"losses", "plane", "worst"} <= page.ids()


def test_pictures_that_do_not_fit_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure_pictures, "ROOM", 1500)
    page = written(tmp_path, images=4, models=2, worst=2)
    assert re.search(r"\d+ images? (was|were) left out", page.text)


def test_photos_that_do_not_fit_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure_pictures, "_photo", lambda *_: "x" * (measure_pictures.ROOM + 1))
    page = written(tmp_path, images=2, models=1, worst=1)
    assert re.search(r"\d of those shown (has its|have their) maps only", page.text)


def test_anomaly_scores_have_their_best_and_worst_frames_and_the_share_of_anomalies(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    values = {}
    for k, strength in enumerate((0.0, 3.0, 0.5, 1.0)):
        mask = np.zeros((40, 50), np.uint8)
        mask[10:20, 10:20], mask[:4] = 1, 255
        score = (rng.normal(size=mask.shape) + strength * mask).astype(np.float32)
        score[0, 0] = np.nan  # void is not looked at
        for folder in ("masks", "scores", "photos"):
            (tmp_path / folder).mkdir(exist_ok=True)
        Image.fromarray(mask).save(tmp_path / "masks" / f"{k}.png")
        Image.fromarray(mask[..., None].repeat(3, 2)).save(tmp_path / "photos" / f"{k}.png")
        np.save(tmp_path / "scores" / f"{k}.npy", score)
        values[str(k)] = strength
    found = fs.measure(
        tmp_path / "masks",
        scores=fs.options.ScoreFolders(anomaly=[f"mine={tmp_path / 'scores'}"]),
        files=fs.options.FileRules(images=str(tmp_path / "photos")),
        output=tmp_path / "out",
        resamples=20,
        worst=1,
        engine="local",
    )
    share = 100 / (36 * 50)
    assert found.document["anomalous"] == {"mine": pytest.approx(share)}
    html = (tmp_path / "out" / "report.html").read_text()
    page = Page(html)
    assert "5.56 % of the evaluated pixels are anomalous" in page.text
    assert re.findall(r"<h3>(Worst|Best): (\w)</h3>", html) == [("Worst", "0"), ("Best", "1")]
    assert "Its object is missed" in page.text.partition("Worst: 0")[2].partition("Best: 1")[0]
    assert "Its object is found" in page.text.partition("Best: 1")[2]
    assert len([1 for tag, _ in page.tags if tag == "img"]) == 6
    assert "frames" in page.ids()
