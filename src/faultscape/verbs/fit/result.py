"""What `fit` returns: what it fitted to a model, and its effect or the results of a search."""

from __future__ import annotations

from dataclasses import dataclass, field
from shlex import quote

from faultscape.errors import counted
from faultscape.uncertainty.catalogue import Value
from faultscape.uncertainty.methods.catalogue import IMAGE, OUTLIER_LOGIT

_IN_WORDS = {IMAGE: "the image", OUTLIER_LOGIT: "the outlier logit"}  # layers that are none of the network


@dataclass(frozen=True)
class FittedTemperature:
    """The temperature of a model, or one per class, and the negative log-likelihood and calibration error per
    pixel before and after.
    """

    study: str
    model: str
    source: str  # where `predict` finds the model
    values: dict[str, float]  # {class: temperature}, or {'': temperature} for all classes
    nll: tuple[float, float]  # (before, after), mean over pixels
    ece: tuple[float, float]  # (before, after), expected calibration error in 15 bins
    images: int  # images with a pixel to fit to
    pixels: int  # pixels of all these images that it was fitted to

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{name} {value:.3g}" if name else f"{value:.3g}" for name, value in list(self.values.items())[:6]
        )
        more = ", ..." if len(self.values) > 6 else ""
        lines = [
            (
                f"{self.model}: temperature {shown}{more}, on {self.pixels:,} pixels of"
                f" {counted(self.images, 'image')}"
            )
        ]
        lines.append(f"NLL      {self.nll[0]:.4f} before, {self.nll[1]:.4f} after")
        lines.append(
            f"ECE      {self.ece[0]:.4f} before, {self.ece[1]:.4f} after (on the pixels it was fitted to)"
        )
        lines.append(f"next: faultscape predict {quote(self.study)} {quote(f'{self.model}={self.source}')}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Tried:
    """A candidate of a search and how well it detected the anomalies: its average precision, and the false
    positive rate at 95 % recall.
    """

    candidate: str  # a layer, or an option and its value
    average_precision: float
    fpr95: float


@dataclass(frozen=True)
class FittedMethod:
    """A fitted method: its name for `predict --scorer`, the layers that it taps, its options and flags."""

    name: str
    layers: tuple[str, ...]
    options: dict[str, Value]
    flags: tuple[str, ...]


@dataclass(frozen=True)
class FittedMethods:
    """The methods that one command fitted, the numbers of images and embeddings, and the results of searches.

    ``searches`` holds {layer or option: its candidates, the best first}, {} without a search.
    """

    study: str
    model: str
    source: str  # where `predict` finds the model
    methods: tuple[FittedMethod, ...]  # one, or one for each value of a sweep
    images: int  # images from which embeddings were drawn
    embeddings: int  # embeddings drawn from a layer; 0 for a method that needs none
    searches: dict[str, tuple[Tried, ...]] = field(default_factory=dict)
    beside: tuple[str, ...] = ()  # scorers that the model has already
    negatives: str = ""  # the set that taught the methods, or that scales a fusion's parts

    def __repr__(self) -> str:
        lines = []
        for what, tried in self.searches.items():
            wide = max(len(one.candidate) for one in tried)
            lines.append(f"{what:{wide}}     AP  FPR95")
            lines += [
                f"{one.candidate:{wide}}  {one.average_precision:5.3f}  {one.fpr95:5.3f}" for one in tried
            ]
        for method in self.methods:
            layers = [_IN_WORDS.get(layer, layer) for layer in method.layers]
            where = f" at {', '.join(layers)}" if layers else ""
            flags = f" ({', '.join(method.flags)})" if method.flags else ""
            lines.append(f"{self.model}: {method.name}{where}{flags}")
            if parts := str(method.options.get("parts", "")):
                lines.append(f"parts    {', '.join(word.partition('@')[0] for word in parts.split(','))}")
        if self.embeddings:
            lines.append(f"fitted   to {self.embeddings:,} embeddings of {counted(self.images, 'image')}")
        if self.negatives:
            equal = any(method.options.get("equal_weights") for method in self.methods)
            by = "scaled   by the known pixels of" if equal else "taught   by the unknown objects of"
            lines.append(f"{by} {self.negatives}")
        names = dict.fromkeys([*self.beside, *(method.name for method in self.methods)])
        scorers = " ".join(f"--scorer {quote(name)}" for name in names)
        lines.append(
            f"next: faultscape predict {quote(self.study)} {quote(f'{self.model}={self.source}')}"
            f" {scorers} --measure"
        )
        return "\n".join(lines)
