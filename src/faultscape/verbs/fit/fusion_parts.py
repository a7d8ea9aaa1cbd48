"""The parts of a method: those named with --parts, or the default ones that are fitted to the model.

Conventions: a part is a scorer of probabilities or logits, or the file of a method beside that of the fusion.
A part that was fitted to another network, or to images shown differently, is refused if it was named, and
left out with a note otherwise.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from faultscape.errors import ModelError, OptionError, closest
from faultscape.metrics.scorers import SCORERS, is_fitted
from faultscape.prediction.doubt_methods import built, show_again
from faultscape.prediction.sources.network import Network
from faultscape.reporting.reliability.document import RETRAINED
from faultscape.uncertainty.method_files import ENDING, MethodAbout, digest, read_about, words_of
from faultscape.uncertainty.methods.catalogue import (
    AGAIN,
    OUTLIER_LOGIT,
    PARTS,
    TAUGHT,
    Method,
    method_named,
    method_of,
    own_layers,
)
from faultscape.verbs.fit.open_model import OpenedModel
from faultscape.verbs.fit.options import Request

if TYPE_CHECKING:
    from faultscape.uncertainty.methods.method import Fitted

_OF_OUTLIER = [one.name for one in SCORERS if one.needs == "outlier"]
_PLAIN = [*(one.name for one in SCORERS if one.needs in ("probabilities", "logits")), *_OF_OUTLIER]
_ALWAYS = ("entropy", "margin")  # as SynBoost joins them: softmax entropy and softmax distance
_WHERE_FITTED = ("mahalanobis", "residual", "reconstruction", "resynthesis", "perceptual")


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of a fusion: their ``words``, and the metadata of those that are fitted, {word: metadata}."""

    words: tuple[str, ...]
    abouts: Mapping[str, MethodAbout]
    folder: Path
    named: bool  # with --parts

    @property
    def layers(self) -> tuple[str, ...]:
        """All layers that the parts tap."""
        layers = [method_named(about.method).sees(about.layers) for about in self.abouts.values()]
        outlier = [OUTLIER_LOGIT] * self._of_outlier
        return tuple(dict.fromkeys([*(layer for of_one in layers for layer in of_one), *outlier]))

    @property
    def tapped(self) -> tuple[str, ...]:
        """The layers that the network itself must give."""
        return own_layers(layer for about in self.abouts.values() for layer in about.layers)

    @property
    def _of_outlier(self) -> bool:
        """Whether a part is what the network itself was trained to say about outliers."""
        return any(word in _OF_OUTLIER for word in self.words)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the fitted parts."""
        return tuple(map(_name, self.abouts))

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags of all parts."""
        flags = [flag for about in self.abouts.values() for flag in about.flags]
        return tuple(dict.fromkeys([*flags, *[RETRAINED, TAUGHT] * self._of_outlier]))

    @property
    def said(self) -> tuple[MethodAbout, ...]:
        """The metadata of the fitted parts, without how they were made."""
        return tuple(replace(about, provenance={}, more={}) for about in self.abouts.values())

    def built(self, network: Network) -> dict[str, Fitted]:
        """Return the fitted parts {word: method}, beside their network."""
        parts = {word: built(self.folder / f"{_name(word)}{ENDING}") for word in self.abouts}
        show_again(parts, network)
        return parts

    def of_network(self, model: OpenedModel) -> Parts:
        """Return the parts that were fitted to this network as it is shown images now; ModelError for one
        that was named and was not.
        """
        kept = dict[str, MethodAbout]()
        for word, about in self.abouts.items():
            if (about.network, about.shown) == (model.digest, model.shown):
                kept[word] = about
                continue
            why = f"{_name(word)} was fitted to a different network, different weights or other options"
            if self.named:
                without = ", or leave it out of --parts" * (len(self.words) > 1)
                raise ModelError(f"--parts {_name(word)}: {self.folder.name}'s {why}; fit it again{without}")
            print(f"note: {why}, and is left out; fit it again to join it")
        words = tuple(word for word in self.words if word in kept or word not in self.abouts)
        return replace(self, words=words, abouts=kept)

    def taught_by(self, negatives: str) -> list[str]:
        """Return the parts that learnt from a set of unknown objects."""
        return [_name(word) for word, about in self.abouts.items() if about.negatives == negatives]


def parts_asked(root: Path, asked: Request) -> Parts | None:
    """Return the parts that a command asks for, None for other methods. OptionError for a part that
    cannot be one, or is not fitted to the model.
    """
    method = asked.method
    if not method.has_parts:
        return None
    if asked.swept[0] == "parts":
        raise OptionError(f"--sweep parts: fit a {method.name} for each: --parts A,B --as {method.name}-NAME")
    if asked.told.get("equal_weights"):
        for name in ("spatial", "steps", "rate", "batch", "width"):
            if asked.told.get(name):
                raise OptionError(f"--{name} is of weights that are learnt, and --equal-weights learns none")
    folder = root / "methods" / asked.model
    told = str({**method.options, **asked.told}["parts"])
    if not told:
        files = {name: folder / f"{name}{ENDING}" for name in _WHERE_FITTED}
        fitted = [name for name, file in files.items() if file.is_file() and not read_about(file).backbone]
        return _read(folder, [*_ALWAYS, *fitted], asked, named=False)
    words = words_of(told)
    if twice := next((word for word in words if words.count(word) > 1), None):
        raise OptionError(f"--parts {told}: names {twice} twice")
    parts = _read(folder, words, asked, named=True)
    kinds = [about.method for about in parts.abouts.values()]
    if method.taps == AGAIN and (len(words), kinds) != (1, ["resynthesis"]):
        raise OptionError(f"--parts {told}: method {method.name} needs one fitted resynthesis, and no more")
    return parts


def _read(folder: Path, names: list[str], asked: Request, *, named: bool) -> Parts:
    words = list[str]()
    abouts = dict[str, MethodAbout]()
    for name in names:
        if name in _PLAIN:
            words.append(name)
            continue
        path = folder / f"{name}{ENDING}"
        if is_fitted(name) and not path.is_file():
            raise OptionError(
                f"--parts {name}: is not fitted to {asked.model}; fit it first: `{_line(name, asked)}`"
            )
        if not is_fitted(name):
            known = [*_PLAIN, *sorted(file.stem for file in folder.glob(f"*{ENDING}"))]
            raise OptionError(
                f"--parts {name}: cannot be a part of a fusion; {asked.model} has"
                f" {', '.join(known)}.{closest(name, known)}"
            )
        about = read_about(path)
        if why := _unfit(about):
            raise OptionError(f"--parts {name}: {why}; leave it out")
        word = f"{name}@{digest(path)}"
        words.append(word)
        abouts[word] = about
    return Parts(tuple(words), abouts, folder, named)


def _unfit(about: MethodAbout) -> str:
    """Return why a method cannot be a part, '' if it can."""
    if method_named(about.method).taps == PARTS:
        return "a fusion cannot be a part of another"
    if float(about.options.get("epsilon", 0)) > 0:
        return "it shows the network a moved image (--epsilon), which a fusion does not"
    if about.backbone:
        return "it scores the patches of a backbone, which a fusion does not run"
    return ""


def _line(name: str, asked: Request) -> str:
    """Return the command that fits a part under a name."""
    method: Method = method_named(method_of(name))
    line = f"faultscape fit {shlex.quote(asked.options.study)} {method.name}"
    line += f" --model {shlex.quote(asked.model)}"
    line += f" --as {name}" * (name != method.name)
    return line + f" --negatives {asked.options.data.negatives}" * (method.negatives == "must")


def _name(word: str) -> str:
    return word.partition("@")[0]
