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
    """Calibrate a model of the study on labelled images: temperature scaling.

    The temperature minimises the negative log-likelihood on labelled images that the model was not trained on. It is stored with the model's options, and `predict` applies it from then on; to compare a model before and
    after, predict it under two names and fit one of them.

    Parameters
    ----------
    study
        The study folder.
    method
        temperature: divide logits by one number, or one per class.
    model
        A network of the study.
    validation
        A labelled set to fit to; default: images of role validation.
    truth
        Whose labels; default: labels, or the only ones.
    per_class
        One temperature per class, which can change labels.
    pixels
        Pixels sampled per image.
    seed
        Seed of the sampling.
    device
        cpu, cuda or cuda:N; default: a GPU where there is one.
    """
    from faultscape.stages.fit.fit_temperature import fit_model

    return fit_model(FitOptions(needed_text(study, "study"), method, model, validation, truth, per_class, pixels, seed, device))
