"""A model made of several networks of the study: the mean of their probabilities, and how they differ.

Conventions: ``ensemble:MODEL,MODEL,...``. Each member sees images according to its own options; all have the
same classes in the same channels. They run image by image, one member after another, so that only the
members' scores of one image are held. Labels are the classes of the largest mean probability.
Source: Blum et al. 2021, eq. 1 and 2; Lakshminarayanan et al. 2017.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from faultscape.errors import ModelError, OptionError, article
from faultscape.prediction import bounds, devices, networks, stamps
from faultscape.prediction.inference import Inference, Output, Prepared, Spent
from faultscape.prediction.keep import Keep
from faultscape.prediction.source import Opening, Origin, Request, Source
from faultscape.prediction.sources.network import Answer, Size
from faultscape.study.parts import key_of
from faultscape.study.settings import ModelOptions, ModelSettings, Settings

PREFIX = "ensemble:"
OPTIONS = ("threads", "keep", "scorer")
# a member's options that do not affect an ensemble
_BESIDE = ("keep", "scorer", "offsets", "unmapped", "labels")
KindNamed = Callable[[str], Source]


@dataclass(frozen=True)
class PreparedForAll(Prepared):
    """An image prepared for each member."""

    of: tuple[Prepared, ...] = ()


def recognised(source: str, task: str) -> bool:
    """Whether a SOURCE is an ensemble.

    >>> recognised("ensemble:a,b", "segmentation")
    True
    """
    del task
    return source.startswith(PREFIX)


def names_of(source: str) -> list[str]:
    """Return the names of the members.

    >>> names_of("ensemble:a,b")
    ['a', 'b']
    """
    return source.removeprefix(PREFIX).split(",")


def check(name: str, source: str) -> None:
    """Raise ModelError for fewer than two members, or a member that is named twice or is the
    ensemble itself.
    """
    members = names_of(source)
    if len(members) < 2 or not all(members):
        raise ModelError(
            f"{name}={source}: an ensemble needs at least two members, each a model of the study; write"
            f" {name}={PREFIX}a,b,c"
        )
    if twice := next((member for member in members if members.count(member) > 1), None):
        raise ModelError(f"{name}={source}: {twice!r} is named twice; name each member once")
    if name in members:
        raise ModelError(f"{name}={source}: an ensemble cannot be a member of itself; give it another name")


def digest(source: str, options: ModelOptions) -> str:
    """Return a digest of the members' names only; `origin` adds their networks, which the study defines."""
    del options
    return key_of(source)


def origin(source: Source, request: Request, *, kind_named: KindNamed) -> Origin:
    """Return what an ensemble's answers depend on: its members' networks and how images are shown to them."""
    del source
    members = _members(request.name, request.source, request.settings)
    for name, member in members.items():
        if kind_named(member.kind).load is None:
            raise ModelError(
                f"{request.name}={request.source}: {name} is {article(kind_named(member.kind).called)}; an"
                " ensemble runs the networks of its members"
            )
    labels = {name: member.labels for name, member in members.items()}
    first = next(iter(labels))
    if other := next((name for name in labels if labels[name] != labels[first]), None):
        raise ModelError(
            f"{request.name}={request.source}: {first} and {other} have different labels in their channels;"
            " an ensemble needs members with the same --labels"
        )
    options = cast("ModelOptions", {"threads": 1, **request.options})
    runtime = (
        "torch" if any(kind_named(member.kind).runtime == "torch" for member in members.values()) else "onnx"
    )
    held = _digest(members, kind_named)
    made = stamps.of_images(held, request.settings, request.shards(), options, labels[first])
    return Origin(options, labels[first], made.stamps, keys=made.keys, digest=held, runtime=runtime)


def open_ensemble(opening: Opening, settings: Settings, *, kind_named: KindNamed) -> networks.OpenNetwork:
    """Open every member on this worker's device; ModelError if one has changed since the run began."""
    members = _members(opening.source, opening.source, settings)
    if _digest(members, kind_named) != opening.digest:
        raise ModelError(f"{opening.source}: a member changed while this line ran; run the same line again")
    opened = []
    for member in members.values():
        kind = kind_named(member.kind)
        assert kind.load is not None
        told = cast(
            "ModelOptions", {key: value for key, value in member.options.items() if key not in _BESIDE}
        )
        with bounds.bounded(
            when=kind.runtime == "onnx" and devices.pick(opening.device, kind.runtime) == "cpu"
        ):
            one = networks.inference(
                member.source,
                {**told, "device": opening.device, "task": settings.task},
                load=kind.load,
                runtime=kind.runtime,
            )
        opened.append(one)
    keep = networks.keep_of(opening.options, settings.task)
    threads = int(opening.options.get("threads", 1))
    return networks.OpenNetwork(Ensemble(opening.source, opened, keep), settings, opening.labels, threads)


class Ensemble(Inference):
    """Several networks, each shown images in its own way, whose probabilities are averaged."""

    def __init__(self, name: str, members: Sequence[Inference], keep: Keep) -> None:
        if keep.embeddings or keep.logits:
            what = "embedding" if keep.embeddings else "logits"
            raise OptionError(f"--keep {what} needs a single network; an ensemble averages probabilities")
        super().__init__(members[0].network, members[0].way, keep)
        self._name, self.members = name, tuple(members)

    @property
    def batch(self) -> int:
        """One image at a time."""
        return 1

    def prepare(self, photo: np.ndarray, target: Size) -> PreparedForAll:
        """Return an image's inputs for every member."""
        of = tuple(member.prepare(photo, target) for member in self.members)
        return PreparedForAll(of[0].views, target, of=of)

    def run(self, prepared: Sequence[Prepared]) -> list[Answer | str]:
        """Return the members' scores of each image, or its problem as text."""
        start = time.perf_counter()
        answers = []
        for item in prepared:
            assert isinstance(item, PreparedForAll)
            answers.append(
                self._together_of(
                    [member.run([one])[0] for member, one in zip(self.members, item.of, strict=True)]
                )
            )
        self._last.spent = Spent(network=time.perf_counter() - start)
        return answers

    @property
    def name(self) -> str:
        """Its source."""
        return self._name

    def finish(self, answer: Answer | str, target: Size, key: bytes = b"") -> Output:
        """Return labels and what is kept of the mean of the members' probabilities."""
        if isinstance(answer, str):
            return Output(None, problem=answer)
        each = len(answer.members) // len(self.members)  # more than 1 for networks with members of their own
        marginal = [member.network.marginal for member in self.members for _ in range(each)]
        return self._of_members(answer, target, key, {}, marginal)

    def _together_of(self, answers: Sequence[Answer | str]) -> Answer | str:
        if wrong := next((answer for answer in answers if isinstance(answer, str)), None):
            return wrong
        held = [_layers(answer) for answer in answers if isinstance(answer, Answer)]
        if silent := next((m for m, layers in zip(self.members, held, strict=True) if not layers), None):
            return f"{silent.network.name}: returns labels without logits; an ensemble averages probabilities"
        if len({len(layers) for layers in held}) > 1:
            return (
                f"{self.name}: its members have {', '.join(str(len(of)) for of in held)} members of their"
                " own; an ensemble needs networks with equally many"
            )
        members = tuple(layer for layers in held for layer in layers)
        if len({len(of) for of in members}) > 1:
            return (
                f"{self.name}: its members have {', '.join(str(len(layers[0])) for layers in held)} channels;"
                " an ensemble needs members with equally many"
            )
        variances = [
            answer.variance
            for answer in answers
            if isinstance(answer, Answer) and answer.variance is not None
        ]
        whole = len(variances) == len(answers) and len({values.shape for values in variances}) == 1
        return Answer(members=members, variance=np.mean(variances, axis=0) if whole else None)


def _layers(answer: Answer) -> tuple[np.ndarray, ...]:
    """Return the scores of a network, or those of its members if it has only these."""
    return answer.members if answer.scores is None else (answer.scores,)


def _members(name: str, source: str, settings: Settings) -> dict[str, ModelSettings]:
    """Return the settings of an ensemble's members in the study; ModelError for one that it lacks."""
    words = names_of(source)
    if unknown := next((word for word in words if word not in settings.models), None):
        known = ", ".join(settings.models) or "none"
        raise ModelError(f"{name}: the study has no model {unknown!r} to use as a member; it has {known}")
    return {word: settings.models[word] for word in words}


def _digest(members: dict[str, ModelSettings], kind_named: KindNamed) -> str:
    """Return a digest of the members' networks and of how images are shown to them."""
    about = []
    for member in members.values():
        kind = kind_named(member.kind)
        told = {key: value for key, value in member.options.items() if key not in _BESIDE}
        about.append([kind.digest(member.source, member.options), told])
    return key_of(about)
