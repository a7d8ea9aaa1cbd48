"""How photos are shown to a network: whole, mirrored, at scales, in windows, in batches; each equals plain
arithmetic in NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
import pytest

from faultscape.errors import ModelError, OptionError
from faultscape.maps import winners
from faultscape.prediction import devices
from faultscape.prediction.inference import Inference, Way
from faultscape.prediction.inputs import Inputs
from faultscape.prediction.keep import Keep
from faultscape.prediction.merge import places
from faultscape.prediction.networks import check_options
from faultscape.prediction.sources.network import Answer, Network
from faultscape.prediction.sources.torch_network import of_module
from refusals import refused

if TYPE_CHECKING:
    import torch

KERNEL = np.random.default_rng(5).normal(size=(4, 3, 3, 3)).astype(np.float32)
SIZE = (37, 26)  # width, height
LOGITS = Keep(logits=True)


def network(**options: Any) -> Any:
    """A 3x3 convolution from colour to four classes."""

    import torch
    from torch import nn

    module = nn.Conv2d(3, 4, 3, padding=1, bias=False)
    with torch.no_grad():
        module.weight.copy_(torch.from_numpy(KERNEL))
    return of_module(module, "toy", options)


def twin(pixels: np.ndarray) -> np.ndarray:
    """The same convolution in NumPy, of a picture (H, W, 3) on 0..1."""
    height, width, _ = pixels.shape
    edged = np.pad(pixels.astype(np.float64), ((1, 1), (1, 1), (0, 0)))
    out = np.zeros((4, height, width))
    for dy in range(3):
        for dx in range(3):
            out += np.einsum("hwc,kc->khw", edged[dy : dy + height, dx : dx + width], KERNEL[:, :, dy, dx])
    return out


def larger(scores: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Bilinear, half-pixel centres, held edges, in float64."""
    spread = []
    for old, new in zip(scores.shape[1:], size[::-1], strict=True):
        at = np.clip((np.arange(new) + 0.5) * old / new - 0.5, 0, old - 1)
        spread.append(np.maximum(0, 1 - np.abs(at[:, None] - np.arange(old))))
    return np.einsum("yi,cij,xj->cyx", spread[0], scores, spread[1])


def photo(seed: int = 0, size: tuple[int, int] = SIZE) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), np.uint8)


def near(given: np.ndarray, want: np.ndarray) -> bool:
    return given.shape == want.shape and float(np.abs(given - want).max()) < 1e-4


def logits(way: Way, picture: np.ndarray) -> np.ndarray:
    (out,) = Inference(network(), way, LOGITS).predict([picture])
    assert (out.labels == winners.labels(out.kept["logits"][0], (picture.shape[1], picture.shape[0]))).all()
    return out.kept["logits"][0]


@pytest.mark.parametrize("seen", [slice(None), slice(None, None, -1)])
def test_a_network_is_shown_each_value_less_the_mean_by_the_deviation_in_single_precision(
    seen: slice,
) -> None:
    rgb = np.random.default_rng(3).integers(0, 256, (26, 37, 3), np.uint8)[seen]
    rgb.flags.writeable = False  # as Pillow's
    mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    plain = (rgb.astype(np.float32) / np.float32(255) - np.float32(mean)) / np.float32(std)
    found = Inputs(mean=mean, std=std).prepare(rgb, SIZE, None)
    assert found.dtype == np.float32
    assert found.tobytes() == plain.transpose(2, 0, 1).tobytes()


def test_a_whole_picture_is_the_convolution_itself() -> None:
    assert near(logits(Way(), photo()), twin(photo() / 255))


def test_a_mirrored_view_is_turned_back_and_averaged() -> None:
    x = photo() / 255
    assert near(logits(Way(flip=True), photo()), (twin(x) + twin(x[:, ::-1])[..., ::-1]) / 2)


def test_scales_are_averaged_at_the_size_of_the_first() -> None:
    views = []
    for scale in (1, 0.5, 1.5):
        size = (round(SIZE[0] * scale), round(SIZE[1] * scale))
        small = photo() if scale == 1 else cv2.resize(photo(), size, interpolation=cv2.INTER_LINEAR)
        views.append(larger(twin(small / 255), SIZE))
    assert near(logits(Way(scales=(1.0, 0.5, 1.5)), photo()), sum(views) / 3)


def test_windows_step_by_the_stride_end_with_the_picture_and_are_averaged_where_they_overlap() -> None:
    x = photo() / 255
    total, seen = np.zeros((4, 26, 37)), np.zeros((26, 37))
    for top in (0, 9, 14):
        for left in (0, 10, 20, 21):
            total[:, top : top + 12, left : left + 16] += twin(x[top : top + 12, left : left + 16])
            seen[top : top + 12, left : left + 16] += 1
    assert seen.min() >= 1
    assert near(logits(Way(window=(16, 12), stride=(10, 9)), photo()), total / seen)


def test_windows_flips_and_scales_go_together() -> None:
    views = []
    for size in ((37, 26), (74, 52)):
        x = (photo() if size == SIZE else cv2.resize(photo(), size, interpolation=cv2.INTER_LINEAR)) / 255
        for turned in (False, True):
            view = x[:, ::-1] if turned else x
            total, seen = np.zeros((4, size[1], size[0])), np.zeros(size[::-1])
            for top, left, tall, wide in places(size[1], size[0], (30, 20), (30, 20)):
                total[:, top : top + tall, left : left + wide] += twin(
                    view[top : top + tall, left : left + wide]
                )
                seen[top : top + tall, left : left + wide] += 1
            views.append(larger((total / seen)[..., ::-1] if turned else total / seen, SIZE))
    assert near(logits(Way(window=(30, 20), flip=True, scales=(1.0, 2.0)), photo()), sum(views) / 4)


def test_a_picture_smaller_than_a_window_is_one_window() -> None:
    assert places(10, 12, (16, 16), (8, 8)) == [(0, 0, 10, 12)]
    assert near(logits(Way(window=(99, 99)), photo()), twin(photo() / 255))


@pytest.mark.parametrize(
    "way", [Way(), Way(flip=True), Way(window=(16, 12), stride=(8, 12)), Way(scales=(1.0, 0.5))]
)
def test_pictures_of_many_sizes_in_one_batch_are_as_each_alone(way: Way) -> None:
    pictures = [photo(k, size) for k, size in enumerate([(37, 26), (20, 40), (37, 26), (9, 9), (20, 40)])]
    model = Inference(network(batch=4), way, LOGITS)
    for out, picture in zip(model.predict(pictures), pictures, strict=True):
        assert out.labels.shape == picture.shape[:2]
        assert near(out.kept["logits"][0], logits(way, picture))


class Watched(Network):
    """A network that counts its batches and fails as it is told."""

    def __init__(self, fails: Any = None) -> None:
        self._inner, self._fails, self.sizes = network(batch=8), fails, []
        self.name, self.batch = "watched", 8

    def prepare(self, *given: Any) -> np.ndarray:
        return self._inner.prepare(*given)

    def run(self, block: np.ndarray, embeddings: Sequence[str]) -> list[Answer]:
        self.sizes.append(len(block))
        if self._fails is not None:
            self._fails(block)
        return self._inner.run(block, embeddings)


def short_of_memory(most: int) -> Any:
    def fails(block: np.ndarray) -> None:
        if len(block) > most:
            raise MemoryError

    return fails


def test_short_memory_halves_the_batch_for_good_and_results_stay() -> None:
    pictures = [photo(k) for k in range(8)]
    want = [out.labels for out in Inference(Watched()).predict(pictures)]
    short = Watched(short_of_memory(2))
    model = Inference(short)
    for _ in range(2):
        assert all(
            (out.labels == labels).all() for out, labels in zip(model.predict(pictures), want, strict=True)
        )
    assert short.sizes == [8, 4, 2, 2, 2, 2, 2, 2, 2, 2]


@pytest.mark.parametrize(
    "words",
    [
        "CUDA out of memory. Tried to allocate 2.00 GiB",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes",
    ],
)
def test_whatever_torch_calls_short_memory_halves_the_batch_for_good(words: str) -> None:
    sizes: list[int] = []

    def module(pictures: Any) -> Any:
        sizes.append(len(pictures))
        if len(pictures) > 1:
            raise RuntimeError(words)
        return pictures

    model = Inference(of_module(module, "short", {"batch": 4}))
    for _ in range(2):
        assert [out.problem for out in model.predict([photo(k) for k in range(3)])] == ["", "", ""]
    assert sizes == [3, 2, 1, 1, 1, 1, 1, 1]  # for good: what merely failed would be tried whole again


def test_a_picture_that_fits_into_no_memory_is_told_alone() -> None:
    def fails(block: np.ndarray) -> None:
        if len(block) > 1 or block.mean() > 0.9:
            raise MemoryError

    pictures = [photo(0), np.full((26, 37, 3), 255, np.uint8), photo(2)]
    out = Inference(Watched(fails)).predict(pictures)
    assert [bool(o.problem) for o in out] == [False, True, False]
    assert (
        out[1].problem
        == "watched: one image does not fit into memory; process it in parts with --window WIDTHxHEIGHT"
    )


def test_a_network_that_fails_over_one_picture_loses_only_that_one() -> None:
    def fails(block: np.ndarray) -> None:
        if (block.mean((1, 2, 3)) > 0.9).any():
            raise ModelError("watched: too bright")

    pictures = [photo(k) for k in range(5)]
    pictures[3] = np.full_like(pictures[3], 255)
    want = [out.labels for out in Inference(Watched()).predict(pictures)]
    out = Inference(Watched(fails)).predict(pictures)
    assert [o.problem for o in out] == ["", "", "", "watched: too bright", ""]
    assert all((out[k].labels == want[k]).all() for k in (0, 1, 2, 4))


def test_labels_cannot_be_averaged_and_layers_have_no_windows() -> None:
    from torch import nn

    class Labels(nn.Conv2d):
        def forward(self, input: torch.Tensor) -> torch.Tensor:
            return super().forward(input).argmax(1)

    (out,) = Inference(of_module(Labels(3, 4, 1), "toy", {}), Way(flip=True)).predict([photo()])
    assert (
        out.problem
        == "toy: returns labels, but only logits can be averaged: leave out --window, --flip and --scales"
    )
    with refused(OptionError, "--keep embedding needs whole images: leave out --window, --flip and --scales"):
        Inference(network(), Way(flip=True), Keep(embeddings=("conv",)))


def test_a_layer_that_the_network_does_not_call_is_told() -> None:
    from torch import nn

    module = nn.Sequential(nn.Conv2d(3, 4, 1))
    module[0].idle = nn.ReLU()
    (out,) = Inference(of_module(module, "toy", {}), keep=Keep(embeddings=("0.idle",))).predict([photo()])
    assert out.problem == "toy: its layer '0.idle' is not called by the network, so it has no output to keep"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mean": [0.1, 0.2]}, "mean must be one number, or one each for red, green and blue; got 0.1, 0.2"),
        ({"std": [1.0] * 4}, "std must be one number, or one each for red, green and blue; got 1, 1, 1, 1"),
        ({"std": [0.0]}, "std must be above 0; got 0"),
        ({"mean": [float("nan")]}, "mean must be finite; got nan"),
        ({"layout": "hwcn"}, "layout 'hwcn' is not known; use nchw or nhwc"),
        ({"batch": 0}, "batch must be 1 or more; got 0"),
        ({"threads": -1}, "threads must be 1 or more; got -1"),
        ({"multiple": 0}, "multiple must be 1 or more; got 0"),
        ({"batch": 10**9}, "batch is at most 4096; got 1000000000"),
        ({"threads": 100_000}, "threads is at most 64; got 100000"),
        ({"multiple": 10**9}, "multiple is at most 4096; got 1000000000"),
        ({"size": "12"}, "input-size '12' is invalid; expected WIDTHxHEIGHT, for example 512x512"),
        ({"size": "own"}, "input-size is WIDTHxHEIGHT, for example 512x512; got 'own'"),
        (
            {"size": "1000000x1000000"},
            "input-size '1000000x1000000' is too large; a side has at most 16384 pixels",
        ),
        ({"window": "0x5"}, "window '0x5' is invalid"),
        ({"window": "5x20000"}, "window '5x20000' is too large"),
        ({"window": "8x8", "stride": "99999x8"}, "stride '99999x8' is too large"),
        ({"stride": "5x5"}, "--stride is the step of windows; give --window WIDTHxHEIGHT too"),
        (
            {"window": "8x8", "stride": "9x4"},
            "a stride of 9x4 leaves gaps between windows of 8x8; give a smaller one",
        ),
        ({"scales": [1.0, 0.01]}, "scales lie between 0.05 and 20"),
        ({"scales": [float("nan")]}, "scales lie between 0.05 and 20"),
        ({"precision": "float8"}, "precision 'float8' is not known; use float32, float16, bfloat16"),
        ({"unmapped": "road"}, "--unmapped 'road' is not known; use void"),
        ({"keep": ["embedding=x"], "flip": True}, "--keep embedding needs whole images"),
    ],
)
def test_wrong_options_have_each_their_sentence(options: dict[str, Any], words: str) -> None:
    from faultscape.errors import FaultscapeError

    with refused(FaultscapeError) as caught:
        check_options(options)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_right_options_pass() -> None:
    check_options(
        {
            "mean": [0.5],
            "std": [0.1, 0.2, 0.3],
            "window": "8x8",
            "stride": "8x4",
            "scales": [0.5, 2.0],
            "flip": True,
            "keep": ["logits"],
            "size": "5x5",
            "threads": 64,
            "multiple": 4096,
            "batch": 4096,
        }
    )


def test_a_mean_of_pixels_on_0_to_255_is_noted(capsys: pytest.CaptureFixture[str]) -> None:
    check_options({"mean": [0.485, 1.0, 0.4], "std": [0.229]})
    assert capsys.readouterr().out == ""
    check_options({"mean": [123.675, 116.28, 103.53]})
    want = "note: pixels are on 0..1, and a mean of 123.675 is for pixels on 0..255; divide it by 255\n"
    assert capsys.readouterr().out == want


def test_an_input_that_no_memory_holds_is_the_problem_of_its_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    def short(*_: object, **__: object) -> None:
        raise cv2.error(
            "OpenCV(4) alloc.cpp:73: error: (-4:Insufficient memory) Failed to allocate 3000000000000000"
            " bytes"
        )

    monkeypatch.setattr(cv2, "resize", short)
    with refused(
        ModelError,
        "the image cannot be resized to 4096 x 4096 pixels; make --input-size, --multiple or --scales"
        " smaller",
    ):
        Inference(network(multiple=4096)).prepare(photo(), SIZE)


@pytest.mark.parametrize("said", ["40x36", (40, 36), [40, 36], "[40, 36]", "(40, 36)"])
def test_a_network_says_its_sizes_as_words_or_as_pairs(said: Any) -> None:
    from torch import nn

    module = nn.Conv2d(3, 4, 3)
    module.size, module.window = said, said
    toy = of_module(module, "toy", {})
    assert (toy.inputs.size, toy.window) == ((40, 36), (40, 36))


@pytest.mark.parametrize(
    "said", [{"size": (40, 0)}, {"size": "big"}, {"window": [1, 2, 3]}, {"multiple": 10**9}, {"std": [0]}]
)
def test_what_a_network_says_of_its_input_in_vain_is_one_sentence(said: dict[str, Any]) -> None:
    from torch import nn

    module = nn.Conv2d(3, 4, 3)
    for key, value in said.items():
        setattr(module, key, value)
    with refused(ModelError, r"^toy: invalid input settings: "):
        of_module(module, "toy", {})


def test_without_a_graphics_processor_torch_is_not_even_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from faultscape.prediction import devices

    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(devices, "_NODES", ())
    monkeypatch.setitem(sys.modules, "torch", object())  # whoever asks it anything fails
    assert devices.pick("", "script") == "cpu"
    with refused(OptionError, "device cuda is not available; 0 usable GPUs found"):
        devices.pick("cuda", "script")
    monkeypatch.setattr(devices, "_NODES", ("/",))
    with pytest.raises(AttributeError):
        devices.pick("", "script")


def test_a_network_may_say_in_which_windows_it_sees_and_an_option_goes_before_that() -> None:
    from torch import nn

    shapes: list[tuple[int, ...]] = []

    class Counting(nn.Module):
        window = "16x8"

        def forward(self, block: torch.Tensor) -> torch.Tensor:
            shapes.append(tuple(block.shape[2:]))
            return block

    photo = np.zeros((16, 32, 3), np.uint8)
    Inference(of_module(Counting(), "counting", {})).predict([photo])
    assert set(shapes) == {(8, 16)}
    shapes.clear()
    Inference(of_module(Counting(), "counting", {}), Way(window=(32, 16))).predict([photo])
    assert set(shapes) == {(16, 32)}


@pytest.mark.parametrize(("capability", "told"), [("AVX2", True), ("AVX512", False)])
def test_half_precision_on_a_cpu_without_instructions_for_it_is_said_to_be_slow(
    monkeypatch: pytest.MonkeyPatch, capability: str, *, told: bool
) -> None:
    """torch computes it in loops of its own there: 11 seconds of a training step were 1 with float32."""
    import torch

    monkeypatch.setattr(devices.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    assert ("--precision no is faster" in devices.slow_half("cpu", "bf16")) is told
    assert devices.slow_half("cpu", "no") == devices.slow_half("cuda:0", "bf16") == ""
