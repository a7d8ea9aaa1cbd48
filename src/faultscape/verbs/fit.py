"""fit: fit a temperature or an anomaly method to a trained network."""

from __future__ import annotations

from faultscape.arguments import Place, needed_text, several
from faultscape.choices import FitMethod, MethodPreset
from faultscape.stages.fit.options import TEMPERATURE, FitData, FitOptions, MethodOptions
from faultscape.stages.fit.result import FittedMethods, FittedTemperature


def fit(
    study: Place,
    method: FitMethod,
    *,
    model: str,
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
    """Fit a temperature, or a method that scores unknown objects, to a trained model of the study.

    `temperature` minimises the negative log-likelihood on labelled images that the model was not trained on.
    It is stored with the model's options, and `predict` applies it from then on; to compare a model before
    and after, predict it under two names and fit one of them.

    The other methods learn what features or logits of training images look like, and score pixels by how
    unlike they are: `predict --scorer METHOD` uses them. Embeddings whose patch holds a class that a holdout
    withholds are left out.

    Parameters
    ----------
    study
        The study folder.
    method
        temperature, odin, standardised-max-logit, mahalanobis, knn, knn-class or flow.
    model
        A network of the study, predicted or trained.
    layer
        The layer to tap, by its name in the network; LAYER:in is what it is given. Several for flow. Default:
        what the last layer is given; of flow the last layer before an activation.
    select_layer
        Choose the layer, of those named or of the network's outermost, by its average precision on
        --validation.
    preset
        s4: all embeddings of the images are kept, and flows are trained as by Blum et al. 2021 (200,000 steps
        at a rate of 0.0001).
    sweep
        Fit a method for each value: OPTION=A,B,C.
    as_
        Name of the fitted method, METHOD-...; default: the method's own.
    validation
        temperature: a labelled set to fit to (default: images of role validation). Methods: a set with labels
        of anomaly, on which options not given are chosen; flags the method as tuned with unknown objects.
    truth
        Whose labels; default: labels, or the only ones.
    per_class
        One temperature per class, which can change labels.
    pixels
        Pixels sampled per image for a temperature.
    seed
        Seed of all sampling.
    device
        cpu, cuda or cuda:N; default: a GPU where there is one.
    data
        What methods are fitted to: `FitData(set_=...)`.
    method_options
        Options of methods: `MethodOptions(k=...)`.
    """
    layers = tuple(several(layer) or ())
    options = FitOptions(
        needed_text(study, "study"),
        method,
        model,
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
    )
    if method == TEMPERATURE:
        from faultscape.stages.fit.fit_temperature import fit_model

        return fit_model(options)
    from faultscape.stages.fit.fit_method import fit_method

    return fit_method(options)
