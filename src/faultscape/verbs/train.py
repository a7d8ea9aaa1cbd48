"""train: a network that knows doubt, from a study's labels."""

from __future__ import annotations

from faultscape.arguments import Place, needed_text, several
from faultscape.choices import ExportForm, HeadName, LossName, TrainingPresetName
from faultscape.errors import OptionError
from faultscape.stages.train.options import HeadOptions, Schedules, TrainingData, TrainingMachine, TrainOptions, need_libraries
from faultscape.stages.train.result import Swept, Trained


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
    preset: TrainingPresetName | None = None,
    init: str | None = None,
    from_scratch: bool = False,
    sweep: str | None = None,
    seed: int = 0,
    export: ExportForm | None = None,
    data: TrainingData = TrainingData(),
    schedules: Schedules = Schedules(),
    head_options: HeadOptions = HeadOptions(),
    machine: TrainingMachine = TrainingMachine(),
) -> Trained | Swept:
    """Train a network on a study's labels, with a last layer that knows doubt: linear, batch-ensemble, gp, heteroscedastic or batch-ensemble+gp.

    The network lies in STUDY/models/NAME, which `predict` takes as a source, here or on another machine. A run that was killed goes on with the same line.

    BACKBONE is segmenter-T/16, -S/16, -B/16 or -L/16, segformer-b0 to -b5, deeplabv3plus (-50, -18), hf:OWNER/MODEL or a folder of the transformers library, or file.py:function, which returns a torch module that ends in a linear layer or a 1x1 convolution.

    Parameters
    ----------
    study
        The study folder.
    name
        What the network is called.
    backbone
        Which network, as above.
    head
        Its last layer.
    dropout_at
        A layer behind which values are left out at random, in use too, so that the network has members (MC dropout); or several with commas between them. Repeat it for more.
    dropout_rate
        Share of values that MC dropout leaves out.
    dropout_samples
        Members that MC dropout makes of a network in use.
    loss
        ce; void-class: void pixels are a class of their own; entropy: even probabilities on void pixels.
    preset
        s3-paper, s3-code (as Buchanan et al. 2022, and as their code), or camvid-small (minutes on two cores).
    init
        A trained network of the study to start from; all of its parameters are trained on.
    from_scratch
        With a preset that trains heads on from a linear network: train all of it instead.
    sweep
        OPTION=A,B,C of the head, or seed=A,B,C: a network for each value, called NAME-OPTION-VALUE.
    seed
        Of weights, the order of images, crops and noise.
    export
        onnx or pt2: write the network as one file too.
    data
        What a network learns from: `TrainingData(set_=...)`.
    schedules
        How long and at which rate: `Schedules(epochs=...)`.
    head_options
        What the head is told: `HeadOptions(members=...)`.
    machine
        What training runs on: `TrainingMachine(device=...)`.
    """
    need_libraries()
    from faultscape.stages.train.train_network import train_networks

    words = several(dropout_at)
    layers = tuple(layer.strip() for word in words for layer in str(word).split(",")) if isinstance(words, tuple) else words
    if any(not layer for layer in layers):
        raise OptionError("--dropout-at is a layer, or several with commas between them; one of them is empty")
    options = TrainOptions(
        needed_text(study, "study"), name, backbone, head, layers, dropout_rate, dropout_samples, loss, preset, init, from_scratch, sweep, seed, export, data, schedules, head_options, machine
    )  # fmt: skip
    return train_networks(options)
