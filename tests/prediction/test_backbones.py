"""Vision backbones: every family gives the library's own patches as a grid over the whole photo, at the size
that its processor asks for; what is no backbone is refused in one line.
"""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
import random_backbones as nets
from PIL import Image

from faultscape.errors import ModelError
from faultscape.prediction.doubt_methods import OnBackbone
from faultscape.prediction.inference import Inference, Way
from faultscape.prediction.keep import Keep
from faultscape.prediction.sources.backbone import Backbone
from faultscape.prediction.sources.torch_network import of_module
from refusals import refused

WIDE, TALL = 160, 100
# of each family: the photo's height and width as shown, and the grid
SHOWN = {
    "dinov2": ((70, 98), (5, 7)),  # 64 x 102.4, to multiples of 14
    "dinov3": ((64, 64), (4, 4)),
    "siglip": ((64, 64), (4, 4)),
    "clip": ((64, 96), (4, 6)),  # 64 x 102.4, to multiples of 16
    "vit": ((64, 64), (4, 4)),
    "swin": ((64, 96), (2, 3)),
    "convnext": ((64, 96), (2, 3)),  # to multiples of 32
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of folders, one for every family."""
    root = tmp_path_factory.mktemp("backbones")
    for kind in (*nets.SEEING, "masked", "bert"):
        nets.save(kind, root / kind)
    return root


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    """A copy of one folder, to be damaged."""
    return Path(shutil.copytree(saved / "dinov2", tmp_path / "net"))


def photo(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (TALL, WIDE, 3), np.uint8)


def tokens_of_the_library(folder: Path, view: np.ndarray) -> np.ndarray:
    """The last hidden state (D, ...) of the library's own network for a prepared photo."""
    import torch
    import transformers as hf

    auto = {"siglip": hf.SiglipVisionModel, "clip": hf.CLIPVisionModel}.get(folder.name, hf.AutoModel)
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")
        network = auto.from_pretrained(folder).eval()
        told = {"interpolate_pos_encoding": True} if folder.name in ("siglip", "clip", "vit") else {}
        return network(pixel_values=torch.from_numpy(view)[None], **told).last_hidden_state[0].numpy()


@pytest.mark.parametrize("kind", nets.SEEING)
def test_a_backbone_gives_the_patches_of_the_whole_photo(saved: Path, kind: str) -> None:
    backbone = Backbone(str(saved / kind))
    view = backbone.prepare(photo())
    size, sides = SHOWN[kind]
    assert view.shape == (3, *size)
    grid = backbone.grid(view)
    assert grid.shape[1:] == sides
    tokens = tokens_of_the_library(saved / kind, view)
    if tokens.ndim == 2:  # tokens of places are the last
        tokens = tokens[-sides[0] * sides[1] :].T.reshape(-1, *sides)
    np.testing.assert_allclose(grid, tokens, rtol=1e-5, atol=1e-6)


def test_the_grid_lies_as_in_the_librarys_own_feature_map(saved: Path) -> None:
    import torch
    import transformers as hf

    backbone = Backbone(str(saved / "dinov2"))
    view = backbone.prepare(photo())
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")
        network = hf.Dinov2WithRegistersBackbone.from_pretrained(saved / "dinov2").eval()
        (wanted,) = network(torch.from_numpy(view)[None]).feature_maps
    np.testing.assert_allclose(backbone.grid(view), wanted[0].numpy(), rtol=1e-5, atol=1e-6)


def test_a_photo_is_resized_and_normalised_as_the_processor_says(saved: Path) -> None:
    picture = photo()
    shown = Image.fromarray(picture).resize((98, 70), Image.Resampling.BICUBIC)
    wanted = (np.asarray(shown, np.float32) / 255 - [0.4, 0.5, 0.6]) / [0.2, 0.25, 0.3]
    view = Backbone(str(saved / "dinov2")).prepare(picture)
    np.testing.assert_allclose(view, wanted.transpose(2, 0, 1), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("about", "size"),
    [
        ({"size": {"height": 140, "width": 280}}, (140, 280)),
        ({"size": {"shortest_edge": 100, "longest_edge": 112}}, (70, 112)),
        ({"do_resize": False}, (98, 154)),  # 100 x 160, to the nearest multiples of 14
    ],
)
def test_the_size_is_the_processors_to_the_nearest_patch(
    folder: Path, about: dict[str, object], size: tuple[int, int]
) -> None:
    file = folder / "preprocessor_config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **about}))
    assert Backbone(str(folder)).prepare(photo()).shape == (3, *size)


def test_the_digest_is_that_of_what_is_read(folder: Path, saved: Path) -> None:
    before = Backbone(str(saved / "dinov2")).digest
    (folder / "README.md").write_text("a word")
    assert Backbone(str(folder)).digest == before
    file = folder / "preprocessor_config.json"
    file.write_text(file.read_text().replace("0.4", "0.41"))
    assert Backbone(str(folder)).digest != before


def scored(backbone: Backbone, way: Way) -> list[np.ndarray]:
    """The scores of a photo by two methods on a backbone beside a network shown it in a way."""
    import torch

    from faultscape.uncertainty.methods.knn_density import KnnDensity
    from faultscape.uncertainty.methods.neighbours import unit

    torch.manual_seed(0)
    network = of_module(torch.nn.Conv2d(3, 4, 3, padding=1), "net", {})
    keys = {"keys": unit(torch.randn(20, 24))}
    methods = {
        f"knn-{k}": OnBackbone(KnnDensity([backbone.source], {"k": k, "printed": False}, keys), backbone)
        for k in (2, 5)
    }
    made = Inference(network, way, Keep(scorers=("random",)), methods=methods)
    size = (WIDE, TALL)
    (answer,) = made.run([made.prepare(photo(), size)])
    assert not isinstance(answer, str), answer
    return [method.score(answer.values[word], size) for word, method in methods.items()]


def test_a_backbone_runs_once_for_all_methods_on_the_whole_photo_whatever_the_model_sees(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backbone = Backbone(str(saved / "dinov2"))
    runs: list[tuple[int, ...]] = []
    grid = Backbone.grid
    monkeypatch.setattr(Backbone, "grid", lambda self, view: runs.append(view.shape) or grid(self, view))
    whole = scored(backbone, Way())
    assert runs == [(3, 70, 98)]
    assert np.ptp(whole[0]) > 0
    for way in (Way(window=(64, 64), stride=(48, 48)), Way(flip=True, scales=(0.5, 1.0))):
        np.testing.assert_array_equal(scored(backbone, way), whole)


def test_what_fails_in_a_backbone_is_a_problem_of_its_photo(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backbone = Backbone(str(saved / "dinov2"))

    def short(*_given: object) -> np.ndarray:
        raise MemoryError

    monkeypatch.setattr(Backbone, "grid", short)
    with pytest.raises(
        AssertionError, match="does not fit into memory of the backbone of its methods; lower"
    ):
        scored(backbone, Way())


def test_a_folder_that_is_no_backbone_is_refused(saved: Path, folder: Path) -> None:
    with refused(ModelError, "is of kind 'bert', which does not see images; --backbone takes a vision net"):
        Backbone(str(saved / "bert"))
    with refused(
        ModelError, "gives no grid of patches, but .1, 5, 24. for an image of 64x64; take a network"
    ):
        Backbone(str(saved / "masked"))
    with refused(ModelError, r"--backbone .*/nett: there is no such folder; give .*\. Did you mean .*/net'"):
        Backbone(str(folder.parent / "nett"))
    (folder / "preprocessor_config.json").unlink()
    with refused(ModelError, r"has no image processor \(preprocessor_config\.json\), which says how images"):
        Backbone(str(folder))
    (folder / "config.json").unlink()
    with refused(ModelError, r"has no config\.json; give a folder that the transformers library saved"):
        Backbone(str(folder))


def test_weights_that_are_pickled_or_not_whole_are_refused(folder: Path) -> None:
    import torch
    from safetensors.torch import load_file, save_file

    weights = folder / "model.safetensors"
    held = load_file(weights)
    save_file(
        {name: one for name, one in held.items() if "layer.1.mlp" not in name}, weights, {"format": "pt"}
    )
    with refused(ModelError, "its files lack 4 tensors .* which would be filled with random numbers"):
        Backbone(str(folder))
    weights.unlink()
    torch.save(held, folder / "pytorch_model.bin")
    with refused(
        ModelError, "has no safetensors weights; other formats are not read because they can run code: save"
    ):
        Backbone(str(folder))


def test_a_backbone_of_the_hub_is_taken_from_the_cache_at_its_commit(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    with refused(ModelError, r"hf:some/net: the hub cannot be reached and the model is not in its cache \("):
        Backbone("hf:some/net")
    root = tmp_path / "models--some--net"
    commit = "0123456789abcdef0123456789abcdef01234567"
    shutil.copytree(saved / "siglip", root / "snapshots" / commit)
    (root / "refs").mkdir()
    (root / "refs" / "main").write_text(commit)
    backbone = Backbone("hf:some/net")
    assert backbone.source == f"hf:some/net@{commit}"
    assert backbone.digest == Backbone(str(saved / "siglip")).digest
    assert Backbone(backbone.source).source == backbone.source
