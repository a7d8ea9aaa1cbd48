"""predict: store what each model says of every image."""

from __future__ import annotations

from faultscape.arguments import Place, Renames, Source, needed_text, place_text, several
from faultscape.choices import Unmapped
from faultscape.errors import OptionError
from faultscape.stages.predict.options import Hardware, PredictOptions, Shown
from faultscape.stages.predict.result import Predicted


def predict(
    study: Place,
    *models: Source,
    engine: str = "processes",
    workers: int | None = None,
    shard: str | None = None,
    labels: Place | None = None,
    unmapped: Unmapped | None = None,
    keep: list[str] | None = None,
    scorer: list[str] | None = None,
    measure: bool = False,
    truth: str | None = None,
    pattern: str | None = None,
    resize_maps: bool | None = None,
    rename: Renames | None = None,
    remove: list[str] | None = None,
    shown: Shown = Shown(),
    hardware: Hardware = Hardware(),
) -> Predicted:
    """Store what each model says of every image, label maps or classes: NAME=SOURCE, a folder of maps, a
    table of answers, a network, or a program.

    Finished shards are not done again.

    SOURCE is (of a classifier) a table of answers: preds.csv, .parquet or .npz, with FILE.csv:COLUMN or
    FILE.npz:KEY:INDEX; a folder of label maps; model.onnx; a folder of the transformers library, or
    hf:OWNER/MODEL; a network of `train`; model.pt2 (torch.export) or TorchScript; file.py:function; or
    exec:COMMAND. Maps are kept as run-length codes in the model's own labels. An image without a usable map
    goes to failures.csv and leaves that model's pairs only. Options of a model are kept in study.toml, and
    hold until others are given or its source is another.

    Parameters
    ----------
    study
        The study folder.
    models
        NAME=SOURCE. In Python also a dict.
    engine
        local (this process), processes (all cores), ray, or ray://HOST:PORT.
    workers
        Number of processes; default: all cores, or all GPUs.
    shard
        PART/PARTS, for example 2/3: do every third shard beginning with the second, beside other jobs that do
        the rest.
    labels
        A JSON or TOML file that says which class each of the model's labels is: {"0": "road", "3": "void"},
        or by the model's own class names.
    unmapped
        void: classes of a network that the study does not have are void; without it they are an error that
        names them.
    keep
        What is kept beside labels: confidence, probabilities (or probabilities=K, the K largest), logits,
        embedding=LAYER. Repeat it for more; labels: nothing else.
    scorer
        How doubt of each pixel is scored: msp, entropy, margin, max-logit, energy, of several views or
        members also predictive-entropy, expected-entropy, mutual-information, of a Gaussian process variance,
        of networks trained with void pixels void, outlier and differential-entropy; random; a method that
        `fit` fitted (knn, flow, ...); or file.py:NAME. Kept as float32; with --measure counted instead.
        Repeat it for more; none: no doubt any more.
    measure
        Measure each map against a truth while it is made, with its confidence, which is not kept: `measure`
        finds it done.
    truth
        With --measure: which truth; default: labels, or the only one.
    pattern
        How the maps' file names make ids, for example {id}_pred.png.
    resize_maps
        Take maps of any size.
    rename
        OLD=NEW: call a model of the study by another name, in all that is stored; nothing is made again. In
        Python also a dict. Repeat it for more.
    remove
        NAME: take a model out of the study, its maps and all counts with it; labels stay. Repeat it for more.
    shown
        How a network sees images: `Shown(window=...)`.
    hardware
        What a network runs on: `Hardware(device=...)`.
    """
    from faultscape.stages.predict.models import predict_models

    kept: list[str] | None = [str(keep)] if isinstance(keep, str) else keep
    scorers = None if scorer is None else list(several(scorer))
    options = PredictOptions(
        needed_text(study, "study"),
        models,
        place_text(labels, "labels"),
        unmapped,
        kept,
        scorers,
        measure,
        truth,
        pattern,
        resize_maps,
        rename,
        remove,
        shown,
        hardware,
        engine,
        workers,
        shard,
    )
    if shard and (rename or remove):
        raise OptionError(
            "--rename and --remove are for the whole study; run them alone, without --shard, when no job of"
            " an array is at work"
        )
    if truth is not None and not measure:
        raise OptionError("--truth says what --measure measures against; add --measure, or leave it out")
    return predict_models(options)
