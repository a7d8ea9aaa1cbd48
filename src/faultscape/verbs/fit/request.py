"""What a command asks of a method: the options given to it, swept, or searched."""

from __future__ import annotations

from dataclasses import dataclass

from faultscape.errors import OptionError
from faultscape.uncertainty.catalogue import Value
from faultscape.uncertainty.methods.catalogue import Method, method_named
from faultscape.uncertainty.sweep import swept_values
from faultscape.verbs.fit.options import PRESETS, model_and_source
from faultscape.verbs.options import FitOptions


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
        given = {*self.told, self.swept[0]}
        return tuple(key for key in self.method.search if key not in given)

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
