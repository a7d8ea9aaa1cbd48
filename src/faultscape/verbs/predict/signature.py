"""predict: store what each model predicts for every image."""

from __future__ import annotations

from typing import TYPE_CHECKING

from faultscape.arguments import LabelMeanings, Place, Renames, Source
from faultscape.choices import Unmapped
from faultscape.errors import OptionError
from faultscape.verbs.predict.options import Hardware, PredictPart, Scoring, Shown
from faultscape.verbs.predict.result import Predicted
from faultscape.verbs.verb import verb

if TYPE_CHECKING:
    from faultscape.verbs.options import PredictOptions


def _check(options: PredictOptions) -> None:
    if options.shard and (options.rename or options.remove):
        raise OptionError(
            "--rename and --remove apply to the whole study; run them without --shard, when no job of an"
            " array is running"
        )
    if options.part.set_ and not options.models:
        raise OptionError("--set needs NAME=SOURCE, the models that predict these sets")
    if options.scoring.mask_unknown is not None:
        _check_masks(options, options.scoring.mask_unknown)
    elif options.truth is not None and not options.measure:
        raise OptionError("--truth needs --measure; add --measure, or remove --truth")


def _check_masks(options: PredictOptions, rate: float) -> None:
    given = f"--mask-unknown {rate:g}"
    if not 0 < rate < 1:
        raise OptionError(f"{given}: is not a share of false alarms between 0 and 1, for example .05")
    if len(options.scorer) != 1:
        named = ", ".join(options.scorer) or "none"
        raise OptionError(f"{given} needs one --scorer, whose threshold is learnt; got {named}")
    if options.measure:
        raise OptionError(f"{given} needs the doubt of every pixel, which --measure does not keep; remove it")
    if options.shard:
        raise OptionError(
            f"{given} needs all images; run it without --shard, when no job of an array is running"
        )
    if not options.models:
        raise OptionError(f"{given} needs NAME=SOURCE, the models whose maps are masked")


@verb("faultscape.verbs.predict.models:predict_models", check=_check)
def predict(
    study: Place,
    *models: Source,
    engine: str = "processes",
    workers: int | None = None,
    shard: str | None = None,
    labels: LabelMeanings | None = None,
    unmapped: Unmapped | None = None,
    keep: list[str] | None = None,
    scorer: list[str] | None = None,
    measure: bool = False,
    truth: str | None = None,
    pattern: str | None = None,
    resize_maps: bool | None = None,
    rename: Renames | None = None,
    remove: list[str] | None = None,
    part: PredictPart = PredictPart(),
    shown: Shown = Shown(),
    hardware: Hardware = Hardware(),
    scoring: Scoring = Scoring(),
) -> Predicted:
    """Store the prediction of each model for every image, label maps or classes: NAME=SOURCE, a folder of
    maps, a table of answers, a network, or a program.

    Finished shards are not computed again.

    SOURCE is a folder of label maps; for a classifier a table of answers: preds.csv, .parquet or .npz, with
    FILE.csv:COLUMN or FILE.npz:KEY:INDEX; model.onnx; a folder of the transformers library, or
    hf:OWNER/MODEL; a network of `train`; model.pt2 (torch.export) or TorchScript; file.py:function; or
    exec:COMMAND. Maps are stored as run-length codes in the model's own labels. An image without a usable map
    is listed in failures.csv and left out of that model's pairs only. The options of a model are stored in
    study.toml and apply until you change them or its source.

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
        PART/PARTS, for example 2/3: do every third shard starting with the second, while other jobs do the
        rest.
    labels
        A JSON or TOML file that maps each of the model's labels to a class: {"0": "road", "3": "void"}, or by
        the model's own class names. Or pairs, 255=car,254=void; a folder's other values are then the class
        list's ids. Or for Cityscapes label-ids or train-ids.
    unmapped
        void: treat classes of the network that the study does not have as void; without this option they are
        an error that names them.
    keep
        What is kept in addition to labels: confidence, probabilities (or probabilities=K, the K largest),
        logits, embedding=LAYER. Repeatable; labels: nothing else.
    scorer
        How the doubt of each pixel is scored: msp, entropy, gen, margin, max-logit, energy; for several views
        or members also predictive-entropy, expected-entropy, mutual-information; for a Gaussian process
        variance; for networks trained with void pixels void, outlier, uno and differential-entropy; random; a
        method that `fit` fitted (knn, flow, ...); or file.py:NAME. Scores are kept as float32; with --measure
        they are only counted. Repeatable; none: stop scoring doubt.
    measure
        Measure each map, its confidence and its scores against a truth while the map is made, or the scores
        alone where only unknown objects are labelled. Neither confidence nor scores are kept; `measure` and
        `reliability` reuse the result.
    truth
        With --measure or --mask-unknown: the truth to use; default: labels, or the only one.
    pattern
        How the maps' file names become ids, for example {id}_pred.png.
    resize_maps
        Accept maps of any size.
    rename
        OLD=NEW: rename a model everywhere in the study; nothing is recomputed. In Python also a dict.
        Repeatable.
    remove
        NAME: remove a model from the study, with its maps and all its counts; labels stay. Repeatable.
    part
        Which images are predicted: `PredictPart(set_=...)`.
    shown
        How a network sees images: `Shown(window=...)`.
    hardware
        What a network runs on: `Hardware(device=...)`.
    scoring
        How the doubt of members is scored, and what is masked by it: `Scoring(correct_members=...)`.

    >>> fs.predict("study", {"net": "net.onnx"}, engine="local").models
    {'net': (12, 0)}
    """
    ...
