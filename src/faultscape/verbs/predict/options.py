"""Options of `predict`, as its verb passes them to the stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from faultscape import plug
from faultscape.arguments import Renames, Source
from faultscape.choices import Layout, Precision, Unmapped
from faultscape.verbs.given_options import refuse_empty

if TYPE_CHECKING:
    from faultscape.study.settings import ModelOptions


@dataclass(frozen=True)
class PredictPart:
    """Which images are predicted.

    Parameters
    ----------
    set_
        Only the images of this set, for example fog-3, which `stress` made. Repeatable. Default: all images
        of the study.
    """

    set_: list[str] | None = None


@dataclass(frozen=True)
class Shown:
    """How a network sees images.

    Parameters
    ----------
    input_size
        Resize images to this size, WIDTHxHEIGHT; overrides what the model says, unless
        the model fixes its size.
    mean
        Mean subtracted from pixels on 0..1, one number a channel; overrides what the model says.
    std
        Standard deviation that pixels are divided by, one number a channel; overrides what the model says.
    layout
        nchw or nhwc, the order of an ONNX input's axes; overrides what the file says.
    multiple
        Raise both sides of the input to the next multiple of this.
    window
        Show images in windows of this size, WIDTHxHEIGHT, and average their logits.
    stride
        Step of the windows, WIDTHxHEIGHT (default: the window's size).
    flip
        Show images mirrored too, and average the logits.
    crop
        Classifiers only: show the central square of an image, with this share of its shorter
        side (0.875 for most ImageNet networks; default: the whole image).
    scales
        Show images at these scales (1 is their own size) and average the logits. Repeat it for each.
    """

    input_size: str | None = None
    mean: list[float] | None = None
    std: list[float] | None = None
    layout: Layout | None = None
    multiple: int | None = None
    window: str | None = None
    stride: str | None = None
    flip: bool | None = None
    crop: float | None = None
    scales: list[float] | None = None


@dataclass(frozen=True)
class Hardware:
    """What a network runs on.

    Parameters
    ----------
    device
        cpu, cuda or cuda:N; default: a GPU where there is one.
    batch
        Images per batch (default 8; on a GPU as many as fit into its memory).
    threads
        Threads of each network run (default 1; other cores run other batches); results depend on it
        in the last digits.
    precision
        float32, float16 or bfloat16 (default: float16 on a GPU, else float32).
    """

    device: str | None = None
    batch: int | None = None
    threads: int | None = None
    precision: Precision | None = None


@dataclass(frozen=True)
class Scoring:
    """How the doubt of members is scored.

    Parameters
    ----------
    correct_members
        Multiply the mutual information of T members by T / (T - 1), because few members make it too small.
        It is stored as the scorer mutual-information-corrected.
    """

    correct_members: bool = False


@dataclass(frozen=True)
class Declared:
    """The options of a submission, and the seed of the order in which it sees images."""

    ood_data: str | None = None
    publication: str | None = None
    claims: list[str] | None = None
    seed: int | None = None


@dataclass(frozen=True)
class PredictOptions:
    """All options of `predict`."""

    study: str
    models: tuple[Source, ...] = ()
    labels: str | None = None
    unmapped: Unmapped | None = None
    keep: list[str] | None = None
    scorer: list[str] | None = None
    measure: bool = False
    truth: str | None = None
    pattern: str | None = None
    resize_maps: bool | None = None
    rename: Renames | None = None
    remove: Sequence[str] | str | None = None
    part: PredictPart = PredictPart()
    shown: Shown = Shown()
    hardware: Hardware = Hardware()
    scoring: Scoring = Scoring()
    engine: str = "processes"
    workers: int | None = None
    shard: str | None = None
    declared: Declared = Declared()

    def __post_init__(self) -> None:
        refuse_empty(self)

    @property
    def sets(self) -> list[str]:
        """The sets to predict, [] for all."""
        return self.part.set_ or []

    @property
    def device(self) -> str:
        """The requested device, or ''."""
        return self.hardware.device or ""

    @property
    def of_models(self) -> ModelOptions:
        """{name in study.toml: value} of the options that were set for how models see images and what is
        kept.
        """
        seen = {"size": self.shown.input_size} | {
            key: value for key, value in vars(self.shown).items() if key != "input_size"
        }
        ran = {key: value for key, value in vars(self.hardware).items() if key != "device"}
        scorer = None if self.scorer is None else [plug.absolute(word) for word in self.scorer]
        kept = {
            "unmapped": self.unmapped,
            "keep": self.keep,
            "scorer": scorer,
            "resize_maps": self.resize_maps,
            "pattern": self.pattern,
        }
        return cast(
            "ModelOptions",
            {
                key: value
                for key, value in (seen | ran | kept | vars(self.declared)).items()
                if value not in (None, [])
            },
        )
