"""KEPT: what can be kept of a model's answers besides its labels, and its size on disk.

Conventions: words are ``confidence``, ``probabilities`` (or ``probabilities=K``, the K largest), ``logits``,
``embedding=LAYER`` and, from --scorer, ``doubt=SCORER``. Confidence is uint8 (255 = 1), probabilities float16
and doubt float32, at the size of the labels; logits float32, at the network's output size (after windows and
views, if any); embeddings float16, in the layer's own shape. For the K largest probabilities, classes are
kept too, the largest first.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from faultscape import plug
from faultscape.errors import OptionError, closest
from faultscape.maps import winners
from faultscape.metrics.pixel_facts import PixelFacts
from faultscape.metrics.scorers import SCORERS, missing, score_pixels, scorer_named, split_fitted
from faultscape.prediction.inputs import Size

Arrays = tuple[np.ndarray, ...]
DOUBT = "doubt-"  # prefix of folders of doubt
OTHERS = f"{DOUBT}of-the-winner"  # 1 - the largest probability, kept to count pixels
# the request for one kind in Keep; False, None and () request nothing
Asked = bool | int | tuple[str, ...] | None


@dataclass(frozen=True)
class Kept:
    """Something that can be kept of an answer besides its labels: ``name`` in --keep and of its folder,
    ``written`` with what may follow it, and ``form``, how it is stored.

    ``field`` of `Keep` holds the request for it; ``read`` parses that from what follows the name (ValueError
    if invalid); ``words`` and ``folders`` return those of a request. ``in_answers``: for a classifier it is
    part of every answer. ``arrays`` makes the arrays from a network's scores (C, h, w), at the size of the
    labels or their own.
    """

    name: str
    written: tuple[str, ...]
    form: str
    field: str
    read: Callable[[str], Asked]
    words: Callable[[Asked], list[str]]
    folders: Callable[[Asked], list[str]]
    in_answers: bool = False
    arrays: Callable[[np.ndarray, Size, bool, Asked], Arrays] | None = None


def _nothing_behind(value: str) -> bool:
    if value:
        raise ValueError(value)
    return True


def _how_many(value: str) -> int:
    if value and not (value.isdecimal() and int(value)):
        raise ValueError(value)
    return int(value or 0)


def _layer(value: str) -> tuple[str, ...]:
    if not value:
        raise ValueError(value)
    return (value,)


def _scorer(value: str) -> tuple[str, ...]:
    scorer_named(value)
    return (value,)


def _layers(asked: Asked) -> tuple[str, ...]:
    return asked if isinstance(asked, tuple) else ()


def _confidence(scores: np.ndarray, size: Size, marginal: bool, asked: Asked) -> Arrays:
    del asked
    return (winners.confidence(scores, size, marginal=marginal),)


def _probabilities(scores: np.ndarray, size: Size, marginal: bool, asked: Asked) -> Arrays:
    shares = winners.probabilities(scores, size, marginal=marginal)
    values, *classes = winners.leading(shares, few) if isinstance(few := asked, int) and few else (shares,)
    return (values.astype(np.float16), *classes)


def _logits(scores: np.ndarray, size: Size, marginal: bool, asked: Asked) -> Arrays:
    del size, marginal, asked
    return (scores,)


KEPT: tuple[Kept, ...] = (
    Kept(
        "confidence",
        ("confidence",),
        "uint8, 255 = 1, at the size of the labels",
        "confidence",
        _nothing_behind,
        lambda asked: ["confidence"] * bool(asked),
        lambda asked: ["confidence"] * bool(asked),
        in_answers=True,
        arrays=_confidence,
    ),
    Kept(
        "probabilities",
        ("probabilities", "probabilities=K"),
        "float16, at the size of the labels; of the K largest their classes too",
        "probabilities",
        _how_many,
        lambda asked: [] if asked is None else [f"probabilities={asked}" if asked else "probabilities"],
        lambda asked: [] if asked is None else ["probabilities"],
        in_answers=True,
        arrays=_probabilities,
    ),
    Kept(
        "logits",
        ("logits",),
        "float32, at the size that the network gives them",
        "logits",
        _nothing_behind,
        lambda asked: ["logits"] * bool(asked),
        lambda asked: ["logits"] * bool(asked),
        arrays=_logits,
    ),
    Kept(  # requested from within the network
        "embedding",
        ("embedding=LAYER",),
        "float16, in the layer's own shape",
        "embeddings",
        _layer,
        lambda asked: [f"embedding={layer}" for layer in _layers(asked)],
        lambda asked: [folder_of(layer) for layer in _layers(asked)],
    ),
    Kept(  # made from pixel facts, for all scorers at once
        "doubt",
        (),
        "float32, at the size of the labels",
        "scorers",
        _scorer,
        lambda asked: [f"doubt={word}" for word in _layers(asked)],
        lambda asked: [doubt_folder(word) for word in _layers(asked)],
    ),
)


@dataclass(frozen=True)
class Keep:
    """What is kept; ``probabilities`` is None for none, 0 for all classes, else how many of the largest. For
    a classifier they are part of its ``answers``.

    ``others``: also return 1 - the largest probability, to count pixels; it is never stored.
    """

    confidence: bool = False
    probabilities: int | None = None
    logits: bool = False
    embeddings: tuple[str, ...] = ()
    scorers: tuple[str, ...] = ()
    others: bool = field(default=False, repr=False)
    answers: bool = field(default=False, repr=False)

    @property
    def words(self) -> list[str]:
        """The words that request this, in a fixed order."""
        return [word for kind in KEPT for word in kind.words(getattr(self, kind.field))]

    @property
    def folders(self) -> list[str]:
        """The names of the folders below predictions/NAME that this fills."""
        kinds = [kind for kind in KEPT if not (self.answers and kind.in_answers)]
        return [folder for kind in kinds for folder in kind.folders(getattr(self, kind.field))]

    def arrays(
        self, scores: np.ndarray, size: Size, *, marginal: bool, without: Collection[str] = ()
    ) -> dict[str, Arrays]:
        """Return the arrays by folder that are kept of scores (C, h, w) whose labels are wanted at a size,
        (width, height); ``without`` excludes those that the network provided.
        """
        made: dict[str, Arrays] = {}
        for kind in KEPT:
            asked = getattr(self, kind.field)
            if kind.arrays is not None and kind.name not in without and kind.words(asked):
                made[kind.name] = kind.arrays(scores, size, marginal, asked)
        return made


def parse(words: Sequence[str]) -> Keep:
    """Return what these words request; OptionError names an unknown word, or two that exclude each other.

    >>> parse(["probabilities=3"])
    Keep(confidence=False, probabilities=3, logits=False, embeddings=(), scorers=())
    """
    if "labels" in words and (other := next((word for word in words if word != "labels"), "")):
        raise OptionError(f"--keep labels and --keep {other} exclude each other; give one of them")
    shares = [word for word in dict.fromkeys(words) if word.partition("=")[0] == "probabilities"]
    if len(shares) > 1:
        raise OptionError(f"--keep {shares[0]} and --keep {shares[1]} exclude each other; give one of them")
    named = {kind.name: kind for kind in KEPT}
    asked = dict[str, Any]()
    for word in dict.fromkeys(words):
        name, _, value = word.partition("=")
        try:
            if word != "labels":
                kind = named[name]
                said = kind.read(value)
                asked[kind.field] = (*asked.get(kind.field, ()), *said) if isinstance(said, tuple) else said
        except (KeyError, ValueError):
            written = ["labels", *(way for kind in KEPT for way in kind.written if way != "probabilities=K")]
            raise OptionError(
                f"--keep {word!r} is not known; use {', '.join(written)} or"
                f" probabilities=K.{closest(name, written)}"
            ) from None
    return Keep(**asked)


def folder_of(layer: str) -> str:
    """Return the name of the folder of a layer's embeddings.

    >>> folder_of("decode_head.linear"), folder_of("/encoder/Add_2")
    ('embedding-decode_head.linear', 'embedding-_encoder_Add_2-ddc236')
    """
    plain = re.sub(r"[^\w.+-]", "_", layer)[:60]
    return f"embedding-{plain}" + (
        "" if plain == layer else f"-{hashlib.sha256(layer.encode()).hexdigest()[:6]}"
    )


def doubt_folder(word: str) -> str:
    """Return the name of the folder of a scorer's doubt. For a user-defined scorer it changes with its file,
    for a fitted method with the fit.

    >>> doubt_folder("max-logit"), doubt_folder("knn@3fa2c1b2d4e5")
    ('doubt-max-logit', 'doubt-knn-3fa2c1')
    """
    if fitted := split_fitted(word):
        return f"{DOUBT}{fitted[0]}-{fitted[1][:6]}"
    name = word.rpartition(":")[2]
    digest = plug.digest(word) if plug.is_own(word) else ""
    return f"{DOUBT}{name}" + (f"-{digest[:6]}" if digest else "")


def doubts(
    keep: Keep, facts: PixelFacts, classes: int, key: bytes, fitted: Mapping[str, np.ndarray] = {}
) -> dict[str, Arrays]:
    """Return {folder: (doubt (H, W),)} of the scorers that are kept, with scores of ``fitted`` methods
    unchanged; OptionError if a network does not provide what one of them needs.
    """
    out: dict[str, Arrays] = {OTHERS: (np.asarray(facts.others),)} if keep.others else {}
    for word in keep.scorers:
        if word in fitted:
            out[doubt_folder(word)] = (fitted[word],)
            continue
        scorer = scorer_named(word)
        if lacking := missing(scorer, facts):
            raise OptionError(
                f"--scorer {scorer.name} needs {lacking}, which this model does not provide; {_others(facts)}"
            )
        out[doubt_folder(word)] = (score_pixels(scorer, facts, classes=classes, key=key),)
    return out


def needs_members(keep: Keep) -> bool:
    """Whether a scorer needs the differences between the views of an image or the members of an ensemble."""
    return any(scorer_named(word).needs == "members" for word in keep.scorers)


def _others(facts: PixelFacts) -> str:
    """Return which scorers a model supports, as text."""
    there = [scorer.name for scorer in SCORERS if not missing(scorer, facts)]
    return f"available scorers: {', '.join(there)}"


def told(kept: dict[str, Arrays], images: int, free: int, keep: Keep | None = None) -> list[str]:
    """Return a line per kind with the maximum number of bytes, estimated from one image's arrays, and notes
    if that exceeds the ``free`` space or ``keep`` asks for more probabilities than there are classes.
    """
    sizes = {kind: sum(values.nbytes for values in arrays) * images for kind, arrays in kept.items()}
    lines = [
        f"keeping {kind}: at most {_amount(size)} for {images} images, before compression"
        for kind, size in sizes.items()
    ]
    asked = (keep.probabilities if keep else None) or 0
    values = kept.get("probabilities", ())[:1]
    if values and asked > len(values[0]):
        lines.append(
            f"note: the network has {len(values[0])} classes, not {asked}; --keep probabilities keeps all of"
            f" them, in {_amount(values[0].nbytes * images)}"
        )
    if (total := sum(sizes.values())) > free:
        lines.append(
            f"note: {_amount(total)} are more than the {_amount(free)} free on that disk; the run stops"
            " when it is full, without losing results"
        )
    return lines


def _amount(size: float) -> str:
    """Return a number of bytes in readable form, rounded up."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if math.ceil(size) < 1000:
            return f"{math.ceil(size)} {unit}"
        size /= 1000
    return f"{math.ceil(size * 10) / 10:.1f} TB"
