"""Folders of the transformers library: every kind gives the labels of the library's own post-processing,
whatever the batch.
"""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import random_networks as nets

import faultscape as fs
import made
from faultscape.classes import mapping
from faultscape.errors import ModelError
from faultscape.maps import winners
from faultscape.prediction import catalogue
from faultscape.prediction.inference import Inference
from faultscape.prediction.merge import Overlap
from refusals import refused

TIE = 1e-5  # of the library's own scores: where the two largest are nearer, the order of sums decides
SIZES = ((333, 250), (250, 333), (320, 333))  # width, height


def photo(size: tuple[int, int], seed: int = 0) -> np.ndarray:
    """Soft shapes with some noise, as photos have them."""
    rng = np.random.default_rng(seed)
    soft = cv2.resize(rng.integers(0, 256, (7, 9, 3), np.uint8), size, interpolation=cv2.INTER_CUBIC)
    return np.clip(soft + rng.normal(0, 6, soft.shape), 0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder of every kind."""
    root = tmp_path_factory.mktemp("networks")
    return {kind: nets.save(kind, root / kind) for kind in nets.KINDS}


@pytest.fixture(scope="module", params=nets.KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


def library(folder: Path, picture: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The library's own labels of a picture, the scores they are the largest of, and where the two largest
    tie.
    """
    import torch
    import transformers as hf

    torch.set_num_threads(1)
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")
        hf.logging.set_verbosity_error()
        universal = folder.name in ("mask2former", "maskformer", "eomt")
        auto = hf.AutoModelForUniversalSegmentation if universal else hf.AutoModelForSemanticSegmentation
        model = auto.from_pretrained(folder).eval()
        processor = hf.AutoImageProcessor.from_pretrained(folder, backend="pil")
        inputs = processor(images=[picture], return_tensors="pt")
        offsets = inputs.pop("patch_offsets", None)
        outputs = model(**inputs)
        if offsets is not None:
            outputs.patch_offsets = offsets
        seen: list[Any] = []
        with pytest.MonkeyPatch.context() as patch:  # the scores of which the library takes the largest
            argmax = torch.Tensor.argmax
            patch.setattr(
                torch.Tensor,
                "argmax",
                lambda scores, dim=None, **more: (seen.append(scores), argmax(scores, dim=dim, **more))[1],
            )
            (labels,) = processor.post_process_semantic_segmentation(
                outputs, target_sizes=[picture.shape[:2]]
            )
    scores = seen[-1].float().squeeze(0) if seen else None
    assert scores is not None  # of which the library took the largest
    assert scores.shape == (nets.CLASSES, *picture.shape[:2])
    first, second = scores.topk(2, dim=0).values
    return labels.numpy(), scores.numpy(), ((first - second) <= TIE * scores.abs().amax()).numpy()


@pytest.mark.slow
def test_labels_equal_the_librarys_own_alone_and_in_a_batch_of_pictures_of_other_sizes(
    saved: dict[str, Path], kind: str
) -> None:
    pictures = [photo(size, k) for k, size in enumerate(SIZES)]
    model = catalogue.open_model(str(saved[kind]), batch=3)
    prepared = [model.prepare(picture, size) for picture, size in zip(pictures, SIZES, strict=True)]
    together = model.run(prepared)
    (alone,) = catalogue.open_model(str(saved[kind]), batch=1).run(prepared[:1])
    drawn: set[int] = set()
    for size, picture, answers in zip(
        SIZES, pictures, ([together[0], alone], together[1:2], together[2:]), strict=True
    ):
        want, scores, tie = library(saved[kind], picture)
        for answer in answers:
            labels = winners.labels(answer.scores, size)
            assert labels.shape == want.shape
            assert not ((labels != want) & ~tie).any()
            assert (labels != want).sum() <= 20  # of 83,250: ties that fell the other way
            assert np.abs(winners.enlarged(answer.scores, size) - scores).max() <= 1e-4 * np.abs(scores).max()
        assert tie.mean() < 5e-3
        drawn |= set(np.unique(want).tolist())
        assert scores.std(axis=(1, 2)).max() > 1e-4 * np.abs(scores).max()
    assert len(drawn) > 1 or kind == "maskformer"  # whose queries, untrained, all mean one class


def test_networks_of_queries_are_marginal_and_all_say_their_classes(
    saved: dict[str, Path], kind: str
) -> None:
    network = catalogue.open_model(str(saved[kind])).network
    assert network.marginal == (kind in ("mask2former", "maskformer", "eomt"))
    assert network.class_names == list(nets.NAMES.values())
    assert network.channels == nets.CLASSES


def test_an_input_size_shows_the_whole_picture_at_that_size(saved: dict[str, Path]) -> None:
    picture = photo((333, 250))
    for kind in ("segformer", "mobilevit"):  # the second cuts out a centre by itself
        model = catalogue.open_model(str(saved[kind]), input_size="160x128")
        prepared = model.prepare(picture, (333, 250))
        assert [view.shape for view in prepared.views] == [(3, 128, 160)]
        at_size = cv2.resize(picture, (160, 128), interpolation=cv2.INTER_LINEAR)
        values = prepared.views[0].transpose(1, 2, 0)
        if kind == "segformer":
            mean, std = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
            assert np.abs(values - (at_size / 255 - mean) / std).max() < 1e-5
        else:
            assert np.abs(values[..., ::-1] - at_size / 255).max() < 1e-6  # MobileViT wants blue first
        assert model.predict([picture])[0].labels.shape == (250, 333)


def test_sliding_windows_equal_a_plain_loop(saved: dict[str, Path]) -> None:
    import torch
    import transformers as hf

    picture = photo((200, 150))
    model = catalogue.open_model(
        str(saved["segformer"]), window="96x80", stride="64x48", input_size="200x150", batch=4
    )
    (out,) = model.predict([picture])
    bare = hf.SegformerForSemanticSegmentation.from_pretrained(saved["segformer"]).eval()
    view = torch.from_numpy(model.network.prepare(picture, (200, 150), (200, 150)))[None]
    total, seen = torch.zeros(1, nets.CLASSES, 150, 200), torch.zeros(150, 200)
    with torch.inference_mode():
        for top in (0, 48, 70):
            for left in (0, 64, 104):
                logits = bare(view[..., top : top + 80, left : left + 96]).logits
                total[..., top : top + 80, left : left + 96] += torch.nn.functional.interpolate(
                    logits, (80, 96), mode="bilinear", align_corners=False
                )
                seen[top : top + 80, left : left + 96] += 1
    mean = (total / seen)[0]
    first, second = mean.topk(2, dim=0).values
    different = torch.from_numpy(out.labels.astype(int)) != mean.argmax(0)
    assert not (different & (first - second > TIE * mean.abs().amax(0))).any()
    assert different.sum() <= 5
    assert len(np.unique(out.labels)) > 1


def test_eomt_cuts_its_own_windows_and_labels_do_not_depend_on_the_others_in_the_batch(
    saved: dict[str, Path],
) -> None:
    model = catalogue.open_model(str(saved["eomt"]))
    prepared = model.prepare(photo((333, 250)), (333, 250))
    height, width = prepared.views[0].shape[1:]
    assert (height, width) == (96, 127)
    assert model._windows(prepared.views[0]) == [(0, 0, 96, 96), (0, 31, 96, 96)]
    asked = catalogue.open_model(str(saved["eomt"]), window="96x96", stride="31x96")
    assert asked.way.window == (96, 96)
    (own,) = model.run([prepared])
    parts = [
        answer.scores
        for answer in model.network.run(np.stack([prepared.views[0][..., :96], prepared.views[0][..., 31:]]))
    ]
    overlap = Overlap(96, 127)
    for part, left in zip(parts, (0, 31), strict=True):
        overlap.add(part, (0, left, 96, 96))
    want = overlap.mean()
    assert np.abs(own.scores - want).max() < 1e-4
    assert (winners.labels(own.scores, (333, 250)) == model.predict([photo((333, 250))])[0].labels).all()


def test_confidence_of_a_network_of_queries_is_its_share_of_the_sum(saved: dict[str, Path]) -> None:
    model = catalogue.open_model(str(saved["maskformer"]), keep=["confidence", "probabilities"])
    picture = photo((120, 90))
    (answer,), (out,) = model.run([model.prepare(picture, (120, 90))]), model.predict([picture])
    scores = winners.enlarged(answer.scores, (120, 90))
    assert np.abs(out.confidence - 255 * scores.max(0) / scores.sum(0)).max() <= 0.51
    assert np.abs(out.kept["probabilities"][0].astype(np.float32).sum(0) - 1).max() < 1e-2


def test_a_folder_without_a_processor_is_normalised_as_imagenet_is_or_as_asked(
    saved: dict[str, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "bare"
    folder.mkdir()
    for file in saved["segformer"].iterdir():
        if file.name != "preprocessor_config.json":
            (folder / file.name).write_bytes(file.read_bytes())
    model = catalogue.open_model(str(folder), input_size="128x96")
    assert model.network.notes == (
        (
            f"{folder} has no processor; images are normalised with ImageNet statistics, or with --mean"
            " and --std"
        ),
    )
    picture = photo((333, 250))
    with_it = catalogue.open_model(str(saved["segformer"]), input_size="128x96")
    assert (
        np.abs(model.prepare(picture, (9, 9)).views[0] - with_it.prepare(picture, (9, 9)).views[0]).max()
        < 1e-5
    )
    asked = catalogue.open_model(str(folder), mean=[0.5], std=[0.25]).prepare(picture, (333, 250)).views[0]
    assert np.abs(asked - ((picture / 255 - 0.5) / 0.25).transpose(2, 0, 1)).max() < 1e-5


def test_a_study_takes_a_folder_and_maps_its_classes_by_id2label(
    saved: dict[str, Path], tmp_path: Path
) -> None:
    corpus = made.corpus(tmp_path / "corpus", images=3, models=1)
    study = str(tmp_path / "study")
    fs.collect(study, str(corpus.photos), classes=str(corpus.classes))
    assert fs.predict(study, {"seg": saved["segformer"]}, engine="local").models["seg"] == (3, 0)
    settings = fs.study.settings.read_settings(Path(study))
    assert settings.models["seg"].kind == "transformers"
    assert settings.models["seg"].labels == {str(k): name for k, name in nets.NAMES.items()}


def test_a_folder_of_another_kind_of_model_is_refused_with_the_kinds_that_work(tmp_path: Path) -> None:
    import transformers as hf

    hf.BertConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=1).save_pretrained(
        tmp_path / "bert"
    )
    with refused(
        ModelError,
        r"bert: model type 'bert' does not segment by classes; supported types:"
        r" .*eomt.*mask2former.*segformer",
    ):
        catalogue.open_model(str(tmp_path / "bert"))


class _Creates:
    """Unpickling this creates a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (os.mkdir, (str(self.path),))


def copied(folder: Path, to: Path, without: str) -> Path:
    to.mkdir()
    for file in folder.iterdir():
        if file.name != without:
            (to / file.name).write_bytes(file.read_bytes())
    return to


@pytest.mark.parametrize("protocol", ["torch", "pickle"])
def test_weights_that_are_a_malicious_pickle_are_refused_and_nothing_of_them_runs(
    saved: dict[str, Path], tmp_path: Path, protocol: str
) -> None:
    import pickle

    import torch

    folder, victim = copied(saved["segformer"], tmp_path / "evil", "model.safetensors"), tmp_path / "created"
    weights = {"segformer.weight": _Creates(victim)}
    if protocol == "torch":
        torch.save(weights, folder / "pytorch_model.bin")
    else:
        (folder / "pytorch_model.bin").write_bytes(pickle.dumps(weights, 2))
    with refused(ModelError, "evil: transformers cannot load it: ") as caught:
        catalogue.open_model(str(folder))
    assert str(caught.value).endswith("nothing is unpickled; save them as safetensors")
    assert "weights_only" not in str(caught.value)
    assert not victim.exists()
    pickle.loads(pickle.dumps(_Creates(victim)))  # the control: what is forged does run where it is trusted
    assert victim.exists()


@pytest.mark.parametrize("file", ["config.json", "preprocessor_config.json"])
def test_a_folder_that_needs_code_of_its_own_is_refused_without_advice_to_run_it(
    saved: dict[str, Path], tmp_path: Path, file: str
) -> None:
    folder = copied(saved["segformer"], tmp_path / "own", "none")
    said = json.loads((folder / file).read_text())
    said |= {"model_type": "own"} if file == "config.json" else {"image_processor_type": "Own"}
    said["auto_map"] = {"AutoConfig": "code.Config", "AutoImageProcessor": "code.Processor"}
    (folder / file).write_text(json.dumps(said))
    (folder / "code.py").write_text(f"open({str(tmp_path / 'created')!r}, 'w')")
    with refused(ModelError, r"it needs its own code, which is never run; write a function") as caught:
        catalogue.open_model(str(folder))
    assert "trust_remote_code" not in str(caught.value)
    assert not (tmp_path / "created").exists()


def test_a_damaged_folder_is_one_sentence(saved: dict[str, Path], tmp_path: Path) -> None:
    folder = copied(saved["segformer"], tmp_path / "torn", "none")
    whole = (folder / "model.safetensors").read_bytes()
    for weights, config in (
        (whole[: len(whole) // 2], None),
        (b"", None),
        (None, "{"),
        (None, json.dumps({"model_type": "nothing"})),
        (None, json.dumps({"model_type": "segformer", "num_encoder_blocks": "four"})),
    ):
        damaged = copied(folder, tmp_path / f"torn-{len(list(tmp_path.iterdir()))}", "none")
        if weights is not None:
            (damaged / "model.safetensors").write_bytes(weights)
        if config is not None:
            (damaged / "config.json").write_text(config)
        with refused(
            ModelError, f"{damaged.name}: transformers cannot (load it|read its config.json): ."
        ) as caught:
            catalogue.open_model(str(damaged))
        assert "\n" not in str(caught.value)
        assert not str(caught.value).endswith(":")  # the library gives the reason on its second line


def test_a_layer_is_kept_by_its_name_and_an_unknown_one_is_told(saved: dict[str, Path]) -> None:
    picture = photo((128, 96))
    model = catalogue.open_model(str(saved["segformer"]), keep=["embedding=decode_head.batch_norm"])
    (out,) = model.predict([picture])
    (layer,) = out.kept["embedding-decode_head.batch_norm"]
    assert (layer.dtype, layer.shape) == (np.float16, (16, 24, 32))
    assert layer.std() > 0
    (wrong,) = catalogue.open_model(str(saved["segformer"]), keep=["embedding=head"]).predict([picture])
    assert "has no layer 'head'. Its last layers are " in wrong.problem


def test_opening_one_warns_of_nothing_and_names_find_the_studys_classes(saved: dict[str, Path]) -> None:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        for kind in ("beit", "mask2former"):
            assert isinstance(catalogue.open_model(str(saved[kind])), Inference)
    assert not heard
    assert mapping.plain_name("Traffic_Light") == "traffic light"
