"""fit: fit a temperature or an anomaly method to a trained network."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from faultscape.arguments import Place, Source
from faultscape.choices import FitMethod, MethodPreset
from faultscape.errors import OptionError, closest
from faultscape.study.folder import check_name
from faultscape.uncertainty.methods.catalogue import METHODS, method_named, method_of
from faultscape.verbs.fit.options import (
    PRESETS,
    TEMPERATURE,
    FitData,
    MethodOptions,
    model_and_source,
)
from faultscape.verbs.fit.result import FittedMethods, FittedTemperature
from faultscape.verbs.verb import verb

if TYPE_CHECKING:
    from faultscape.verbs.options import FitOptions


def _check(options: FitOptions) -> None:
    model_and_source(options.model)
    known = [TEMPERATURE, *(method.name for method in METHODS)]
    if options.method not in known:
        raise OptionError(
            f"method {options.method!r} is not known; use {', '.join(known)}.{closest(options.method, known)}"
        )
    if options.pixels < 1 or options.seed < 0:
        raise OptionError(
            f"--pixels must be 1 or more and --seed 0 or more; got {options.pixels} and {options.seed}"
        )
    images = options.data.images
    kept = options.data.kept(options.preset)
    if images < 1 or kept < 0:
        raise OptionError(
            f"--images must be 1 or more and --keep-embeddings 0 or more; got {images} and {kept}"
        )
    if options.preset is not None and options.preset not in PRESETS:
        raise OptionError(f"--preset {options.preset!r} is not known; use {', '.join(PRESETS)}")
    if options.as_ is not None:
        _check_name(options)
    for name in _idle(options):
        raise OptionError(
            f"--{name.rstrip('_').replace('_', '-')} has no effect on method {options.method}; leave it out"
        )


def _check_name(options: FitOptions) -> None:
    name = str(options.as_)
    is_method = name in (options.method, f"{options.method}-") or method_of(name) != options.method
    if options.method == TEMPERATURE or is_method:
        raise OptionError(f"--as {name!r}: expected {options.method}-NAME, and not the name of a method")
    check_name(name, "method")
    if options.sweep:
        raise OptionError("give either --as or --sweep, which names its methods itself")


def _idle(options: FitOptions) -> list[str]:
    """Return the given options that have no effect on the method."""
    of_data = [of.name for of in fields(FitData)]
    if options.method == TEMPERATURE:
        idle = ["layer", "select_layer", "preset", "sweep", *of_data, *options.method_options.given]
    else:
        method = method_named(options.method)
        idle = ["per_class", "pixels"]
        if not method.learns:
            idle += ["preset", *(name for name in of_data if name != "negatives")]
        sampled = method.negatives == "no" and method.taps != "image"
        idle += [] if sampled else ["images", "keep_embeddings", "preset"]
        idle += ["negatives"] * (method.negatives == "no")
        idle += ["backbone"] * (not method.of_features)
    given = options.given()
    return [name for name in idle if name in given]


@verb("faultscape.verbs.fit.fit_method:fit_asked", changes_nothing=("device",), check=_check)
def fit(
    study: Place,
    method: FitMethod,
    *,
    model: Source,
    layer: list[str] | None = None,
    select_layer: bool = False,
    preset: MethodPreset | None = None,
    sweep: str | None = None,
    as_: str | None = None,
    validation: str | None = None,
    truth: str | None = None,
    per_class: bool = False,
    pixels: int = 2000,
    seed: int = 0,
    device: str | None = None,
    data: FitData = FitData(),
    method_options: MethodOptions = MethodOptions(),
) -> FittedTemperature | FittedMethods:
    """Fit a temperature, or a method that detects unknown objects, to a trained model of the study.

    `temperature` minimises the negative log-likelihood on labelled images that the model was not trained on.
    It is stored with the model's options, and `predict` applies it from then on. To compare a model before
    and after, predict it under two names and fit one of them.

    The other methods learn what the features or logits of training images look like, and score each pixel by
    how much it differs: `predict --scorer METHOD` uses them. Embeddings whose patch contains a class that a
    holdout withholds are left out.

    Parameters
    ----------
    study
        The study folder.
    method
        temperature, odin, standardised-max-logit, mahalanobis, neco, energy-neco, knn, knn-class, flow,
        residual, reconstruction, resynthesis, perceptual or fusion.
    model
        A network of the study, predicted or trained; for methods also NAME=SOURCE, a network that is not
        predicted yet.
    layer
        The layer to tap, by its name in the network; LAYER:in is the layer's input. Several for flow,
        residual and perceptual, a coarse and a fine one for reconstruction. Default: the input of the last
        layer; for flow the last layer before an activation; for residual, reconstruction and perceptual
        layers of several sizes.
    select_layer
        Choose among the layers named, or the network's outermost layers, by average precision on
        --validation.
    preset
        s4: keep all embeddings of the images, and train flows as Blum et al. 2021 do (200,000 steps at a rate
        of 0.0001).
    sweep
        Fit one method per value: OPTION=A,B,C.
    as_
        Name of the fitted method, METHOD-...; default: the method's own name.
    validation
        For temperature: a labelled set to fit to (default: images with role validation). For methods: a set
        with anomaly labels, used to choose options that are not given; the method is then flagged as tuned on
        unknown objects.
    truth
        The labels to use; default: labels, or the only ones.
    per_class
        Fit one temperature per class, which can change labels.
    pixels
        Pixels sampled per image for a temperature.
    seed
        Seed of all sampling.
    device
        cpu, cuda or cuda:N; default: a GPU if there is one.
    data
        What methods are fitted to: `FitData(set_=...)`.
    method_options
        Options of the methods: `MethodOptions(k=...)`.

    >>> predicted = fs.predict("study", {"net": "net.onnx"}, engine="local")
    >>> fs.fit("study", "temperature", model="net", validation="main").model
    'net'
    """
    ...
