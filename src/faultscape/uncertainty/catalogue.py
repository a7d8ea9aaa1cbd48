"""HEADS: the available last layers, each a complete entry, from which help, documents and tables are made.

Conventions: nothing registers itself, and importing this does not load torch: ``place`` names the class of a
head, which is loaded when one is built. ``options`` are its options with their defaults; ``sweeps`` are the
options that Buchanan et al. 2022 searched, with the values. ``brings`` names the scorers that it enables
besides those of probabilities.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, get_args

from faultscape.choices import FastStart
from faultscape.errors import OptionError, closest

if TYPE_CHECKING:
    from faultscape.uncertainty.heads.channels import Head

Value = float | int | bool | str
# {option: (whether a value fits, what one must be)}
Fitting = Mapping[str, tuple[Callable[[Value], bool], str]]
_MEMBERS = {"members": 3, "fast_start": "normal", "spread": 0.5}
_PROCESS = {
    "features": 1024,
    "ridge": 1.0,
    "mean_field": 1.0,
    "momentum": 0.0,
    "scaled": True,
    "feature_scale": 1.0,
    "normalised": True,
    "wide_start": False,
}


@dataclass(frozen=True)
class HeadKind:
    """A kind of last layer: its ``formula`` in the documentation's notation, and ``place``,
    ``module:class``.
    """

    name: str
    title: str
    formula: str
    place: str
    options: Mapping[str, Value] = field(default_factory=dict)
    sweeps: Mapping[str, str] = field(default_factory=dict)
    brings: str = ""
    source: str = ""

    @property
    def build(self) -> type[Head]:
        """The class of the head; loads torch."""
        module, _, name = self.place.partition(":")
        return getattr(importlib.import_module(f"faultscape.uncertainty.heads.{module}"), name)

    def check(self, told: Mapping[str, Value]) -> None:
        """Raise OptionError for an unknown option of this head, or an invalid value."""
        check_options(f"head {self.name}", told, self.options, _FITTING)


def check_options(
    what: str, told: Mapping[str, Value], options: Mapping[str, Value], fitting: Fitting
) -> None:
    """Raise OptionError for an unknown option of a head or a method, or an invalid value."""
    if unknown := next((key for key in told if key not in options), None):
        known = ", ".join(options) or "no options"
        raise OptionError(f"{what} has no option {unknown!r}; it has {known}.{closest(unknown, [*options])}")
    for key, value in told.items():
        fits, words = fitting.get(key, (lambda _: True, ""))
        if not fits(value):
            raise OptionError(f"{what}: {key} is {words}; got {value!r}")


def _whole(least: int) -> Callable[[Value], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= least


def _number(low: float, high: float = 1e9, *, above: bool = False) -> Callable[[Value], bool]:
    return lambda value: (
        isinstance(value, int | float) and (low < value if above else low <= value) and value <= high
    )


_FITTING: Fitting = {
    **{
        key: (_whole(1), "a whole number, 1 or more") for key in ("members", "features", "factors", "samples")
    },
    **{key: (_number(0, above=True), "above 0") for key in ("ridge", "temperature", "feature_scale")},
    **{key: (_number(0), "0 or more") for key in ("mean_field", "spread")},
    "momentum": (_number(0, 0.999999), "from 0 to below 1"),
    **{
        key: (lambda value: isinstance(value, bool), "true or false")
        for key in ("scaled", "normalised", "shared_noise", "efficient", "wide_start")
    },
    "fast_start": (lambda value: value in get_args(FastStart), " or ".join(get_args(FastStart))),
}


HEADS: tuple[HeadKind, ...] = (
    HeadKind(
        "linear",
        "Linear (deterministic)",
        "W x + b",
        "linear:LinearHead",
        source="Buchanan et al. 2022, section 2",
    ),
    HeadKind(
        "batch-ensemble",
        "BatchEnsemble",
        "mean over e of softmax(((x * alpha_e) W) * gamma_e + b_e)",
        "batch_ensemble:BatchEnsembleHead",
        _MEMBERS,
        brings="predictive-entropy, expected-entropy, mutual-information",
        source="Buchanan et al. 2022, section 2; Wen et al. 2020",
    ),
    HeadKind(
        "gp",
        "Gaussian process",
        "phi(x) beta / sqrt(1 + m v(x)), phi of random features",
        "gaussian_process:GaussianProcessHead",
        _PROCESS,
        {"mean_field": "1 to 9", "feature_scale": "1, 2", "normalised": "on, off"},
        "variance; with drawn members also predictive-entropy, expected-entropy, mutual-information",
        "Buchanan et al. 2022, section 2; Liu et al. 2020",
    ),
    HeadKind(
        "heteroscedastic",
        "Heteroscedastic",
        "mean of softmax((mu + V eps + d * eps) / T)",
        "heteroscedastic:HeteroscedasticHead",
        {
            "factors": 5,
            "samples": 1000,
            "temperature": 1.0,
            "shared_noise": False,
            "efficient": False,
            "wide_start": False,
        },
        {"temperature": ".15 to 2", "factors": "5 to 9 (ADE20K: 5 to 50)", "efficient": "on, off"},
        "predictive-entropy, expected-entropy, mutual-information",
        "Buchanan et al. 2022, section 2; Collier et al. 2021",
    ),
    HeadKind(
        "batch-ensemble+gp",
        "BatchEnsemble of Gaussian processes",
        "mean over e of softmax of the Gaussian process of x * alpha_e, times gamma_e",
        "gaussian_process:GaussianProcessHead",
        {**_PROCESS, **_MEMBERS},
        {"mean_field": "1 to 9"},
        "variance, predictive-entropy, expected-entropy, mutual-information",
        "Buchanan et al. 2022, section 3, left there for later work",
    ),
)


def head_named(name: str) -> HeadKind:
    """Return the head with a name; OptionError with the nearest name otherwise.

    >>> head_named("gp").title
    'Gaussian process'
    """
    for head in HEADS:
        if head.name == name:
            return head
    known = [head.name for head in HEADS]
    raise OptionError(
        f"head {name!r} is not known; use {', '.join(known[:-1])} or {known[-1]}.{closest(name, known)}"
    )
