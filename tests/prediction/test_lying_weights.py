"""Weights that do not fit the network they belong to: a folder that lacks tensors which reach the answer is
refused, whoever loads it; one that lacks nothing that is used loads.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import random_networks as nets

from faultscape.errors import ModelError
from faultscape.prediction import catalogue
from refusals import refused


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("whole")
    return {kind: nets.save(kind, root / kind) for kind in ("segformer", "dpt", "mask2former", "upernet")}


@pytest.fixture
def folder(whole: dict[str, Path], tmp_path: Path) -> Path:
    """A copy of a SegFormer."""
    return Path(shutil.copytree(whole["segformer"], tmp_path / "segformer"))


def test_a_folder_whose_head_is_missing_is_refused_by_the_names_of_its_tensors(folder: Path) -> None:
    import lying_networks as lying

    lying.drop(folder, "decode_head.classifier")
    with refused(
        ModelError,
        r"its files lack 2 tensors \(decode_head.classifier.bias, decode_head.classifier.weight\), which would"
        " be filled with random numbers",
    ):
        catalogue.open_model(str(folder))


def test_a_folder_of_another_architecture_is_refused_with_the_first_names(folder: Path) -> None:
    import lying_networks as lying

    def renamed(tensors: dict) -> None:
        for key in [*tensors]:
            tensors[f"module.{key}"] = tensors.pop(key)

    lying.change_weights(folder, renamed)
    with refused(ModelError, r"its files lack \d+ tensors \(decode_head.batch_norm.bias, .*, \.\.\.\)"):
        catalogue.open_model(str(folder))


def test_a_checkpoint_that_is_no_safetensors_is_looked_through_as_well(folder: Path) -> None:
    import torch
    from safetensors.torch import load_file

    import lying_networks as lying

    lying.drop(folder, "decode_head.classifier")
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with refused(ModelError, r"its files lack 2 tensors \(decode_head.classifier.bias, "):
        catalogue.open_model(str(folder))


def test_a_model_of_the_hub_is_looked_through_as_well(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import lying_networks as lying
    from faultscape.prediction.sources import huggingface as hub

    lying.drop(folder, "decode_head.classifier")
    monkeypatch.setattr(hub, "fetch", lambda _repository: (str(folder), "0" * 40))
    with refused(ModelError, r"hf:some/network: its files lack 2 tensors \(decode_head.classifier.bias, "):
        catalogue.open_model("hf:some/network")


def test_a_classifier_whose_head_is_missing_is_refused(tmp_path: Path) -> None:
    import transformers as hf

    import lying_networks as lying

    config = hf.ResNetConfig(embedding_size=8, hidden_sizes=[8, 8, 16, 16], depths=[1, 1, 1, 1])
    hf.ResNetForImageClassification(config).save_pretrained(tmp_path)
    lying.drop(tmp_path, "classifier")
    with refused(ModelError, r"its files lack 2 tensors \(classifier.1.bias, classifier.1.weight\)"):
        catalogue.open_model(str(tmp_path), task="classification")


def test_tensors_of_other_shapes_are_named_with_both(folder: Path) -> None:
    import torch

    import lying_networks as lying

    lying.change_weights(
        folder, lambda tensors: tensors.update({"decode_head.classifier.weight": torch.zeros(7, 16, 1, 1)})
    )
    with refused(
        ModelError,
        r"its config.json describes other shapes of 1 tensor than its weights have, such as"
        r" decode_head.classifier.weight: \(5, 16, 1, 1\), and the weights \(7, 16, 1, 1\); put config.json",
    ):
        catalogue.open_model(str(folder))


def test_tensors_that_the_network_does_not_have_are_noted(folder: Path) -> None:
    import torch

    import lying_networks as lying

    lying.change_weights(folder, lambda tensors: tensors.update({"extra.weight": torch.zeros(3)}))
    (note,) = catalogue.open_model(str(folder)).network.notes
    assert (
        note
        == f"note: {folder}: its files also hold 1 tensor (extra.weight), which the network does not have"
    )


@pytest.mark.parametrize(
    ("kind", "unused"),
    [
        ("dpt", "neck.fusion_stage.layers.0.residual_layer1"),  # as in published DPTs: it has no residual
        ("mask2former", "criterion"),  # of the loss
        ("upernet", "auxiliary_head"),  # of the loss
    ],
)
def test_tensors_that_do_not_reach_the_answer_may_be_missing(
    whole: dict[str, Path], tmp_path: Path, kind: str, unused: str
) -> None:
    import lying_networks as lying

    picture = np.random.default_rng(0).integers(0, 256, (96, 96, 3), np.uint8)
    folder = lying.drop(Path(shutil.copytree(whole[kind], tmp_path / kind)), unused)
    (said,), (wanted,) = (
        catalogue.open_model(str(place)).predict([picture]) for place in (folder, whole[kind])
    )
    assert (said.labels == wanted.labels).all()


def test_a_new_head_may_be_trained_on_an_encoder_and_is_said(folder: Path) -> None:
    import lying_networks as lying
    from faultscape.uncertainty.networks.transformers_networks import of_folder

    assert of_folder(str(folder), 5)[1] == ()
    lying.drop(folder, "decode_head")
    net, (note,) = of_folder(str(folder), 5)
    assert type(net).__name__ == "SegformerForSemanticSegmentation"
    assert "tensors (decode_head.batch_norm.bias, " in note
    assert note.endswith("), which start at random")


@pytest.mark.parametrize(
    "lost", ["segformer.encoder.patch_embeddings.0", "segformer.encoder.layer_norm", "segformer"]
)
def test_training_does_not_start_from_an_encoder_with_holes(folder: Path, lost: str) -> None:
    import lying_networks as lying
    from faultscape.uncertainty.networks.transformers_networks import of_folder

    lying.drop(folder, lost)
    with refused(ModelError, r"its files lack \d+ tensors? \(segformer\..* of the encoder"):
        of_folder(str(folder), 5)


def test_the_encoder_of_a_segmenter_is_whole_or_refused(tmp_path: Path) -> None:
    import transformers as hf

    import lying_networks as lying
    from faultscape.uncertainty.networks.transformers_networks import of_folder

    small = hf.ViTConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
    hf.ViTForImageClassification(small).save_pretrained(tmp_path)
    assert of_folder(str(tmp_path), 5)[1] == ()
    lying.drop(tmp_path, "vit.embeddings")
    with refused(ModelError, r"its files lack \d+ tensors \(embeddings\..* of the encoder"):
        of_folder(str(tmp_path), 5)
