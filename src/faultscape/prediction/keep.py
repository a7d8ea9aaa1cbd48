"""What is kept of a model's answers beside its labels, and how large that gets.

Conventions: words are ``confidence``, ``probabilities`` (or ``probabilities=K``, the K largest), ``logits`` and ``embedding=LAYER``. Confidence is uint8 (255 = 1) and
probabilities float16, at the size of the labels; logits float32, at the size that the network gives them (after windows and views, if any); embeddings float16,
in the layer's own shape. Of the K largest, classes are kept beside probabilities, the largest first.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from faultscape.errors import OptionError, closest

KINDS = ("labels", "confidence", "probabilities", "logits", "embedding=LAYER")
Arrays = tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Keep:
    """What is kept; ``probabilities`` is None for none, 0 for all classes, else how many of the largest. Of a classifier they are part of its ``answers``."""

    confidence: bool = False
    probabilities: int | None = None
    logits: bool = False
    embeddings: tuple[str, ...] = ()
    answers: bool = field(default=False, repr=False)

    @property
    def words(self) -> list[str]:
        """The words that say this, in one order."""
        few = f"={self.probabilities}" if self.probabilities else ""
        asked = [
            ("confidence", self.confidence),
            (f"probabilities{few}", self.probabilities is not None),
            ("logits", self.logits),
        ]
        return [word for word, wanted in asked if wanted] + [f"embedding={layer}" for layer in self.embeddings]

    @property
    def folders(self) -> list[str]:
        """The names of the folders that this fills below predictions/NAME."""
        maps = not self.answers
        asked = [("confidence", self.confidence and maps), ("probabilities", self.probabilities is not None and maps)]
        asked += [("logits", self.logits)]
        return [word for word, wanted in asked if wanted] + [folder_of(layer) for layer in self.embeddings]


def parse(words: Sequence[str]) -> Keep:
    """Return what these words ask for; OptionError names a word that is not known, or two that exclude each other.

    >>> parse(["probabilities=3"])
    Keep(confidence=False, probabilities=3, logits=False, embeddings=())
    """
    confidence, few, logits, layers = False, None, False, []
    if "labels" in words and (other := next((word for word in words if word != "labels"), "")):
        raise OptionError(f"--keep labels is to keep nothing else, and --keep {other} to keep more; give one of them")
    shares = [word for word in dict.fromkeys(words) if word.partition("=")[0] == "probabilities"]
    if len(shares) > 1:
        raise OptionError(f"--keep {shares[0]} and --keep {shares[1]} exclude each other; give one of them")
    for word in words:
        kind, _, value = word.partition("=")
        if kind == "embedding" and value:
            layers.append(value)
        elif kind == "probabilities" and (not value or (value.isdecimal() and int(value) > 0)):
            few = int(value or 0)
        elif kind == "confidence" and not value:
            confidence = True
        elif kind == "logits" and not value:
            logits = True
        elif word != "labels":
            raise OptionError(f"--keep {word!r} is not known; use {', '.join(KINDS)} or probabilities=K.{closest(kind, KINDS)}")
    return Keep(confidence, few, logits, tuple(dict.fromkeys(layers)))


def folder_of(layer: str) -> str:
    """Return the name of the folder of a layer's embeddings.

    >>> folder_of("decode_head.linear"), folder_of("/encoder/Add_2")
    ('embedding-decode_head.linear', 'embedding-_encoder_Add_2-ddc236')
    """
    plain = re.sub(r"[^\w.+-]", "_", layer)[:60]
    return f"embedding-{plain}" + ("" if plain == layer else f"-{hashlib.sha256(layer.encode()).hexdigest()[:6]}")


def told(kept: dict[str, Arrays], images: int, free: int, keep: Keep | None = None) -> list[str]:
    """Return a line a kind: how many bytes it takes at most, judged by one picture's arrays, beside what is free; and where all probabilities take no more than those of ``keep``."""
    sizes = {kind: sum(values.nbytes for values in arrays) * images for kind, arrays in kept.items()}
    lines = [f"keeping {kind}: at most {_amount(size)} for {images} images, before compression" for kind, size in sizes.items()]
    asked, values = (keep.probabilities if keep else None) or 0, kept.get("probabilities", ())[:1]
    if values and asked > len(values[0]):
        lines.append(
            f"note: the network has {len(values[0])} classes, not {asked}; --keep probabilities keeps all of them, in {_amount(values[0].nbytes * images)}"
        )
    if (total := sum(sizes.values())) > free:
        lines.append(
            f"note: {_amount(total)} are more than the {_amount(free)} that are free there; what does not fit stops the run, and loses nothing"
        )
    return lines


def _amount(size: float) -> str:
    """Return a number of bytes as people say it, never less than it is."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if math.ceil(size) < 1000:
            return f"{math.ceil(size)} {unit}"
        size /= 1000
    return f"{math.ceil(size * 10) / 10:.1f} TB"
