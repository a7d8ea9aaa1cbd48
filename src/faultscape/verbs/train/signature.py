"""train: train a network that estimates its own uncertainty."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from faultscape.arguments import NamedValues, Place
from faultscape.choices import ExportForm, HeadName, LossName, Smoothing, TrainingPresetName
from faultscape.errors import OptionError
from faultscape.verbs.train.options import (
    MOST_SEED,
    TrainingData,
    TrainingMachine,
    TrainingPlan,
    dropout_layers,
    head_options,
    need_libraries,
)
from faultscape.verbs.train.result import Swept, Trained
from faultscape.verbs.verb import verb

if TYPE_CHECKING:
    from faultscape.verbs.options import TrainOptions


def _check(options: TrainOptions) -> None:
    need_libraries()
    dropout_layers(options)
    head_options(options)
    if not 0 <= options.seed <= MOST_SEED:
        raise OptionError(f"--seed must be a whole number from 0 to {MOST_SEED}; got {options.seed}")
    if options.loss not in get_args(LossName):
        raise OptionError(f"--loss {options.loss!r} is not known; use {', '.join(get_args(LossName))}")
    if options.smoothing not in (None, *get_args(Smoothing)):
        raise OptionError(
            f"--smoothing {options.smoothing!r} is not known; use {', '.join(get_args(Smoothing))}"
        )
    if options.smoothing is not None and options.loss != "dirichlet":
        raise OptionError(
            f"--smoothing has no effect on --loss {options.loss}; leave it out, or give --loss dirichlet"
        )
    if options.data.negatives is not None and options.loss == "ce":
        raise OptionError(
            "--negatives has no effect on --loss ce, which ignores pixels without a class; leave it out, or"
            f" give --loss {', '.join(name for name in get_args(LossName) if name != 'ce')}"
        )
    if not 0 < options.dropout_rate < 1 or options.dropout_samples < 1:
        raise OptionError(
            "--dropout-rate must be between 0 and 1, --dropout-samples 1 or more; got "
            f"{options.dropout_rate:g} and {options.dropout_samples}"
        )
    if options.init and options.from_scratch:
        raise OptionError("give either --init or --from-scratch, not both")
    if options.machine.precision not in (None, "no", "fp16", "bf16"):
        raise OptionError(f"--precision {options.machine.precision!r} is not known; use no, fp16 or bf16")
    if options.machine.precision == "fp16" and options.machine.device == "cpu":
        raise OptionError("--precision fp16 needs a GPU; use bf16 or no on a CPU")
    if options.machine.threads is not None and not 0 < options.machine.threads <= 256:
        raise OptionError(f"--threads must be 1 to 256; got {options.machine.threads}")


@verb(
    "faultscape.verbs.train.train_network:train_networks",
    changes_nothing=("export", "device", "threads", "checkpoint_activations"),
    check=_check,
)
def train(
    study: Place,
    name: str,
    *,
    backbone: str | None = None,
    head: HeadName = "linear",
    dropout_at: list[str] | None = None,
    dropout_rate: float = 0.1,
    dropout_samples: int = 8,
    loss: LossName = "ce",
    smoothing: Smoothing | None = None,
    preset: TrainingPresetName | None = None,
    init: str | None = None,
    from_scratch: bool = False,
    sweep: str | None = None,
    seed: int = 0,
    export: ExportForm | None = None,
    head_options: NamedValues | None = None,
    data: TrainingData = TrainingData(),
    plan: TrainingPlan = TrainingPlan(),
    machine: TrainingMachine = TrainingMachine(),
) -> Trained | Swept:
    """Train a segmentation network on the labels of a study, with a head that estimates its own uncertainty.

    The network is written to STUDY/models/NAME; pass that folder to `predict`, here or on another machine. To
    resume an interrupted run, repeat the command.

    BACKBONE is segmenter-T/16, -S/16, -B/16 or -L/16, segformer-b0 to -b5, deeplabv3plus (-50, -18),
    hf:OWNER/MODEL or a folder of the transformers library, or file.py:function, which returns a torch module
    ending in a linear layer or a 1x1 convolution.

    Parameters
    ----------
    study
        The study folder.
    name
        Name of the network.
    backbone
        The network, as above.
    head
        The last layer: linear, batch-ensemble, gp, heteroscedastic or batch-ensemble+gp.
    dropout_at
        Layers after which dropout stays active at prediction time (MC dropout), separated by commas; can be
        repeated; middle: those in the table of backbones.
    dropout_rate
        The rate of MC dropout.
    dropout_samples
        The number of MC dropout samples at prediction time.
    loss
        ce: cross-entropy; void-class: void pixels are an extra class; entropy: uniform probabilities on void
        pixels; outlier-head: a second output that detects void pixels; dirichlet: a prior network, flat on
        void pixels; uno: void pixels are a negative class, which is never a label.
    smoothing
        dirichlet: who gets the share .01 that labels are smoothed by: each other class (as Malinin and Gales
        2018; default), or shared by all classes. Blum et al. 2021 do not say.
    preset
        s3-paper, s3-code (as Buchanan et al. 2022, and as their code), s4-bayesian (Blum et al. 2021, B.3),
        or camvid-small (minutes on two cores).
    init
        Start from this trained network of the study; all parameters are trained further. With --set
        selection:NAME the new network joins the study.
    from_scratch
        With a preset that starts heads from a trained linear network: train everything from random weights
        instead.
    sweep
        OPTION=A,B,C of the head, or seed=A,B,C: train one network per value, called NAME-OPTION-VALUE.
    seed
        Seed of the weights, the order of images, crops and noise.
    export
        onnx or pt2: also write the network as one file.
    head_options
        NAME=VALUE, an option of the head, for example members=3; can be repeated. batch-ensemble: members,
        fast-start (normal or signs), spread, member-blocks. gp: features, ridge, mean-field, momentum,
        scaled, normalised, wide-start. heteroscedastic: factors, samples, temperature, shared-noise,
        wide-start; in Python a dict.
    data
        Training and validation data: `TrainingData(set_=...)`.
    plan
        The training plan: `TrainingPlan(epochs=...)`.
    machine
        The machine: `TrainingMachine(device=...)`.

    >>> fs.train(
    ...     "study", "net", backbone="segformer-b0", set_="main", plan=fs.options.TrainingPlan(steps=600)
    ... )  # doctest: +SKIP
    """
    ...
