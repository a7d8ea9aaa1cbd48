"""The options of `train` that belong together, and how its words are read. Imports are light: no training
library is loaded.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from faultscape.arguments import Size, plain
from faultscape.choices import ClassWeights, Optimiser, Schedule
from faultscape.errors import ModelError, OptionError
from faultscape.uncertainty.catalogue import HEADS, Value, head_named
from faultscape.uncertainty.sweep import swept_values, value_of

if TYPE_CHECKING:
    from faultscape.verbs.options import TrainOptions

SEED = "seed"
MOST_SEED = 2**32 - 1
MEMBER_BLOCKS = "member_blocks"  # of batch-ensemble, though set outside the head: in the encoder
LIBRARIES = ("torch", "transformers", "accelerate", "safetensors")


@dataclass(frozen=True)
class TrainingData:
    """Training and validation data.

    Parameters
    ----------
    set_
        A set to train on, or selection:NAME, the labelled images of a selection, half of each batch if
        --init is given; default: all images of role train. Can be repeated.
    validation
        The validation set, on which the mean-field factor of a Gaussian process is also tuned; default:
        images of role validation, if there are any.
    truth
        Whose labels; default: labels, or the only ones.
    withhold
        A holdout of the study (`stress holdout`) whose classes the network does not learn; default: the
        study's only one. none: learn all classes.
    negatives
        Unknown objects to learn from, for losses that use pixels without a class: a folder of other images,
        pieces of which are pasted into the training images, or a set with unknown objects (`stress blend
        --set train`), which is also trained on. Void pixels are then ignored; default: learn from them.
    boxes
        Learn also from images that have boxes (`label import --boxes`) and no mask; with --loss ce.
    """

    set_: list[str] | None = None
    validation: str | None = None
    truth: str | None = None
    withhold: str | None = None
    negatives: str | None = None
    boxes: bool = False


@dataclass(frozen=True)
class TrainingPlan:
    """The training plan; a preset changes these defaults.

    Parameters
    ----------
    epochs
        Passes over the training images (default 100).
    steps
        The number of steps, instead of epochs.
    batch
        Images per step (default 8).
    rate
        The peak learning rate (default 1e-4).
    schedule
        The learning rate schedule: polynomial, cosine or constant (default polynomial).
    warm_up
        Epochs of linear warm-up (default 0).
    optimiser
        adam, adamw or sgd (default adamw).
    weight_decay
        Weight decay; for adam, added to the gradient (default 0.01).
    gradient_norm
        Gradients are clipped to this norm (default 1).
    size
        Resize images to WIDTHxHEIGHT first (default: their own size).
    crop
        Size of the random crop, WIDTHxHEIGHT (default 512x512).
    scale
        MIN,MAX of the random scaling before the crop (default 0.5,2).
    class_weights
        median-frequency: weight rare classes more; default none.
    dropout
        Rate of the network's own dropout layers during training (default 0.1).
    validate_every
        Epochs between validations (default 1).
    """

    epochs: float | None = None
    steps: int | None = None
    batch: int | None = None
    rate: float | None = None
    schedule: Schedule | None = None
    warm_up: float | None = None
    optimiser: Optimiser | None = None
    weight_decay: float | None = None
    gradient_norm: float | None = None
    size: Size | None = None
    crop: Size | None = None
    scale: str | None = None
    class_weights: ClassWeights | None = None
    dropout: float | None = None
    validate_every: float | None = None

    @property
    def given(self) -> dict[str, object]:
        """The given numbers of the plan; sizes as (width, height). Dropout is the network's."""
        given = {name: value for name, value in vars(self).items() if value is not None and name != "dropout"}
        for name in ("size", "crop"):
            if name in given:
                given[name] = size_of(given[name], name)
        if "scale" in given:
            given["scale"] = scale_of(given["scale"])
        return given


@dataclass(frozen=True)
class TrainingMachine:
    """The machine that trains.

    Parameters
    ----------
    device
        cpu, cuda or cuda:N; default: a GPU where there is one.
    precision
        no, fp16 or bf16: mixed precision (default no; on a GPU bf16).
    threads
        CPU threads (default: all cores); the same number reproduces the same bytes.
    checkpoint_activations
        Recompute activations in the backward pass: less memory, about a third more time.
    """

    device: str | None = None
    precision: str | None = None
    threads: int | None = None
    checkpoint_activations: bool = False


def dropout_layers(options: TrainOptions) -> tuple[str, ...]:
    """Return the layers of --dropout-at, where one word may name several; OptionError for an empty name."""
    layers = tuple(layer.strip() for word in options.dropout_at for layer in word.split(","))
    if not all(layers):
        raise OptionError("--dropout-at: one of the layer names is empty")
    return layers


def swept(options: TrainOptions) -> tuple[str, tuple[Value, ...]]:
    """Return the option of --sweep, one of the head or the seed, and its values; ('', ()) without a sweep.
    OptionError for any other option.
    """
    if options.sweep is None:
        return "", ()
    return swept_values(options.sweep, {SEED: int, **_kinds()})


def head_options(options: TrainOptions) -> dict[str, Value]:
    """Return the given options of the head, by name; OptionError for an unknown one, or an invalid value."""
    given = options.head_options or ()
    if isinstance(given, Mapping):
        pairs = list(given.items())
    else:
        words = [given] if isinstance(given, str) else given
        pairs = [_name_and_value(word) for word in words]
    kinds = _kinds()
    found: dict[str, Value] = {}
    for name, value in pairs:
        key = name.strip().replace("-", "_")
        if key in found:
            raise OptionError(f"--head-option {name} is given twice; leave one out")
        found[key] = value_of(f"--head-option {name}", plain(value), kinds.get(key, str))
    head_named(options.head).check({key: found[key] for key in found if key != MEMBER_BLOCKS})
    return found


def need_libraries(called: str = "training") -> None:
    """Raise ModelError if a library that training needs is not installed."""
    if lacking := [name for name in LIBRARIES if importlib.util.find_spec(name) is None]:
        raise ModelError(f"{called} needs {', '.join(lacking)}; install faultscape[doubt]")


def size_of(value: Size, option: str) -> tuple[int, int]:
    """Return (width, height) of WIDTHxHEIGHT, or of a pair; OptionError otherwise.

    >>> size_of("320x240", "crop")
    (320, 240)
    """
    text = value if isinstance(value, str) else "x".join(map(str, value))
    match = re.fullmatch(r"([1-9]\d{0,4})[xX×]([1-9]\d{0,4})", text.strip())
    if not match:
        raise OptionError(f"--{option} {value!r} is not understood; give WIDTHxHEIGHT, for example 512x512")
    return int(match[1]), int(match[2])


def scale_of(text: str) -> tuple[float, float]:
    """Return the two factors of LEAST,MOST; OptionError otherwise.

    >>> scale_of("0.5,2")
    (0.5, 2.0)
    """
    try:
        least, most = map(float, text.split(","))
    except ValueError:
        raise OptionError(f"--scale {text!r} is not valid; use MIN,MAX, for example 0.5,2") from None
    return least, most


def _name_and_value(word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not equals:
        raise OptionError(f"--head-option {word!r} is not NAME=VALUE, for example members=3")
    return name, value


def _kinds() -> dict[str, type]:
    """Return {option of a head: the kind of its values}."""
    kinds = {name: type(value) for head in HEADS for name, value in head.options.items()}
    return kinds | {MEMBER_BLOCKS: int}
