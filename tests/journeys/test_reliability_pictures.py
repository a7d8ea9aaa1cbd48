"""The card's page shows the best and worst frames of each model: of what is stored, or of the model run once more, and says where neither can be."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
import made
from faultscape.errors import OptionError
from faultscape.metrics.scores.detection import detection
from faultscape.stages.reliability import answers, pictures
from made_document import Page
from networks_of_tests import colour_network
from refusals import refused

OUT = 2  # the class that is held out
WEIGHTS = np.random.default_rng(5).normal(size=(5, 3)) * 3
LINE = {"resamples": 20, "engine": "local", "worst": 2}


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, made.Corpus]:
    """A study of one network that was counted under a holdout, with its card."""
    root = tmp_path_factory.mktemp("frames")
    corpus = made.corpus(root, images=10, models=0)
    study = str(made.collected(corpus, root / "study", shard_size=4))
    fs.label.import_(study, str(corpus.truth))
    fs.stress.holdout(study, classes=[made.NAMES[OUT]], as_="few")
    fs.predict(study, {"net": str(colour_network(root / "net.onnx", WEIGHTS))}, scorer=["msp"], measure=True, engine="local")
    fs.reliability(study, **LINE)
    return root / "study", corpus


@pytest.fixture
def study(judged: tuple[Path, made.Corpus], tmp_path: Path) -> Path:
    """A copy of that study, whose network may be taken away."""
    shutil.copytree(judged[0], tmp_path / "study")
    shutil.copy(judged[0].parent / "net.onnx", tmp_path / "net.onnx")
    settings = tmp_path / "study" / "study.toml"
    settings.write_text(settings.read_text().replace(str(judged[0].parent / "net.onnx"), str(tmp_path / "net.onnx")))
    return tmp_path / "study"


def page_of(study: Path) -> str:
    return (study / "reliability" / "report.html").read_text()


def frames(html: str) -> list[tuple[str, str, str]]:
    """(kind, image, AP) of the frames of a page."""
    return re.findall(r"<h5>(Worst|Best): ([^<]*)</h5>\n<p>AP ([\d.]+), chance", html)


def by_hand(corpus: made.Corpus) -> dict[str, float]:
    """The average precision of each image by itself, of the network's arithmetic."""
    out = {}
    for id_, truth in zip(corpus.ids, corpus.truths, strict=True):
        photo = np.asarray(Image.open(corpus.photos / f"{id_}.png"), float) / 255
        logits = np.einsum("ck,hwk->chw", WEIGHTS, photo)
        shares = np.exp(logits - logits.max(0))
        doubt = (1 - (shares / shares.sum(0)).max(0)).astype(np.float32)
        mask = (truth == OUT).astype(np.uint8)
        if mask.any():
            out[id_] = detection(doubt, mask).average_precision
    return out


def test_frames_are_those_of_the_least_and_largest_average_precision(judged: tuple[Path, made.Corpus]) -> None:
    study, corpus = judged
    expected = sorted(by_hand(corpus).items(), key=lambda row: row[1])
    assert len(expected) >= 4
    found = frames(page_of(study))
    wanted = [("Worst", expected[0]), ("Worst", expected[1]), ("Best", expected[-1]), ("Best", expected[-2])]
    assert [(kind, id_) for kind, id_, _ in found] == [(kind, id_) for kind, (id_, _) in wanted]
    assert [float(value) for _, _, value in found] == pytest.approx([value for _, (_, value) in wanted], abs=2e-3)
    page = Page(page_of(study))
    shots = [str(attrs["src"]) for tag, attrs in page.tags if tag == "img"]
    assert len(shots) == 16
    assert sum(uri.startswith("data:image/webp") for uri in shots) == 4
    assert len(set(shots)) == 16


def test_a_model_runs_on_its_frames_once(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = page_of(study)

    def never(*_: object) -> None:
        raise AssertionError("opened again")

    monkeypatch.setattr(answers, "_opened", never)
    fs.reliability(str(study), **LINE)
    assert page_of(study) == before
    fs.reliability(str(study), **{**LINE, "worst": 1})
    assert [kind for kind, _, _ in frames(page_of(study))] == ["Worst", "Best"]
    fs.reliability(str(study), **{**LINE, "worst": 0})
    assert frames(page_of(study)) == []
    with refused(OptionError, "resamples, seed and worst are 0 or more; got 20, 0 and -1"):
        fs.reliability(str(study), **{**LINE, "worst": -1})


def test_a_model_that_is_gone_or_another_leaves_its_pictures_out_and_says_so(study: Path) -> None:
    shutil.rmtree(study / "reliability" / "pictures")
    colour_network(study.parent / "net.onnx", WEIGHTS + 1)
    fs.reliability(str(study), **LINE)
    assert frames(page_of(study)) == []
    said = "net: pictures of frames are missing, since it cannot be run now: "
    assert f"{said}the model or its options changed since it was counted" in Page(page_of(study)).text
    (study.parent / "net.onnx").unlink()
    fs.reliability(str(study), **LINE)
    assert frames(page_of(study)) == []
    assert re.search(f"{said}.*there is no such folder or file", Page(page_of(study)).text)


def test_what_is_stored_is_shown_without_the_model(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = page_of(study)
    fs.predict(str(study), {"net": str(study.parent / "net.onnx")}, scorer=["msp"], engine="local")
    shutil.rmtree(study / "reliability" / "pictures")
    (study.parent / "net.onnx").unlink()
    fs.reliability(str(study), **LINE)
    assert frames(page_of(study)) == frames(before)
    assert page_of(study).count('class="shot"') == 16
    assert "pictures of frames are missing" not in page_of(study)
    taken = sum(len(str(attrs["src"])) for tag, attrs in Page(page_of(study)).tags if tag == "img")
    monkeypatch.setattr(pictures, "ROOM", taken // 2)
    fs.reliability(str(study), **LINE)
    assert 0 < len(frames(page_of(study))) < 4
    assert re.search(r"\d frames? (was|were) left out", Page(page_of(study)).text)
