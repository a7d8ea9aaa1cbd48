"""The card's page shows the best and worst frames of each model: of what is stored, or of the model run once
more, and says where neither can be.
"""

import base64
import io
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.ndimage import label

import faultscape as fs
import made
from faultscape.errors import OptionError
from faultscape.metrics.scores.detection import detection
from faultscape.verbs.reliability import pictures
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
    fs.stress.holdout(study, classes=[made.NAMES[0]], as_="other")
    fs.stress.holdout(study, classes=[made.NAMES[OUT]], as_="few")
    fs.predict(
        study,
        {"net": str(colour_network(root / "net.onnx", WEIGHTS))},
        scorer=["msp"],
        measure=True,
        engine="local",
    )
    fs.reliability(study, **LINE)
    return root / "study", corpus


@pytest.fixture
def study(judged: tuple[Path, made.Corpus], tmp_path: Path) -> Path:
    """A copy of that study, whose network may be taken away."""
    shutil.copytree(judged[0], tmp_path / "study")
    shutil.copy(judged[0].parent / "net.onnx", tmp_path / "net.onnx")
    settings = tmp_path / "study" / "study.toml"
    settings.write_text(
        settings.read_text().replace(str(judged[0].parent / "net.onnx"), str(tmp_path / "net.onnx"))
    )
    return tmp_path / "study"


def page_of(study: Path) -> str:
    return (study / "reliability" / "report.html").read_text()


def of_set(html: str, name: str) -> str:
    """The part of a page that is of a set."""
    return html.partition(f">{name}</h3>")[2].partition('class="set-head"')[0].partition("<section")[0]


def frames(html: str) -> list[tuple[str, str, str]]:
    """(kind, image, AP) of some frames of a page."""
    return re.findall(r"<h5>(Worst|Best): ([^<]*)</h5>\n<p>AP ([\d.]+), chance", html)


def pixels(uri: str) -> np.ndarray:
    with Image.open(io.BytesIO(base64.b64decode(uri.split(",")[1]))) as picture:
        return np.asarray(picture.convert("RGB")).astype(int)


def doubts(corpus: made.Corpus) -> dict[str, np.ndarray]:
    """The doubt of each pixel, of the network's arithmetic."""
    out = {}
    for id_ in corpus.ids:
        photo = np.asarray(Image.open(corpus.photos / f"{id_}.png"), float) / 255
        logits = np.einsum("ck,hwk->chw", WEIGHTS, photo)
        shares = np.exp(logits - logits.max(0))
        out[id_] = (1 - (shares / shares.sum(0)).max(0)).astype(np.float32)
    return out


def by_hand(corpus: made.Corpus, out: int) -> dict[str, tuple[float, int, int, np.ndarray]]:
    """(Average precision, missed objects, objects, share of known pixels that score as high as each) of each
    image that has a pixel of a class.
    """
    held, masks = doubts(corpus), dict(zip(corpus.ids, corpus.truths == out, strict=True))
    known = np.sort(np.concatenate([held[id_][~masks[id_]] for id_ in corpus.ids]))
    found = {}
    for id_, mask in masks.items():
        if mask.any():
            numbers, many = label(mask, np.ones((3, 3)))
            # rounding makes ties of neighbours
            above = 1 - np.searchsorted(known, held[id_] * (1 - 1e-3), "left") / len(known)
            shares = [(above <= 0.05)[numbers == k].mean() for k in range(1, many + 1)]
            found[id_] = (
                detection(held[id_], mask.astype(np.uint8)).average_precision,
                sum(s < 0.5 for s in shares),
                many,
                above,
            )
    return found


@pytest.mark.parametrize(("name", "out"), [("few", OUT), ("other", 0)])
def test_frames_are_those_of_the_least_and_largest_average_precision(
    judged: tuple[Path, made.Corpus], name: str, out: int
) -> None:
    study, corpus = judged
    hand = by_hand(corpus, out)
    order = sorted(hand, key=lambda id_: hand[id_][0])
    assert len(order) >= 4
    html = of_set(page_of(study), name)
    found = frames(html)
    assert [(kind, id_) for kind, id_, _ in found] == [
        *(("Worst", id_) for id_ in order[:2]),
        *(("Best", id_) for id_ in order[:-3:-1]),
    ]
    assert [float(value) for _, _, value in found] == pytest.approx(
        [hand[id_][0] for _, id_, _ in found], abs=2e-3
    )
    shots = re.findall(r'<img src="([^"]*)" alt="([^"]*) of', html)
    assert [caption for _, caption in shots] == [
        "image, objects outlined",
        "labels",
        "prediction",
        "score",
    ] * 4
    for (_, id_, _), (labels, _), (score, _) in zip(found, shots[1::4], shots[3::4], strict=True):
        truth = corpus.truths[corpus.ids.index(id_)]
        assert ((pixels(labels) == [230, 120, 40]).all(-1) == (truth == out)).all()
        drawn, above = pixels(score), hand[id_][3]
        plain = (drawn != [255, 128, 20]).any(-1) & (abs(above - 0.05) > 0.003)
        assert ((drawn[..., 2] - drawn[..., 0] > 30) == (above <= 0.05))[plain].all()
    for (_, id_, _), line in zip(found, re.findall(r"chance [\d.]+\. (.*) at 5 % false", html), strict=True):
        _, missed, many, _ = hand[id_]
        expected = (
            f"Its object is {'missed' if missed else 'found'}"
            if many == 1
            else f"{missed} of {many} objects are missed"
            if missed
            else f"All {many} objects are found"
        )
        assert line == expected


def test_wrong_pixels_are_black_beside_the_doubt_that_should_find_them(
    judged: tuple[Path, made.Corpus],
) -> None:
    study, corpus = judged
    html = page_of(study).partition("<h3>Wrong pixels beside doubt, main</h3>")[2].partition("<h3>")[0]
    held, wrong, hand = doubts(corpus), {}, {}
    for id_, truth in zip(corpus.ids, corpus.truths, strict=True):
        photo = np.asarray(Image.open(corpus.photos / f"{id_}.png"), float) / 255
        wrong[id_] = np.einsum("ck,hwk->chw", WEIGHTS, photo).argmax(0) != truth
        labels = np.where(truth == 255, 255, wrong[id_]).astype(np.uint8)
        hand[id_] = detection(held[id_], labels).average_precision
    order = sorted(hand, key=hand.__getitem__)
    found = re.findall(r"<h4>(Worst|Best): ([^<]*)</h4>\n<p>AP ([\d.]+), chance [\d.]+\. (\d+) % of", html)
    assert [(kind, id_) for kind, id_, _, _ in found] == [
        *(("Worst", id_) for id_ in order[:2]),
        *(("Best", id_) for id_ in order[:-3:-1]),
    ]
    shots = re.findall(r'<img src="([^"]*)" alt="([^"]*) of', html)
    assert [caption for _, caption in shots] == ["image", "prediction", "score"] * 4
    for (_, id_, value, share), (uri, _) in zip(found, shots[1::3], strict=True):
        truth = corpus.truths[corpus.ids.index(id_)]
        assert float(value) == pytest.approx(hand[id_], abs=2e-3)
        assert int(share) == pytest.approx(100 * wrong[id_][truth != 255].mean(), abs=1)
        black = (pixels(uri) == 0).all(-1)
        assert (black == wrong[id_])[truth != 255].all()
        assert (pixels(uri)[truth == 255] == [120, 235, 70]).all()


def test_a_model_runs_on_its_frames_once(
    judged: tuple[Path, made.Corpus], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = tmp_path / "study"
    shutil.copytree(judged[0], study)
    before = page_of(study)

    def never(*_: object) -> None:
        raise AssertionError("opened again")

    monkeypatch.setattr(pictures, "_opened", never)
    fs.reliability(str(study), **LINE)
    assert page_of(study) == before
    fs.reliability(str(study), **{**LINE, "worst": 1})
    assert [kind for kind, _, _ in frames(page_of(study))] == ["Worst", "Best"] * 2
    fs.reliability(str(study), **{**LINE, "worst": 0})
    assert frames(page_of(study)) == []
    with refused(OptionError, "worst must be 0 or more; got -1"):
        fs.reliability(str(study), **{**LINE, "worst": -1})


def test_a_model_that_is_gone_or_another_leaves_its_pictures_out_and_says_so(study: Path) -> None:
    shutil.rmtree(study / "reliability" / "pictures")
    colour_network(study.parent / "net.onnx", WEIGHTS + 1)
    fs.reliability(str(study), **LINE)
    assert frames(page_of(study)) == []
    said = "net: images of frames are missing, because the model cannot be run: "
    assert f"{said}the model or its options changed since it was counted" in Page(page_of(study)).text
    (study.parent / "net.onnx").unlink()
    fs.reliability(str(study), **LINE)
    assert frames(page_of(study)) == []
    assert re.search(f"{said}.*there is no such folder or file", Page(page_of(study)).text)


@pytest.mark.slow
def test_what_is_stored_is_shown_without_the_model(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = page_of(study)
    fs.predict(str(study), {"net": str(study.parent / "net.onnx")}, scorer=["msp"], engine="local")
    shutil.rmtree(study / "reliability" / "pictures")
    (study.parent / "net.onnx").unlink()
    fs.reliability(str(study), **LINE)
    assert frames(page_of(study)) == frames(before)
    assert page_of(study).count('class="shot"') == 8 * 4 + 4 * 3  # of two holdouts, and of wrong pixels
    assert "images of frames are missing" not in page_of(study)
    taken = sum(len(str(attrs["src"])) for tag, attrs in Page(page_of(study)).tags if tag == "img")
    monkeypatch.setattr(pictures, "ROOM", taken // 2)
    fs.reliability(str(study), **LINE)
    assert 0 < len(frames(page_of(study))) < 8
    assert frames(of_set(page_of(study), "few"))  # the extremes of every set come first
    assert frames(of_set(page_of(study), "other"))
    assert re.search(r"\d frames? (was|were) left out", Page(page_of(study)).text)
