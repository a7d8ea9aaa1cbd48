"""The options of `fit` that belong together, and the model that it names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from faultscape.arguments import Source, place_text, shown
from faultscape.choices import MethodPreset
from faultscape.errors import OptionError
from faultscape.uncertainty.catalogue import Value

TEMPERATURE = "temperature"
# S4 B.6; with a preset, all embeddings of the images are kept
PRESETS: Mapping[str, Mapping[str, Value]] = {"s4": {"steps": 200_000, "rate": 1e-4}}
KEPT = 100_000  # embeddings kept per layer


@dataclass(frozen=True)
class MethodOptions:
    """Options of methods.

    Parameters
    ----------
    k
        knn, knn-class: the number of neighbours (default 10 and 200).
    printed
        knn, knn-class: use exp(-cosine) instead of exp(cosine), as
        equations 4 and 5 of Blum et al. 2021 are printed.
    shrink
        mahalanobis: the share of the mean variance added to the covariance's diagonal (default 1e-4).
    temperature
        odin: divides logits (default 1).
    epsilon
        odin, flow: how far the input is moved against the gradient (default 0).
    steps
        flow: training steps (default 3000).
    rate
        flow: learning rate (default 0.001).
    batch
        flow: embeddings per step (default 512).
    blocks
        flow: blocks, each a coupling, a norm and a permutation (default 32).
    width
        flow: hidden units of a coupling (default 256).
    depth
        flow: hidden layers of a coupling (default 1).
    join
        flow: how several layers are joined: minimum or logistic (default minimum).
    per_feature
        flow: divide the score of each layer by its number of features, so that layers of different widths
        are comparable; equation 8 of Blum et al. 2021 does not divide.
    """

    k: int | None = None
    printed: bool | None = None
    shrink: float | None = None
    temperature: float | None = None
    epsilon: float | None = None
    steps: int | None = None
    rate: float | None = None
    batch: int | None = None
    blocks: int | None = None
    width: int | None = None
    depth: int | None = None
    join: str | None = None
    per_feature: bool | None = None

    @property
    def given(self) -> dict[str, Value]:
        """The options that were given, under the names that methods use."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True)
class FitData:
    """What methods are fitted to.

    Parameters
    ----------
    set_
        Labelled training sets; default: images of role train.
    images
        Training images drawn (default 1000).
    keep_embeddings
        Embeddings kept of a layer, drawn evenly over images; 0 keeps all (default 100000, under --preset s4
        all).
    """

    set_: list[str] | None = None
    images: int = 1000
    keep_embeddings: int | None = None

    def kept(self, preset: MethodPreset | None) -> int:
        """Return the number of embeddings to keep of a layer, 0 for all."""
        if self.keep_embeddings is not None:
            return self.keep_embeddings
        return 0 if preset else KEPT


def model_and_source(model: Source) -> tuple[str, str | None]:
    """Return the name of a model and, for NAME=SOURCE or {NAME: SOURCE}, its source, else None; OptionError
    for anything else.

    >>> model_and_source("net"), model_and_source("net=net.py:make"), model_and_source({"net": "net.pt2"})
    (('net', None), ('net', 'net.py:make'), ('net', 'net.pt2'))
    """
    if isinstance(model, str):
        name, equals, source = model.partition("=")
        if name and bool(equals) == bool(source):
            return name, source or None
    elif isinstance(model, Mapping) and len(model) == 1:
        ((name, place),) = model.items()
        if isinstance(name, str):
            return name, place_text(place, "--model")
    raise OptionError(f"--model: expected NAME, or NAME=SOURCE; got {shown(model)}")
