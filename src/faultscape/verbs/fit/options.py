"""Options of `fit`, as its verb passes them to the stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from faultscape.arguments import Source, place_text, shown
from faultscape.choices import MethodPreset
from faultscape.errors import OptionError, closest
from faultscape.study.folder import check_name
from faultscape.uncertainty.catalogue import Value
from faultscape.uncertainty.methods.catalogue import METHODS, Method, method_named, method_of
from faultscape.verbs.given_options import refuse_empty

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


@dataclass(frozen=True)
class FitOptions:
    """All options of `fit`."""

    study: str
    method: str
    model: str
    validation: str | None = None
    truth: str | None = None
    per_class: bool = False
    pixels: int = 2000
    seed: int = 0
    device: str | None = None
    layer: tuple[str, ...] = ()
    select_layer: bool = False
    preset: MethodPreset | None = None
    sweep: str | None = None
    as_: str | None = None
    data: FitData = FitData()
    method_options: MethodOptions = MethodOptions()
    source: str | None = None  # of a model that is not predicted yet

    def __post_init__(self) -> None:
        refuse_empty(self)
        known = [TEMPERATURE, *(method.name for method in METHODS)]
        if self.method not in known:
            raise OptionError(
                f"method {self.method!r} is not known; use {', '.join(known)}.{closest(self.method, known)}"
            )
        if self.pixels < 1 or self.seed < 0:
            raise OptionError(
                f"--pixels must be 1 or more and --seed 0 or more; got {self.pixels} and {self.seed}"
            )
        if self.data.images < 1 or self.keep_embeddings < 0:
            raise OptionError(
                f"--images must be 1 or more and --keep-embeddings 0 or more; got {self.data.images} and "
                f"{self.keep_embeddings}"
            )
        if self.preset is not None and self.preset not in PRESETS:
            raise OptionError(f"--preset {self.preset!r} is not known; use {', '.join(PRESETS)}")
        fits_temperature = self.method == TEMPERATURE
        of_data = {field.name: getattr(self.data, field.name) != field.default for field in fields(FitData)}
        if fits_temperature:
            said = {
                "layer": self.layer,
                "select_layer": self.select_layer,
                "preset": self.preset,
                "sweep": self.sweep,
                **of_data,
                **dict.fromkeys(self.method_options.given, True),
            }
        else:
            learns = method_named(self.method).learns
            said = {
                "per_class": self.per_class,
                "pixels": self.pixels != 2000,
                **({} if learns else {"preset": self.preset, **of_data}),
            }
        idle = [name.rstrip("_") for name, value in said.items() if value]
        if self.as_ is not None:
            if (
                fits_temperature
                or self.as_ in (self.method, f"{self.method}-")
                or method_of(self.as_) != self.method
            ):
                raise OptionError(
                    f"--as {self.as_!r}: expected {self.method}-NAME, and not the name of a method"
                )
            check_name(self.as_, "method")
            if self.sweep:
                raise OptionError("give either --as or --sweep, which names its methods itself")
        if idle:
            raise OptionError(
                f"--{idle[0].replace('_', '-')} has no effect on method {self.method}; leave it out"
            )

    @property
    def set_(self) -> list[str] | None:
        """The given training sets."""
        return self.data.set_

    @property
    def images(self) -> int:
        """The number of training images to draw."""
        return self.data.images

    @property
    def keep_embeddings(self) -> int:
        """The number of embeddings to keep per layer."""
        return (
            self.data.keep_embeddings if self.data.keep_embeddings is not None else 0 if self.preset else KEPT
        )

    def searches(self, method: Method) -> tuple[str, ...]:
        """Return the options to search with --validation: those neither given nor swept."""
        given = {*self.told(method), self.swept(method)[0]}
        return tuple(key for key in method.search if key not in given)

    def check_search(self, method: Method) -> None:
        """Raise OptionError for a --validation without effect, and for options that need one."""
        joins = {
            self.told(method).get("join"),
            *(self.swept(method)[1] if self.swept(method)[0] == "join" else ()),
        }
        if "logistic" in joins and (self.validation is None or len(self.layer) < 2 or self.select_layer):
            raise OptionError(
                "--join logistic needs several layers (--layer A --layer B) and --validation SET, a set "
                "with anomaly labels"
            )
        if self.select_layer and self.validation is None:
            raise OptionError("--select-layer needs --validation SET, a set with anomaly labels")
        if self.validation is not None and not (
            self.select_layer or "logistic" in joins or self.searches(method)
        ):
            raise OptionError(
                f"--validation {self.validation}: it has no effect on method {method.name}; leave it "
                "out, or give --select-layer"
            )

    def told(self, method: Method) -> dict[str, Value]:
        """Return the options of a method that were given, by a preset or directly."""
        of_preset = {
            key: value for key, value in PRESETS.get(self.preset or "", {}).items() if key in method.options
        }
        return {**of_preset, **self.method_options.given}

    def swept(self, method: Method) -> tuple[str, tuple[Value, ...]]:
        """Return the option of --sweep and its values, ('', ()) without a sweep; OptionError if it is not an
        option of the method.
        """
        if self.sweep is None:
            return "", ()
        key, equals, values = self.sweep.partition("=")
        key = key.strip().replace("-", "_")
        words = [word.strip() for word in values.split(",")]
        if (
            key not in method.options
            or not equals
            or len(words) < 2
            or not all(words)
            or len(set(words)) < len(words)
        ):
            known = ", ".join(name.replace("_", "-") for name in method.options) or "nothing to sweep"
            raise OptionError(
                f"--sweep {self.sweep!r} is not valid; use OPTION=A,B,C of method {method.name}, which has"
                f" {known}"
            )
        if key in self.method_options.given:
            raise OptionError(
                f"--{key.replace('_', '-')} and --sweep {self.sweep} set the same option; leave one out"
            )
        made = tuple(_value(method.options[key], key, word) for word in words)
        for value in made:
            method.check({key: value})
        return key, made


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


def _value(like: Value, key: str, word: str) -> Value:
    """Convert a word of --sweep to the type of the option's default."""
    try:
        if isinstance(like, bool):
            return {"true": True, "false": False}[word.lower()]
        return type(like)(word)
    except (ValueError, KeyError):
        wanted = (
            "true or false"
            if isinstance(like, bool)
            else "a whole number"
            if isinstance(like, int)
            else "a number"
        )
        raise OptionError(f"--sweep {key}: {word!r} is not {wanted}") from None
