"""Options of `train`, as its verb passes them to the stage. Imports are light: no training library is
loaded.
"""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass, fields
from typing import get_args

from faultscape.arguments import Size
from faultscape.choices import (
    ClassWeights,
    ExportForm,
    FastStart,
    HeadName,
    LossName,
    Optimiser,
    Schedule,
    Smoothing,
    TrainingPresetName,
)
from faultscape.errors import ModelError, OptionError, closest
from faultscape.verbs.given_options import refuse_empty

SEED = "seed"
MOST_SEED = 2**32 - 1
_YES_OR_NO = ("scaled", "normalised", "shared_noise", "wide_start")
_WHOLE = (SEED, "members", "member_blocks", "features", "factors", "samples")
LIBRARIES = ("torch", "transformers", "accelerate", "safetensors")


@dataclass(frozen=True)
class TrainingData:
    """Training and validation data.

    Parameters
    ----------
    set_
        A set to train on; default: all images of role train. Can be repeated.
    validation
        The validation set, on which the mean-field factor of a Gaussian process is also tuned; default:
        images of role validation, if there are any.
    truth
        Whose labels; default: labels, or the only ones.
    withhold
        A holdout of the study (`stress holdout`) whose classes the network does not learn; default: the
        study's only one. none: learn all classes.
    """

    set_: list[str] | None = None
    validation: str | None = None
    truth: str | None = None
    withhold: str | None = None


@dataclass(frozen=True)
class Schedules:
    """The training schedule; a preset changes these defaults.

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


@dataclass(frozen=True)
class HeadOptions:
    """Options of heads; each applies to the heads named.

    Parameters
    ----------
    members
        batch-ensemble: number of members (default 3).
    fast_start
        batch-ensemble: initialise fast weights normal around 1, or with random signs (default normal).
    spread
        batch-ensemble: the standard deviation of normal, or the share of positive signs (default 0.5).
    member_blocks
        batch-ensemble: fast weights in this many of the last encoder blocks too, Segmenter only (default 0;
        under s3-code 2).
    features
        gp: number of random features (default 1024).
    ridge
        gp: ridge of the precision matrix (default 1).
    mean_field
        gp: how strongly the variance shrinks logits; default: tuned on the validation set, or 1 without one.
    momentum
        gp: update the covariance during training with this momentum (the authors use 0.99), instead of one
        exact pass after training.
    scaled
        gp: scale random features to prior variance 1 (default; the authors' code does not).
    normalised
        gp: normalise each feature vector to mean 0 and deviation 1 first (default, as in the authors' code).
    factors
        heteroscedastic: rank of the covariance (default 5).
    samples
        heteroscedastic: number of samples (default 1000).
    temperature
        heteroscedastic: softmax temperature (default 1).
    shared_noise
        heteroscedastic: share one random number per sample across all classes, as in the authors' code.
    wide_start
        gp, heteroscedastic: new weights start with variance 1 / D for D inputs, as in the authors' code,
        instead of .02 / D (default no; under s3-code yes).
    """

    members: int | None = None
    fast_start: FastStart | None = None
    spread: float | None = None
    member_blocks: int | None = None
    features: int | None = None
    ridge: float | None = None
    mean_field: float | None = None
    momentum: float | None = None
    scaled: bool | None = None
    normalised: bool | None = None
    factors: int | None = None
    samples: int | None = None
    temperature: float | None = None
    shared_noise: bool | None = None
    wide_start: bool | None = None

    @property
    def given(self) -> dict[str, float | int | bool | str]:
        """The given options of the head itself."""
        named = [field.name for field in fields(self) if field.name != "member_blocks"]
        return {name: value for name in named if (value := getattr(self, name)) is not None}


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


@dataclass(frozen=True)
class TrainOptions:
    """All options of `train`."""

    study: str
    name: str
    backbone: str | None = None
    head: HeadName = "linear"
    dropout_at: tuple[str, ...] = ()
    dropout_rate: float = 0.1
    dropout_samples: int = 8
    loss: LossName = "ce"
    preset: TrainingPresetName | None = None
    init: str | None = None
    from_scratch: bool = False
    sweep: str | None = None
    seed: int = 0
    export: ExportForm | None = None
    data: TrainingData = TrainingData()
    schedules: Schedules = Schedules()
    head_options: HeadOptions = HeadOptions()
    machine: TrainingMachine = TrainingMachine()
    smoothing: Smoothing | None = None

    def __post_init__(self) -> None:
        refuse_empty(self)
        if not 0 <= self.seed <= MOST_SEED:
            raise OptionError(f"--seed must be a whole number from 0 to {MOST_SEED}; got {self.seed}")
        if self.loss not in get_args(LossName):
            raise OptionError(f"--loss {self.loss!r} is not known; use {', '.join(get_args(LossName))}")
        if self.smoothing is not None and self.smoothing not in get_args(Smoothing):
            raise OptionError(
                f"--smoothing {self.smoothing!r} is not known; use {', '.join(get_args(Smoothing))}"
            )
        if self.smoothing is not None and self.loss != "dirichlet":
            raise OptionError(
                f"--smoothing has no effect on --loss {self.loss}; leave it out, or give --loss dirichlet"
            )
        if not 0 < self.dropout_rate < 1 or self.dropout_samples < 1:
            raise OptionError(
                "--dropout-rate must be between 0 and 1, --dropout-samples 1 or more; got "
                f"{self.dropout_rate:g} and {self.dropout_samples}"
            )
        if self.init and self.from_scratch:
            raise OptionError("give either --init or --from-scratch, not both")
        if self.machine.precision not in (None, "no", "fp16", "bf16"):
            raise OptionError(f"--precision {self.machine.precision!r} is not known; use no, fp16 or bf16")
        if self.machine.precision == "fp16" and self.machine.device == "cpu":
            raise OptionError("--precision fp16 needs a GPU; use bf16 or no on a CPU")
        if self.machine.threads is not None and not 0 < self.machine.threads <= 256:
            raise OptionError(f"--threads must be 1 to 256; got {self.machine.threads}")

    @property
    def swept(self) -> tuple[str, tuple[float | int | str, ...]]:
        """The option of --sweep and its values, ('', ()) without a sweep: an option of the head, or the seed;
        OptionError for any other.
        """
        if self.sweep is None:
            return "", ()
        key, equals, values = self.sweep.partition("=")
        key = key.strip().replace("-", "_")
        known = [SEED, *(field.name for field in fields(HeadOptions))]
        if key not in known:
            raise OptionError(
                f"--sweep {self.sweep!r} is not valid; use OPTION=A,B,C with one of"
                f" {', '.join(name.replace('_', '-') for name in known)}.{closest(key, known)}"
            )
        words = [word.strip() for word in values.split(",")]
        if not equals or len(words) < 2 or not all(words) or len(set(words)) < len(words):
            raise OptionError(
                f"--sweep {self.sweep!r} is not valid; give at least two different values:"
                f" {key.replace('_', '-')}=1,3,5"
            )
        return key, tuple(_value(key, word) for word in words)


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


def _value(key: str, word: str) -> float | int | str:
    """Return a value of a swept option; OptionError for an invalid one."""
    try:
        if key in _YES_OR_NO:
            return {"true": True, "false": False}[word.lower()]
        return word if key == "fast_start" else int(word) if key in _WHOLE else float(word)
    except (ValueError, KeyError):
        kind = "a whole number" if key in _WHOLE else "true or false" if key in _YES_OR_NO else "a number"
        raise OptionError(f"--sweep {key.replace('_', '-')}: {word!r} is not {kind}") from None
