"""METHODS: fitted methods that add uncertainty to a trained network, each a complete entry, from which help,
documents and tables are made.

Conventions: importing this does not load torch: ``place`` names the class of a method. ``taps`` is the number
of layers that it sees: none, one, several, a pair of a coarse and a fine one, the ``image`` itself, some
beside those of another image that it shows the network (``again``), or, of ``parts``, those of the methods
that it joins; ``learns`` says whether it uses training images, ``of_logits`` whether it needs logits as well
as features, ``signed`` whether its default layer is the last before an activation, ``looks`` whether it sees
the image beside its layers. ``negatives`` says whether images with unknown objects (``--negatives``) teach
it: no, may or must; taught by them it has the flag ``trained-with-ood``. ``options`` are its options with
their defaults, ``search`` the values tried with --validation, a set with unknown objects; a method searched
this way has the flag ``tuned-with-ood``. A fitted method is a scorer of its model under its name.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from faultscape.errors import OptionError, closest
from faultscape.uncertainty.catalogue import Fitting, Value, check_options

Taps = Literal["none", "one", "several", "pair", "image", "again", "parts"]
Negatives = Literal["no", "may", "must"]
PARTS: Taps = "parts"
AGAIN: Taps = "again"
# layers that are none of the network
IMAGE = ":in"  # the image itself, as the network sees it
OUTLIER_LOGIT = ":outlier"  # what an outlier head or a negative class gives beside the logits
TUNED = "tuned-with-ood"
TAUGHT = "trained-with-ood"  # as of networks that saw unknown objects in training


@dataclass(frozen=True)
class Method:
    """A method: its ``formula`` in the documentation's notation, and ``place``, ``module:class``."""

    name: str
    title: str
    formula: str
    place: str
    taps: Taps = "one"
    options: Mapping[str, Value] = field(default_factory=dict)
    search: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    source: str = ""
    learns: bool = True
    of_logits: bool = False
    signed: bool = False
    negatives: Negatives = "no"
    looks: bool = False

    @property
    def of_features(self) -> bool:
        """Whether it sees nothing of a network but features, which may then come from a backbone."""
        return self.taps in ("one", "several") and not self.of_logits and self.negatives == "no"

    @property
    def has_parts(self) -> bool:
        """Whether it is made of other fitted methods, which its option ``parts`` names."""
        return "parts" in self.options

    def sees(self, layers: Sequence[str]) -> list[str]:
        """Return the layers whose grids it receives when it taps ``layers``, with the image."""
        return [*[IMAGE] * (self.looks or self.taps == AGAIN), *layers]

    @property
    def build(self) -> Any:
        """The class of the method; loads torch."""
        module, _, name = self.place.partition(":")
        return getattr(importlib.import_module(f"faultscape.uncertainty.methods.{module}"), name)

    def check(self, told: Mapping[str, Value]) -> None:
        """Raise OptionError for an unknown option of this method, or an invalid value."""
        check_options(f"method {self.name}", told, self.options, _FITTING)


def _whole(value: Value) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _above(value: Value) -> bool:
    return isinstance(value, int | float) and value > 0


_FITTING: Fitting = {
    **dict.fromkeys(
        ("k", "steps", "batch", "blocks", "width", "depth"), (_whole, "a whole number, 1 or more")
    ),
    **dict.fromkeys(("temperature", "rate", "shrink"), (_above, "above 0")),
    "epsilon": (lambda value: isinstance(value, int | float) and value >= 0, "0 or more"),
    "join": (lambda value: value in ("minimum", "logistic"), "minimum or logistic"),
    **{
        key: (lambda value: isinstance(value, bool), "true or false")
        for key in ("printed", "per_feature", "spatial", "equal_weights")
    },
}
_FLOW = {
    "steps": 3000,
    "rate": 1e-3,
    "batch": 512,
    "blocks": 32,
    "width": 256,
    "depth": 1,
    "epsilon": 0.0,
    "join": "minimum",
    "per_feature": False,
}

METHODS: tuple[Method, ...] = (
    Method(
        "odin",
        "ODIN",
        "1 - max softmax(z(x - e sign grad) / T)",
        "logits.odin:Odin",
        "none",
        {"temperature": 1.0, "epsilon": 0.0},
        {"temperature": (1.0, 3.0, 10.0, 100.0, 1000.0), "epsilon": (0.0, 0.001, 0.002, 0.004)},
        "Blum et al. 2021, appendix B.2; Liang et al. 2018",
        learns=False,
    ),
    Method(
        "standardised-max-logit",
        "Standardised max logit",
        "-(max z - mean of its class) / deviation of its class",
        "logits.standardised_logit:StandardisedMaxLogit",
        "none",
        source="Jung et al. 2021",
    ),
    Method(
        "mahalanobis",
        "Mahalanobis distance",
        "min over classes of sqrt((f - m)' S^-1 (f - m) / D)",
        "mahalanobis:ClassDistance",
        "one",
        {"shrink": 1e-4},
        source="Lee et al. 2018",
    ),
    Method(
        "neco",
        "NECO",
        "-max z |P (f - m)| / |f - m|",
        "neco:Neco",
        source="Ben Ammar et al. 2024, eq. 6",
        of_logits=True,
    ),
    Method(
        "energy-neco",
        "Energy and NECO",
        "energy - |P (f - m)| / |f - m|, both standardised",
        "neco:EnergyNeco",
        source="Zhang et al. 2026; Ben Ammar et al. 2024; Liu et al. 2020",
        of_logits=True,
    ),
    Method(
        "knn",
        "kNN density",
        "-log mean exp(cos(f, f_i)) over the k nearest",
        "knn_density:KnnDensity",
        "one",
        {"k": 10, "printed": False},
        {"k": (1, 2, 5, 10, 20, 50, 100)},
        "Blum et al. 2021, section 4.1, eq. 5",
    ),
    Method(
        "knn-class",
        "kNN class density",
        "1 - share of the class in sum exp(cos(f, f_i)) over the k nearest",
        "knn_density:KnnClassDensity",
        "one",
        {"k": 200, "printed": False},
        {"k": (20, 50, 100, 200, 500)},
        "Blum et al. 2021, section 4.1, eq. 4",
    ),
    Method(
        "flow",
        "Learned embedding density",
        "NLL of f - mean NLL of training",
        "flow_density:FlowDensity",
        "several",
        _FLOW,
        {"epsilon": (0.0, 0.05, 0.1, 0.2, 0.25, 0.5)},
        "Blum et al. 2021, section 4.2, eq. 6 to 8",
        signed=True,
    ),
    Method(
        "residual",
        "Residual block",
        "-log sum exp (z + shift learnt with unknown objects)",
        "residual:ResidualPattern",
        "several",
        {"steps": 6000, "rate": 5e-3, "batch": 4, "width": 32},
        source="Liu et al. 2023 (RPL)",
        learns=False,
        negatives="must",
        looks=True,
    ),
    Method(
        "reconstruction",
        "Reconstruction of features",
        "(1 - SSIM) / 2 of features reconstructed from a coarse layer, coupled with z",
        "reconstruction:Reconstruction",
        "pair",
        {"steps": 2000, "rate": 5e-3, "batch": 4, "width": 32},
        source="Vojir et al. 2021 (JSRNet)",
        negatives="may",
    ),
    Method(
        "resynthesis",
        "Resynthesis",
        "log-odds that x differs from an image painted from its labels",
        "evidence.resynthesis:Resynthesis",
        "image",
        {"steps": 2000, "rate": 1e-3, "batch": 4, "width": 32},
        source="Lis et al. 2019",
        of_logits=True,
    ),
    Method(
        "perceptual",
        "Perceptual difference",
        "sum over layers of mean |f - f'| of the features of x and of what resynthesis paints",
        "evidence.perceptual:Perceptual",
        AGAIN,
        {"parts": "resynthesis"},
        source="Di Biase et al. 2021 (SynBoost)",
        learns=False,
        of_logits=True,
    ),
    Method(
        "fusion",
        "Fusion",
        "sum w s + g(s) of the parts' scores s, learnt with unknown objects",
        "evidence.fusion:Fusion",
        PARTS,
        {
            "parts": "",
            "equal_weights": False,
            "spatial": False,
            "steps": 2000,
            "rate": 5e-3,
            "batch": 4,
            "width": 16,
        },
        source="Di Biase et al. 2021 (SynBoost)",
        learns=False,
        negatives="must",
    ),
)


def own_layers(layers: Iterable[str]) -> tuple[str, ...]:
    """Return the layers that a network itself has, each once.

    >>> own_layers(["head:in", ":in", "body", "body"])
    ('head:in', 'body')
    """
    return tuple(dict.fromkeys(layer for layer in layers if not layer.startswith(":")))


def method_of(name: str) -> str:
    """Return the longest method name that the name of a fitted method begins with; '' for none.

    >>> method_of("knn-k-5"), method_of("knn-class-wide"), method_of("msp")
    ('knn', 'knn-class', '')
    """
    found = (method.name for method in METHODS if name == method.name or name.startswith(f"{method.name}-"))
    return max(found, key=len, default="")


def method_named(name: str) -> Method:
    """Return the method with a name; OptionError with the nearest name otherwise.

    >>> method_named("knn").title
    'kNN density'
    """
    for method in METHODS:
        if method.name == name:
            return method
    known = [method.name for method in METHODS]
    raise OptionError(f"method {name!r} is not known; known are {', '.join(known)}.{closest(name, known)}")
