"""Networks that classify whole images: how images are shown to them, and what is kept of their answers.

Conventions: a central square is shown, ``crop`` of the image's shorter side (the whole image without --crop),
at the network's size (224 x 224 by default). Logits of mirrored and scaled views are averaged, then softmax;
the likeliest classes are kept with their probabilities, ties to the first class. A network that returns only
labels gives no confidence.
"""

from __future__ import annotations

import numpy as np

from faultscape.errors import OptionError
from faultscape.maps import class_answers
from faultscape.prediction.inference import NAN, Inference, Output, Prepared, Way
from faultscape.prediction.keep import Keep
from faultscape.prediction.sources.network import Answer, Network, Size

SIZE = (224, 224)
TOP = 5  # classes kept of an answer, unless --keep probabilities=K sets another number


class Classifier(Inference):
    """A network that classifies whole images, and how images are shown to it."""

    def __init__(self, network: Network, way: Way, keep: Keep, crop: float = 1.0) -> None:
        if way.window is not None:
            raise OptionError(
                "--window is for label maps; a classifier sees the whole image, or its center with --crop"
            )
        super().__init__(network, way, keep)
        self._crop = crop

    def prepare(self, photo: np.ndarray, target: Size) -> Prepared:
        """Return an image's inputs; ``target`` has no effect here."""
        del target
        return super().prepare(middle(photo, self._crop), SIZE)

    def finish(self, answer: Answer | str, target: Size, key: bytes = b"") -> Output:
        """Return the likeliest classes with their probabilities, and what else is kept."""
        del target
        if isinstance(answer, str):
            return Output(None, problem=answer)
        said = answer.labels if answer.scores is None else answer.scores[0]
        assert said is not None
        if said.shape != (1, 1):
            tall, wide = said.shape
            return Output(
                None,
                problem=(
                    f"{self.network.name}: returned a {wide} x {tall} map; a classifier returns one class"
                    " per image"
                ),
            )
        beside = super().finish(answer, (1, 1), key).kept
        kept = {
            kind: arrays for kind, arrays in beside.items() if kind not in ("confidence", "probabilities")
        }
        if answer.scores is None and self.keep.probabilities is not None:
            return Output(
                None,
                problem=(
                    f"{self.network.name}: returns labels without logits, so probabilities cannot be kept"
                ),
            )
        if answer.scores is None:
            return Output(said, kept, answer=class_answers.encode([int(said[0, 0])]))
        logits = answer.scores[:, 0, 0].astype(np.float64)
        if np.isnan(logits).any():
            return Output(None, problem=NAN)
        shares = np.exp(logits - logits.max())
        shares /= shares.sum()
        asked = TOP if self.keep.probabilities is None else self.keep.probabilities or len(shares)
        few = min(asked, len(shares), class_answers.MOST)
        order = np.argsort(-shares, kind="stable")[:few]
        return Output(order[:1, None], kept, answer=class_answers.encode(order, shares[order]))


def middle(photo: np.ndarray, crop: float) -> np.ndarray:
    """Return the central square of an (H, W, 3) image with a side of ``crop`` times the shorter one; the
    whole image for 1.

    >>> middle(np.zeros((100, 200, 3), np.uint8), 0.5).shape
    (50, 50, 3)
    """
    if crop >= 1:
        return photo
    height, width = photo.shape[:2]
    side = max(1, round(crop * min(height, width)))
    top = (height - side) // 2
    left = (width - side) // 2
    return photo[top : top + side, left : left + side]
