"""Fit what a command names: a temperature, or a method."""

from __future__ import annotations

from faultscape.verbs.fit.fit_method import fit_method
from faultscape.verbs.fit.fit_temperature import fit_model
from faultscape.verbs.fit.options import TEMPERATURE
from faultscape.verbs.fit.result import FittedMethods, FittedTemperature
from faultscape.verbs.options import FitOptions


def fit_asked(options: FitOptions) -> FittedTemperature | FittedMethods:
    """Fit a temperature, or a method, to a model of the study. Errors: those of `fit_model` and
    `fit_method`.
    """
    return fit_model(options) if options.method == TEMPERATURE else fit_method(options)
