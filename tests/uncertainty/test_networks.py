"""Backbones: the networks that are built by name, of folders of the transformers library, and with fast
weights in their blocks.
"""

from __future__ import annotations

import copy
import importlib
import json
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
from faultscape.errors import ModelError, OptionError
from faultscape.uncertainty.networks.catalogue import BACKBONES, backbone_named
from refusals import refused

pytestmark = pytest.mark.usefixtures("no_gradients")

CLASSES = tuple("abcde")


def build(name: str, **told):
    from faultscape.uncertainty.description import Description
    from faultscape.uncertainty.description import build as built

    entry = backbone_named(name)
    assert entry is not None
    return built(Description(name, CLASSES, multiple=entry.multiple, **told))


def small_vit(**told):
    from transformers import ViTConfig, ViTModel

    config = ViTConfig(
        hidden_size=24,
        num_hidden_layers=3,
        num_attention_heads=2,
        intermediate_size=48,
        image_size=64,
        patch_size=16,
        hidden_dropout_prob=0.0,
        **told,
    )
    return ViTModel(config, add_pooling_layer=False)


@pytest.mark.parametrize("name", ["segmenter-T/16", "segformer-b0", "deeplabv3plus-18"])
def test_a_backbone_gives_logits_at_its_stride_and_has_as_many_parameters_as_the_table_says(
    torch, name: str
) -> None:
    entry, net = backbone_named(name), build(name)
    said = net(torch.rand(1, 3, 96, 128))
    assert said.logits.shape == (1, 5, 96 // entry.stride, 128 // entry.stride)
    assert sum(p.numel() for p in net.parameters()) / 1e6 == pytest.approx(entry.parameters, abs=0.1)


def test_every_backbone_has_one_name_and_a_place_that_is_there() -> None:
    assert len({entry.name for entry in BACKBONES}) == len(BACKBONES)
    for entry in BACKBONES:
        module, _, function = entry.place.partition(":")
        assert callable(
            getattr(importlib.import_module(f"faultscape.uncertainty.networks.{module}"), function)
        )


@pytest.mark.parametrize("entry", BACKBONES, ids=lambda entry: entry.name)
def test_middle_layers_are_blocks_of_the_network_and_lie_before_its_last_stage(torch, entry) -> None:
    module, _, function = entry.place.partition(":")
    with torch.device("meta"):
        net = getattr(importlib.import_module(f"faultscape.uncertainty.networks.{module}"), function)(
            entry.size, 5, 0.1
        )
    blocks = [name for name, _ in net.named_modules()]
    assert 2 <= len(entry.middle) <= 4
    assert set(entry.middle) <= set(blocks)
    last = max(entry.middle, key=blocks.index)
    stage, _, number = last.rpartition(".")
    assert f"{stage}.{int(number) + 1}" not in blocks  # the last block of its stage


def test_the_segmenter_is_a_vit_without_its_class_token_and_a_linear_layer(torch) -> None:
    from faultscape.uncertainty.networks.segmenter import Segmenter

    net = Segmenter(small_vit(), 5).eval()
    image = torch.rand(2, 3, 48, 80)  # no square, and not the size of its position embeddings
    tokens = net.vit(image, interpolate_pos_encoding=True).last_hidden_state
    assert tokens.shape[1] == 1 + 3 * 5
    expected = (tokens[:, 1:] @ net.head.weight.T + net.head.bias).reshape(2, 3, 5, 5).permute(0, 3, 1, 2)
    torch.testing.assert_close(net(image), expected)


def test_position_embeddings_are_brought_to_the_grid_bicubically(torch) -> None:
    vit = small_vit()
    embeddings = vit.embeddings
    held = embeddings.interpolate_pos_encoding(torch.zeros(1, 1 + 3 * 5, 24), 48, 80)
    square = embeddings.position_embeddings[:, 1:].reshape(1, 4, 4, 24).permute(0, 3, 1, 2)
    expected = torch.nn.functional.interpolate(square, size=(3, 5), mode="bicubic", align_corners=False)
    torch.testing.assert_close(held[:, 1:], expected.flatten(2).transpose(1, 2))


def test_deeplab_sees_at_a_sixteenth_and_pools_over_the_whole_image(torch) -> None:
    net = build("deeplabv3plus-18").net
    image = torch.rand(1, 3, 96, 128)
    low, high = net.encoder(image).feature_maps
    assert (low.shape[2:], high.shape[2:]) == ((24, 32), (6, 8))
    wide = [
        m
        for m in net.encoder.encoder.stages[-1].modules()
        if isinstance(m, torch.nn.Conv2d) and m.kernel_size == (3, 3)
    ]
    assert {(m.stride, m.dilation, m.padding) for m in wide} == {((1, 1), (2, 2), (2, 2))}
    changed = high.clone()
    changed[..., 0, 0] += 5
    far = (net.pooling(changed) - net.pooling(high))[0, :, -1, -1]
    # beyond the reach of any of its rates at this size, but for the image's own features
    assert float(far.abs().max()) > 0


def test_members_in_encoder_blocks_are_one_member_without_spread_and_three_networks_with_it(torch) -> None:
    from faultscape.uncertainty.networks.segmenter import Segmenter

    vit, image = small_vit(), torch.rand(2, 3, 32, 48)
    plain = Segmenter(vit, 5).eval()
    before = plain(image)
    plain.use_members(2, 3, "normal", 0.0, 0)  # fast weights of 1: all members are the network
    net = fs.uncertainty.replace_head(plain, "batch-ensemble", members=3, spread=0.0).eval()
    said = net(image)
    assert said.members.shape == (2, 3, 5, 2, 3)
    for member in range(3):
        torch.testing.assert_close(said.members[:, member], before, rtol=1e-4, atol=1e-5)
    for block in vit.layers[-2:]:
        for name, values in block.named_parameters():
            if name.endswith(("alpha", "gamma")):
                values.copy_(1 + 0.5 * torch.randn_like(values))
    for name, values in net.named_parameters():
        if name.endswith("head.alpha"):
            values.copy_(1 + 0.5 * torch.randn_like(values))
    said = net(image)
    for member in range(3):
        # each member is the network of its own fast weights, in its blocks and in its head
        one = copy.deepcopy(net)
        for name, values in one.named_parameters():
            if name.endswith(("alpha", "gamma")) or (name.endswith("bias") and values.ndim == 2):
                values.copy_(values[member].expand_as(values))
        torch.testing.assert_close(said.members[:, member], one(image).members[:, 0], rtol=1e-4, atol=1e-5)
    assert float((said.members[:, 0] - said.members[:, 1]).abs().max()) > 1e-3
    alone = net(image[1:])
    torch.testing.assert_close(said.members[1:], alone.members, rtol=1e-4, atol=1e-5)
    with refused(OptionError, "fast weights requested for the last 4 blocks, but the encoder has only 3"):
        Segmenter(small_vit(), 5).use_members(4, 3, "normal", 0.5, 0)


def test_all_that_a_block_is_told_of_each_image_is_repeated_for_each_member(torch) -> None:
    from faultscape.uncertainty.networks.segmenter import _repeated

    tokens, mask, shared = torch.randn(2, 5, 4), torch.randn(2, 1, 5, 5), torch.randn(1, 5)
    inputs, named = _repeated(3)(None, (tokens, mask), {"mask": mask, "shared": shared, "flag": True})
    for repeated, given in ((inputs[0], tokens), (inputs[1], mask), (named["mask"], mask)):
        assert torch.equal(repeated, torch.cat([given] * 3))
    assert torch.equal(named["shared"], shared)
    assert named["flag"] is True


def test_a_description_with_members_in_its_blocks_is_built_again(torch, tmp_path: Path) -> None:
    from faultscape.uncertainty import description as d

    about = d.Description(
        "hf:some/vit",
        CLASSES,
        head="batch-ensemble",
        member_blocks=1,
        multiple=16,
        config=config_of(small_vit()),
    )
    net = d.build(about)
    d.save(tmp_path, about, net, {})
    again, loaded = d.load(tmp_path)
    image = torch.rand(1, 3, 32, 32)
    assert again == about
    assert torch.equal(loaded(image).members, net(image).members)
    with refused(ModelError, "fast weights in encoder blocks need a Segmenter with the head batch-ensemble"):
        d.build(d.Description("segformer-b0", CLASSES, head="batch-ensemble", member_blocks=1))


def test_a_wide_start_leaves_the_new_decoder_of_a_segmenter_but_keeps_a_trained_one(torch) -> None:
    """As in the code of Buchanan et al. 2022, whose heteroscedastic head has no decoder before it."""
    from faultscape.uncertainty.description import Description
    from faultscape.uncertainty.description import build as built

    about = Description(
        "segmenter-T/16", CLASSES, head="heteroscedastic", head_options={"samples": 2, "wide_start": True}
    )
    net = built(about)
    deviation = float(net.head.location.std()) * net.head.dimensions**0.5
    assert deviation == pytest.approx(1, rel=0.1)
    trained = torch.full_like(net.head.location, 3.0)
    net.head.location.copy_(trained)
    assert torch.equal(built(about, start=net).head.location, trained)


def config_of(vit) -> dict:
    held = vit.config.to_dict()
    return {
        key: held[key]
        for key in (
            "model_type",
            "hidden_size",
            "num_hidden_layers",
            "num_attention_heads",
            "intermediate_size",
            "image_size",
            "patch_size",
        )
    }


def test_a_folder_of_a_vit_becomes_the_encoder_of_a_segmenter_with_its_weights(torch, tmp_path: Path) -> None:
    from faultscape.uncertainty.networks.transformers_networks import of_folder

    vit = small_vit()
    vit.save_pretrained(tmp_path)
    net, _ = of_folder(str(tmp_path), 5)
    assert torch.equal(net.vit.layers[0].mlp.fc1.weight, vit.layers[0].mlp.fc1.weight)
    assert net(torch.rand(1, 3, 32, 48)).shape == (1, 5, 2, 3)


def test_a_folder_of_a_resnet_becomes_the_encoder_of_a_deeplab_with_its_weights(
    torch, tmp_path: Path
) -> None:
    from transformers import ResNetConfig, ResNetForImageClassification

    from faultscape.uncertainty import description as d
    from faultscape.uncertainty.networks.transformers_networks import config_of, of_folder

    small = ResNetConfig(
        embedding_size=8,
        hidden_sizes=[8, 8, 16, 16],
        depths=[1, 1, 1, 1],
        layer_type="basic",
        hidden_act="relu",
    )
    whole = ResNetForImageClassification(small)
    whole.save_pretrained(tmp_path / "resnet")
    net, notes = of_folder(str(tmp_path / "resnet"), 5)
    net = net.eval()
    assert notes == ()  # the classifier of images is left out on purpose
    stem = "embedder.embedder.convolution.weight"
    assert torch.equal(net.encoder.state_dict()[stem], whole.resnet.state_dict()[stem])
    image = torch.rand(1, 3, 64, 96)
    assert [tuple(part.shape[2:]) for part in net.encoder(image).feature_maps] == [(16, 24), (4, 6)]
    assert net(image).shape == (1, 5, 16, 24)
    config, multiple = config_of(net)
    assert multiple == 16
    about = d.Description("hf:some/resnet", CLASSES, multiple=16, config=json.loads(json.dumps(config)))
    made = d.build(about)
    d.save(tmp_path / "saved", about, made, {})
    assert torch.equal(d.load(tmp_path / "saved")[1](image).logits, made(image).logits)


def test_a_folder_whose_configuration_loads_from_elsewhere_is_refused_before_it_is_trained(
    tmp_path: Path,
) -> None:
    from faultscape.uncertainty.networks.transformers_networks import of_folder

    small_vit().save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(
        json.dumps({**config, "auto_map": {"AutoModel": "evil/repo--mod.Evil"}})
    )
    with refused(ModelError, "its configuration has 'auto_map', which loads code or weights from elsewhere"):
        of_folder(str(tmp_path), 5)


def test_a_folder_of_a_semantic_network_gets_another_last_layer(torch, tmp_path: Path) -> None:
    from transformers import SegformerConfig, SegformerForSemanticSegmentation

    from faultscape.uncertainty.networks.transformers_networks import of_folder

    small = SegformerConfig(
        hidden_sizes=[8, 8, 16, 16],
        depths=[1, 1, 1, 1],
        num_attention_heads=[1, 1, 2, 2],
        decoder_hidden_size=16,
        num_labels=7,
    )
    SegformerForSemanticSegmentation(small).save_pretrained(tmp_path)
    net = fs.uncertainty.replace_head(of_folder(str(tmp_path), 3)[0], "gp", classes=3, features=16).eval()
    assert net(torch.rand(1, 3, 64, 64)).logits.shape == (1, 3, 16, 16)
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    with refused(ModelError, "is of kind 'bert', which train does not support; supported kinds: .*segformer"):
        of_folder(str(tmp_path), 3)
    (tmp_path / "model.safetensors").unlink()
    (tmp_path / "config.json").write_text('{"model_type": "segformer"}')
    with refused(
        ModelError, "has no safetensors weights; other formats are not read because they can run code: save"
    ):
        of_folder(str(tmp_path), 3)


def test_a_network_of_a_folder_is_trained_and_built_again_without_it(torch, tmp_path: Path) -> None:
    from made_training import make_study

    torch.set_grad_enabled(True)
    study = make_study(tmp_path)
    small_vit().save_pretrained(tmp_path / "vit")
    plan = fs.options.TrainingPlan(steps=2, batch=2, crop="32x32", scale="1,1")
    made = fs.train(study, "net", backbone=str(tmp_path / "vit"), plan=plan)
    (tmp_path / "vit" / "model.safetensors").unlink()
    (tmp_path / "vit" / "config.json").unlink()
    photo = np.zeros((24, 32, 3), np.uint8)
    (output,) = fs.prediction.open_model(made.folder).predict([photo])
    assert output.labels.shape == (24, 32)


def test_an_unknown_backbone_names_the_nearest() -> None:
    with refused(
        OptionError,
        r"backbone 'segmentr-T/16' is not known; use segmenter-T/16, .*\. Did you mean 'segmenter-T/16'\?",
    ):
        backbone_named("segmentr-T/16")
