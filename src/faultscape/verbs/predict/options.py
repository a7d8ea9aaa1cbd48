"""The options of `predict` that belong together."""

from __future__ import annotations

from dataclasses import dataclass

from faultscape.choices import Layout, Precision, ScoreOn


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
    score_on
        device or processor: where labels and scores of logits are made (default: on a GPU that the
        network runs on, else on the processor).
    """

    device: str | None = None
    batch: int | None = None
    threads: int | None = None
    precision: Precision | None = None
    score_on: ScoreOn | None = None


@dataclass(frozen=True)
class Scoring:
    """How the doubt of members is scored, and what is masked by it.

    Parameters
    ----------
    correct_members
        Multiply the mutual information of T members by T / (T - 1), because few members make it too small.
        It is stored as the scorer mutual-information-corrected.
    mask_unknown
        Add a model NAME-masked whose maps are void where the one --scorer is at least the threshold of this
        share of false alarms, for example .05: it flags no more of the known pixels of the study's validation
        images. The masks are in STUDY/masks/NAME-masked.
    """

    correct_members: bool = False
    mask_unknown: float | None = None


@dataclass(frozen=True)
class Declared:
    """The options of a submission, and the seed of the order in which it sees images."""

    ood_data: str | None = None
    publication: str | None = None
    claims: list[str] | None = None
    seed: int | None = None
