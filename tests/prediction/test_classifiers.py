"""Networks that give a picture one class: the library's own labels and probabilities, whatever the batch and
the way in, and refusals in one line.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.errors import FaultscapeError, ModelError, OptionError
from faultscape.prediction.inference import middle
from faultscape.reading.answers import read_predictions
from faultscape.reading.study import Study
from faultscape.study.settings import read_settings
from faultscape.study.tables import label_maps
from faultscape.verbs.verb import group_options
from refusals import refused, refused_line

SIZES = ((64, 64), (90, 60), (60, 90), (130, 70), (33, 41))  # width, height


def photo(size: tuple[int, int], seed: int) -> np.ndarray:
    """Soft shapes of few colours, another few a photo, so that random networks tell them apart."""
    rng = np.random.default_rng(seed)
    shapes = rng.integers(0, 256, (5, 6, 3)) * np.array([seed % 2, seed % 3, seed % 5]) / [1, 2, 4]
    return cv2.resize(shapes.astype(np.uint8), size, interpolation=cv2.INTER_CUBIC)


PHOTOS = {f"p{k}": photo(size, k) for k, size in enumerate(SIZES)}


@pytest.fixture
def study(tmp_path: Path) -> str:
    import class_networks as nets

    for name, pixels in PHOTOS.items():
        made.write(tmp_path / "photos" / f"{name}.png", pixels)
    (tmp_path / "classes.txt").write_text("\n".join(nets.NAMES))
    at = str(tmp_path / "study")
    fs.collect(
        at,
        tmp_path / "photos",
        task="classification",
        classes=tmp_path / "classes.txt",
        storage=fs.options.Storage(shard_size=3),
    )
    return at


def answers(study: str, source: object, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    """(I, K) labels and probabilities that a study holds of a network, pictures in order."""
    fs.predict(study, {"net": str(source)}, engine="local", **group_options(fs.predict, options))
    found = read_predictions(Study(Path(study)), ["net"], list(PHOTOS))
    if found.top is None:
        return found.labels[0][:, None], found.probabilities[0][:, None]
    return found.top[0][0], found.top[1][0]


def library(folder: Path, picture: np.ndarray) -> np.ndarray:
    """The probabilities that the library's own way gives."""

    import torch
    import transformers as hf

    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")
        hf.logging.set_verbosity_error()
        model = hf.AutoModelForImageClassification.from_pretrained(folder).eval()
        inputs = hf.AutoImageProcessor.from_pretrained(folder, backend="pil")(
            images=picture, return_tensors="pt"
        )
        return model(**inputs).logits[0].double().softmax(-1).numpy()


@pytest.mark.parametrize("kind", ["vit", "resnet", "convnext"])
def test_a_folder_of_transformers_says_what_the_library_says_in_batches_of_pictures_of_any_size(
    study: str, tmp_path: Path, kind: str
) -> None:
    import class_networks as nets

    folder = nets.saved(kind, tmp_path / kind)
    wanted = np.stack([library(folder, picture) for picture in PHOTOS.values()])
    assert np.ptp(wanted, axis=0).max() > 0.1  # else anything would do
    for batch in (1, 3):
        labels, shares = answers(study, folder, batch=batch)
        np.testing.assert_array_equal(labels[:, 0], wanted.argmax(1))
        np.testing.assert_array_equal(np.sort(labels, 1), np.tile(np.arange(5), (5, 1)))
        assert_shares(np.log(wanted), labels, shares, 1e-5)


def by_hand(picture: np.ndarray, size: tuple[int, int] = (224, 224), seed: int = 3) -> np.ndarray:
    """Logits in float64."""

    import class_networks as nets
    import torch_networks

    return torch_networks.exact_logits(
        nets.Small(seed), cv2.resize(picture, size, interpolation=cv2.INTER_LINEAR)
    )


# A mean over n pixels in float32, summed one after the other, may be wrong by n / 2**24 of itself; each
# library and each CPU sums in another order.
WRONG_AT_MOST = 112 * 112 / 2**24


def assert_shares(logits: np.ndarray, labels: np.ndarray, shares: np.ndarray, wrong: float) -> None:
    """Hold (I, K) shares against logits (I, C) that may each be wrong by this part of their picture's
    largest.
    """

    import class_networks as nets

    assert (np.diff(shares, axis=1) <= 0).all()
    for said, places, given in zip(logits, labels, shares, strict=True):
        np.testing.assert_allclose(given, nets.softmax(said)[places], rtol=2 * wrong * np.abs(said).max())


@pytest.mark.parametrize("form", ["onnx", "onnx 4", "pt2", "pt", "function", "pixels"])
def test_every_form_of_a_network_gives_the_softmax_of_its_logits(
    study: str, tmp_path: Path, form: str
) -> None:
    import class_networks as nets
    import torch_networks

    code = (
        f"import sys\nsys.path.insert(0, {str(Path(nets.__file__).parent)!r})\nimport class_networks as"
        " nets\nimport torch_networks\n"
    )
    code += "def load():\n    return nets.Small()\n"
    code += "net = nets.Small()\ndef pixels(picture):\n    return torch_networks.logits(net, picture)\n"
    (tmp_path / "own.py").write_text(code)
    source = {
        "onnx": lambda: nets.as_onnx(tmp_path / "net.onnx"),
        "onnx 4": lambda: nets.as_onnx(tmp_path / "net.onnx", flat=False),
        "pt2": lambda: torch_networks.exported(tmp_path / "net.pt2", module=nets.Small()),
        "pt": lambda: torch_networks.scripted(tmp_path / "net.pt", module=nets.Small()),
        "function": lambda: f"{tmp_path / 'own.py'}:load",
        "pixels": lambda: f"{tmp_path / 'own.py'}:pixels",
    }[form]()
    labels, shares = answers(study, source)
    own = form == "pixels"  # a function sees the picture as it is
    wanted = np.array([by_hand(p, (p.shape[1], p.shape[0]) if own else (224, 224)) for p in PHOTOS.values()])
    np.testing.assert_array_equal(labels[:, 0], wanted.argmax(1))
    assert_shares(wanted, labels, shares, WRONG_AT_MOST)
    assert len(set(labels[:, 0])) > 1


def test_views_are_averaged_before_the_softmax_and_crop_shows_the_middle(study: str, tmp_path: Path) -> None:
    import class_networks as nets
    import torch_networks

    net = nets.as_onnx(tmp_path / "net.onnx")
    labels, shares = answers(study, net, crop=0.5, flip=True, scales=[1.0, 0.5], input_size="48x48")
    for k, picture in enumerate(PHOTOS.values()):
        (height, width), side = picture.shape[:2], round(0.5 * min(picture.shape[:2]))
        top, left = (height - side) // 2, (width - side) // 2
        seen = picture[top : top + side, left : left + side]
        np.testing.assert_array_equal(middle(picture, 0.5), seen)
        views = [cv2.resize(seen, size, interpolation=cv2.INTER_LINEAR) for size in ((48, 48), (24, 24))]
        views += [np.ascontiguousarray(view[:, ::-1]) for view in views]
        wanted = np.mean([torch_networks.exact_logits(nets.Small(), view) for view in views], axis=0)
        assert_shares(wanted[None], labels[[k]], shares[[k]], 24 * 24 / 2**24)


def test_how_many_probabilities_are_kept_is_asked_with_keep_and_another_number_does_the_shards_anew(
    study: str, tmp_path: Path
) -> None:
    import class_networks as nets

    net = nets.as_onnx(tmp_path / "net.onnx")
    assert answers(study, net)[0].shape == (5, 5)
    assert answers(study, net, keep=["probabilities=2"])[1].shape == (5, 2)
    assert answers(study, net, keep=["probabilities"])[0].shape == (5, 5)
    digest = label_maps.content_digest(label_maps.predictions(Path(study), "net"))
    answers(study, net, keep=["confidence"])  # it is part of every answer
    assert label_maps.content_digest(label_maps.predictions(Path(study), "net")) == digest
    only = nets.as_onnx(tmp_path / "labels.onnx", labels=True)
    with refused(ModelError, "returns labels without logits, so probabilities cannot be kept"):
        fs.predict(study, f"other={only}", engine="local", keep=["probabilities=2"])


def test_a_network_of_labels_says_nothing_of_how_sure_it_is(study: str, tmp_path: Path) -> None:
    import class_networks as nets

    wanted = answers(study, nets.as_onnx(tmp_path / "net.onnx"))[0][:, 0]
    labels, shares = answers(study, nets.as_onnx(tmp_path / "labels.onnx", labels=True))
    np.testing.assert_array_equal(labels[:, 0], wanted)
    assert np.isnan(shares).all()


@pytest.mark.slow
def test_processes_write_the_bytes_that_one_process_writes(study: str, tmp_path: Path) -> None:
    import class_networks as nets

    sources = {f"net-{k}": str(nets.as_onnx(tmp_path / f"{k}.onnx", seed=k)) for k in range(2)}
    fs.predict(study, sources, engine="local")
    alone = made.bytes_under(Path(study), "predictions")
    assert len(alone) == 6
    fs.predict(study, remove=list(sources))
    assert not made.bytes_under(Path(study), "predictions")
    fs.predict(study, sources, engine="processes", workers=2)
    assert made.bytes_under(Path(study), "predictions") == alone


def test_classes_are_found_by_name_or_by_a_mapping_file(study: str, tmp_path: Path) -> None:
    import class_networks as nets

    net = nets.as_onnx(tmp_path / "net.onnx")
    first = answers(study, net)[0][:, 0]
    (tmp_path / "labels.json").write_text('{"0": "tree", "1": "void", "2": "car", "3": "car", "4": "sky"}')
    meaning = np.array([4, -1, 2, 2, 0])
    np.testing.assert_array_equal(
        answers(study, net, labels=str(tmp_path / "labels.json"))[0][:, 0], meaning[first]
    )
    (tmp_path / "other.txt").write_text("tree\nsky\nroad\ncar\nperson\n")
    fs.collect(study, str(tmp_path / "photos"), classes=str(tmp_path / "other.txt"))
    folder = nets.saved("vit", tmp_path / "vit")
    wanted = [nets.NAMES[library(folder, picture).argmax()] for picture in PHOTOS.values()]
    order = ("tree", "sky", "road", "car", "person")
    assert [order[k] for k in answers(study, folder)[0][:, 0]] == wanted


@pytest.mark.slow
def test_what_does_not_fit_the_study_is_one_line(study: str, tmp_path: Path) -> None:
    import class_networks as nets
    import torch_networks

    corpus = made.corpus(tmp_path / "corpus", images=2, models=1)
    maps = made.collected(corpus, tmp_path / "maps", shard_size=4)
    whole, pixels = nets.as_onnx(tmp_path / "net.onnx"), tmp_path / "maps.pt"
    torch_networks.scripted(pixels)
    seen = refused_line("predict", study, f"net={pixels}")
    assert "a classifier returns one class per image" in seen
    assert "net" in refused_line("predict", maps, f"net={whole}")
    vit = nets.saved("vit", tmp_path / "vit")
    assert "does not segment by classes" in refused_line("predict", maps, f"net={vit}")
    assert "--window is for label maps" in refused_line("predict", study, f"net={whole}", "--window", "32x32")
    assert "--crop is for classifiers" in refused_line("predict", maps, f"net={whole}", "--crop", "0.9")
    assert "--measure is for label maps" in refused_line("predict", study, f"net={whole}", "--measure")
    assert "or a network for a classifier; got a folder" in refused_line(
        "predict", study, f"net={corpus.models['model-0']}"
    )
    assert "got a program" in refused_line("predict", study, "net=exec:ls {input} {output}")
    (tmp_path / "t.npz").write_bytes(b"")
    assert "one file of arrays is not a model" in refused_line("predict", maps, f"net={tmp_path / 't.npz'}")
    (tmp_path / "t.dat").write_bytes(b"")
    assert "a folder of label maps, model.onnx, " in refused_line(
        "predict", maps, f"net={tmp_path / 't.dat'}"
    )
    for crop in ("0", "1.1", "-1"):
        assert "crop is a share of the shorter side" in refused_line(
            "predict", study, f"net={whole}", "--crop", crop
        )
    assert "measure is for label maps" in refused_line("measure", study)
    (tmp_path / "two.txt").write_text("sky\nroad\n")
    fs.collect(study, str(tmp_path / "photos"), classes=str(tmp_path / "two.txt"))
    assert "the network has 5 classes, the study 2; give --labels FILE" in refused_line(
        "predict", study, f"net={whole}"
    )
    assert not read_settings(Path(study)).models


def test_a_picture_over_which_a_network_fails_costs_no_other(study: str, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "import numpy as np\ndef see(picture):\n"
        "    if picture.shape[:2] == (60, 90):\n        raise ValueError('too wide')\n"
        "    return np.full(5, np.nan) if picture.shape[0] == 41 else np.arange(5.0)\n"
    )
    assert fs.predict(study, f"net={tmp_path / 'own.py'}:see", engine="local").models == {"net": (3, 2)}
    why = {f.image: f.reason for f in fs.study.tables.logs.read_failures(Path(study))}
    assert "too wide" in why["p1"]
    assert "NaN" in why["p4"]


def test_a_window_is_refused_in_python_too(study: str, tmp_path: Path) -> None:
    import class_networks as nets

    with refused(OptionError, "--window is for label maps"):
        fs.predict(
            study, f"net={nets.as_onnx(tmp_path / 'net.onnx')}", shown=fs.options.Shown(window="16x16")
        )
    with refused(FaultscapeError):
        fs.predict(study, f"net={tmp_path / 'gone.onnx'}")
