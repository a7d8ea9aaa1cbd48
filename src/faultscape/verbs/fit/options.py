"""The options of `fit` that belong together, the model that it names, and what a command asks of a method:
the options given to it, swept, or searched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from shlex import quote
from typing import TYPE_CHECKING

from faultscape.arguments import Source, place_text, shown
from faultscape.choices import MethodPreset
from faultscape.errors import OptionError
from faultscape.uncertainty.catalogue import Value
from faultscape.uncertainty.methods.catalogue import Method, method_named
from faultscape.uncertainty.sweep import swept_values

if TYPE_CHECKING:
    from faultscape.verbs.options import FitOptions

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
        flow, residual, reconstruction, resynthesis, fusion: training steps (default 3000, and 2000 for the
        others).
    rate
        flow, residual, reconstruction, resynthesis, fusion: learning rate (default 0.005; flow and
        resynthesis 0.001).
    batch
        flow: embeddings per step (default 512); residual, reconstruction, resynthesis, fusion: images per
        step (default 4).
    blocks
        flow: blocks, each a coupling, a norm and a permutation (default 32).
    width
        flow: hidden units of a coupling (default 256); residual, reconstruction, resynthesis, fusion:
        channels (default 32; fusion 16).
    depth
        flow: hidden layers of a coupling (default 1).
    join
        flow: how several layers are joined: minimum or logistic (default minimum).
    per_feature
        flow: divide the score of each layer by its number of features, so that layers of different widths
        are comparable; equation 8 of Blum et al. 2021 does not divide.
    parts
        fusion: the scores to join, separated by commas: scorers of probabilities and logits, of an outlier
        head or a negative class if the network has one, and methods fitted to the model (default: entropy,
        margin, and of mahalanobis, residual, reconstruction, resynthesis and perceptual those that are
        fitted); perceptual: the fitted resynthesis that paints (default resynthesis).
    equal_weights
        fusion: the mean of the parts, each standardised over the known pixels of the images of --negatives;
        nothing is learnt from their unknown objects (default false).
    spatial
        fusion: beside a weight for each part, learn a small network that sees the scores around a pixel, of
        `width` channels (default false).
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
    parts: str | None = None
    equal_weights: bool | None = None
    spatial: bool | None = None

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
    negatives
        residual, reconstruction, fusion: a set with anomaly labels whose unknown objects teach the method:
        training images that `stress blend` pasted objects into (for fusion better validation images), or a
        data set with such labels.
    backbone
        knn, knn-class, mahalanobis, flow: features of the patches of a frozen vision network, instead of a
        layer of the model: hf:OWNER/MODEL or a folder of the transformers library.
    """

    set_: list[str] | None = None
    images: int = 1000
    keep_embeddings: int | None = None
    negatives: str | None = None
    backbone: str | None = None

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


@dataclass(frozen=True)
class Request:
    """A method to fit to a model; ``source`` is that of a model that is not predicted yet."""

    options: FitOptions
    method: Method
    model: str
    source: str | None = None

    @classmethod
    def of(cls, options: FitOptions) -> Request:
        """Return what these options ask for."""
        return cls(options, method_named(options.method), *model_and_source(options.model))

    @property
    def keep_embeddings(self) -> int:
        """The number of embeddings to keep of a layer, 0 for all."""
        return self.options.data.kept(self.options.preset)

    @property
    def told(self) -> dict[str, Value]:
        """The options of the method that were given, by a preset or directly."""
        preset = PRESETS.get(self.options.preset or "", {})
        of_preset = {key: value for key, value in preset.items() if key in self.method.options}
        return {**of_preset, **self.options.method_options.given}

    @property
    def swept(self) -> tuple[str, tuple[Value, ...]]:
        """The option of --sweep and its values, ('', ()) without a sweep; OptionError if it is not an option
        of the method.
        """
        sweep = self.options.sweep
        if sweep is None:
            return "", ()
        kinds = {name: type(value) for name, value in self.method.options.items()}
        key, made = swept_values(sweep, kinds, f"of method {self.method.name}, which has")
        if key in self.options.method_options.given:
            raise OptionError(
                f"--{key.replace('_', '-')} and --sweep {sweep} set the same option; leave one out"
            )
        for value in made:
            self.method.check({key: value})
        return key, made

    @property
    def searches(self) -> tuple[str, ...]:
        """The options to search with --validation: those neither given nor swept."""
        given = {*self.told, self.swept[0], *(["epsilon"] if self.options.data.backbone else [])}
        return tuple(key for key in self.method.search if key not in given)

    def check_backbone(self) -> None:
        """Raise OptionError for options of layers, or of the model's input, beside a backbone."""
        if self.options.data.backbone is None:
            return
        if self.options.layer or self.options.select_layer:
            raise OptionError(
                "--backbone takes the place of the model's layers; leave --layer and --select-layer out"
            )
        if self.told.get("epsilon") or self.swept[0] == "epsilon":
            raise OptionError(
                "--epsilon moves the input of the model, which a backbone does not see; leave it or"
                " --backbone out"
            )

    def check_negatives(self) -> None:
        """Raise OptionError for a method that needs --negatives and has none, and for a set that would both
        teach and choose.
        """
        negatives = self.options.data.negatives
        if self.method.negatives == "must" and negatives is None:
            raise OptionError(
                f"method {self.method.name} learns from unknown objects: blend some into training images with"
                f" `faultscape stress blend {quote(self.options.study)} --preset fishyscapes-v2 --set train`,"
                " and name the set that it makes with --negatives"
            )
        if negatives is not None and negatives == self.options.validation:
            raise OptionError(
                f"--negatives and --validation are both {negatives}; what is learnt from cannot choose"
                " options: blend other objects into validation images"
            )

    def check_search(self) -> None:
        """Raise OptionError for a --validation without effect, and for options that need one."""
        validation = self.options.validation
        select_layer = self.options.select_layer
        key, values = self.swept
        joins = {self.told.get("join"), *(values if key == "join" else ())}
        if "logistic" in joins and (validation is None or len(self.options.layer) < 2 or select_layer):
            raise OptionError(
                "--join logistic needs several layers (--layer A --layer B) and --validation SET, a set "
                "with anomaly labels"
            )
        if select_layer and validation is None:
            raise OptionError("--select-layer needs --validation SET, a set with anomaly labels")
        if validation is not None and not (select_layer or "logistic" in joins or self.searches):
            raise OptionError(
                f"--validation {validation}: it has no effect on method {self.method.name}; leave it "
                "out, or give --select-layer"
            )
