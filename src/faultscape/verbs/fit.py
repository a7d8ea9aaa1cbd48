"""fit: what a trained model lacks, learnt from labelled images without training it again."""

from __future__ import annotations

from faultscape.arguments import Place, needed_text
from faultscape.choices import FitMethod
from faultscape.stages.fit.options import FitOptions
from faultscape.stages.fit.result import Fitted


def fit(
    study: Place,
    method: FitMethod,
    *,
    model: str,
    validation: str | None = None,
    truth: str | None = None,
    per_class: bool = False,
    pixels: int = 2000,
    seed: int = 0,
    device: str | None = None,
) -> Fitted:
    """Fit a method to a model of the study: temperature, by which its logits are divided, so that its probabilities say how often it is right.

    The temperature is that of the least negative log-likelihood on labelled images that the model was not trained on. It stands among the model's options, and `predict` uses it from then on; predict the model under two
    names to compare it with itself.

    Parameters
    ----------
    study
        The study folder.
    method
        temperature.
    model
        The model, a network.
    validation
        A labelled set to fit to; default: images of role validation.
    truth
        Whose labels; default: labels, or the only ones.
    per_class
        A temperature for each class, which may change labels too.
    pixels
        Pixels of each image that are looked at.
    seed
        Of the choice of pixels.
    device
        cpu, cuda or cuda:N; default: a GPU where there is one.
    """
    from faultscape.stages.fit.fit_temperature import fit_model

    return fit_model(FitOptions(needed_text(study, "study"), method, model, validation, truth, per_class, pixels, seed, device))
