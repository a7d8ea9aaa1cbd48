"""fit: fit a temperature or an anomaly method to a trained network."""

from __future__ import annotations

from faultscape.arguments import Place, Source, needed_text, several
from faultscape.choices import FitMethod, MethodPreset
from faultscape.verbs.fit.options import TEMPERATURE, FitData, FitOptions, MethodOptions, model_and_source
from faultscape.verbs.fit.result import FittedMethods, FittedTemperature


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
        temperature, odin, standardised-max-logit, mahalanobis, knn, knn-class or flow.
    model
        A network of the study, predicted or trained; for methods also NAME=SOURCE, a network that is not
        predicted yet.
    layer
        The layer to tap, by its name in the network; LAYER:in is the layer's input. Several for flow.
        Default: the input of the last layer; for flow the last layer before an activation.
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
    """
    layers = tuple(several(layer) or ())
    name, source = model_and_source(model)
    options = FitOptions(
        needed_text(study, "study"),
        method,
        name,
        validation,
        truth,
        per_class,
        pixels,
        seed,
        device,
        layers,
        select_layer,
        preset,
        sweep,
        as_,
        data,
        method_options,
        source,
    )
    if method == TEMPERATURE:
        from faultscape.verbs.fit.fit_temperature import fit_model

        return fit_model(options)
    from faultscape.verbs.fit.fit_method import fit_method

    return fit_method(options)
