"""Windows and views are folded as they come: the same bytes as all of them at once, in the memory of the
pictures' own scores.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from faultscape.errors import ModelError
from faultscape.maps import winners
from faultscape.prediction.inference import Inference, Way
from faultscape.prediction.inputs import Size
from faultscape.prediction.merge import Overlap, Window, places
from faultscape.prediction.sources.network import Answer
from faultscape.prediction.sources.network import Network as AnyNetwork

CLASSES = 7


class Network(AnyNetwork):
    """Scores of half the size that depend on every pixel; it keeps each block that it saw with what it
    gave.
    """

    name, batch = "toy", 3
    class_names: list[str]
    channels = CLASSES

    def __init__(self, windows_of: Any = None, fails: Any = None) -> None:
        self.class_names = []
        self.seen: list[tuple[np.ndarray, np.ndarray]] = []
        self._fails = fails
        if windows_of is not None:
            self.windows = windows_of  # type: ignore[method-assign]

    def prepare(self, photo: np.ndarray, target: Size, size: Size | None) -> np.ndarray:
        del target
        width, height = size or photo.shape[1::-1]
        return np.resize(photo.transpose(2, 0, 1).astype(np.float32), (3, height, width))

    def run(self, block: np.ndarray, embeddings: Sequence[str] = ()) -> list[Answer]:
        del embeddings
        if self._fails is not None:
            self._fails(block)
        kernel = np.random.default_rng(1).normal(size=(CLASSES, 3)).astype(np.float32)
        scores = np.einsum("nchw,kc->nkhw", block[:, :, ::2, ::2], kernel).astype(np.float32)
        self.seen += [*zip(block.copy(), scores.copy(), strict=True)]
        return [Answer(one) for one in scores]


class Blank(Network):
    """Scores of nothing, of the size of the input."""

    def run(self, block: np.ndarray, embeddings: Sequence[str] = ()) -> list[Answer]:
        del embeddings
        return [Answer(one) for one in np.zeros((len(block), CLASSES, *block.shape[2:]), np.float32)]


def photos(*sizes: Size) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.integers(0, 256, (height, width, 3), np.uint8) for width, height in sizes]


def scores_of(network: Network, part: np.ndarray) -> np.ndarray:
    return next(
        scores for block, scores in network.seen if block.shape == part.shape and (block == part).all()
    )


def at_once(network: Network, views: Sequence[np.ndarray], boxes: Any, *, flip: bool) -> np.ndarray:
    """The same mean with all answers held, in their order."""
    out = []
    for v, view in enumerate(views):
        height, width = view.shape[1:]
        total, seen = np.zeros((CLASSES, height, width), np.float32), np.zeros((height, width), np.float32)
        for top, left, tall, wide in boxes(height, width):
            part = view[:, top : top + tall, left : left + wide]
            total[:, top : top + tall, left : left + wide] += winners.enlarged(
                scores_of(network, part), (wide, tall)
            )
            seen[top : top + tall, left : left + wide] += 1
        whole = total / seen
        out.append(whole[..., ::-1] if flip and v % 2 else whole)
    mean = np.array(out[0])
    for other in out[1:]:
        mean += winners.enlarged(other, (mean.shape[2], mean.shape[1]))
    return mean / np.float32(len(out))


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("scales", [(1.0,), (1.0, 0.5), (0.25, 1.0, 1.5)])
def test_folded_windows_and_views_are_the_same_bytes_as_all_at_once(
    scales: tuple[float, ...], flip: bool
) -> None:
    network = Network()
    model = Inference(network, Way(window=(16, 12), stride=(9, 7), flip=flip, scales=scales))
    pictures = photos((40, 30), (24, 40), (40, 30), (10, 9))
    prepared = [model.prepare(picture, (picture.shape[1], picture.shape[0])) for picture in pictures]
    for item, found in zip(prepared, model.run(prepared), strict=True):
        want = at_once(network, item.views, lambda h, w: places(h, w, (16, 12), (9, 7)), flip=flip)
        assert isinstance(found, Answer)
        assert found.scores is not None
        assert found.scores.tobytes() == want.tobytes()
        assert found.scores.shape == want.shape


def test_windows_of_several_sizes_are_summed_in_their_order_whichever_comes_first() -> None:
    def boxes(height: int, width: int) -> list[Window]:
        return [(0, 0, height, 20), (0, 5, height, 30), (0, 10, height, 20), (0, width - 30, height, 30)]

    network = Network(boxes)
    model = Inference(network)
    (picture,) = photos((44, 16))
    prepared = [model.prepare(picture, (44, 16))]
    (found,) = model.run(prepared)
    assert isinstance(found, Answer)
    assert found.scores is not None
    assert found.scores.tobytes() == at_once(network, prepared[0].views, boxes, flip=False).tobytes()


def test_a_batch_takes_the_memory_of_its_results_and_not_of_all_its_windows() -> None:
    network = Blank()
    model = Inference(network, Way(window=(64, 64), stride=(32, 32), flip=True))
    prepared = [model.prepare(picture, (256, 128)) for picture in photos(*[(256, 128)] * 8)]
    results = 8 * CLASSES * 256 * 128 * 4
    tracemalloc.start()
    found = model.run(prepared)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (
        sum(one.scores.nbytes for one in found if isinstance(one, Answer) and one.scores is not None)
        == results
    )
    assert peak < 1.7 * results  # all windows of both views are more than six times that


def test_scores_that_fit_into_no_memory_are_told_of_that_picture_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = Overlap.add

    def add(self: Overlap, scores: np.ndarray, window: Window) -> None:
        if self._seen.shape == (40, 24):
            raise MemoryError
        whole(self, scores, window)

    monkeypatch.setattr(Overlap, "add", add)
    pictures = photos((40, 30), (24, 40), (40, 30))
    out = Inference(Network(), Way(window=(16, 12))).predict(pictures)
    words = "toy: the scores of one image do not fit into memory; shrink it with --input-size WIDTHxHEIGHT"
    assert [one.problem for one in out] == ["", words, ""]


def test_a_window_that_fails_loses_its_picture_and_no_other() -> None:
    def fails(block: np.ndarray) -> None:
        if (block.min((1, 2, 3)) == 255).any():
            raise ModelError("toy: too bright")

    pictures = photos((40, 30), (40, 30), (40, 30))
    pictures[1][20:, 20:] = 255
    out = Inference(Network(fails=fails), Way(window=(8, 6))).predict(pictures)
    assert [one.problem for one in out] == ["", "toy: too bright", ""]
    assert out[0].labels is not None
