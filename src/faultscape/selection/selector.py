"""What a selector is: one way to choose images for people to label.

``task`` is what the models do. ``goal`` says whether the draw may serve only to find which model is best.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

import numpy as np

from faultscape.nouns import JsonObject
from faultscape.selection import selector_weights as weights

Task = Literal["segmentation", "classification"]
Facts = Mapping[str, np.ndarray]
Weigh = Callable[[Facts, weights.DrawOptions], np.ndarray]
BOTH: tuple[Task, ...] = ("segmentation", "classification")
DRAWN = ("more", "seed", "keep_duplicates")  # the options of every selector that draws
_OF_TASK: Mapping[Task, tuple[str, ...]] = MappingProxyType(
    {"segmentation": ("concordance", "over"), "classification": ()}
)


@dataclass(frozen=True)
class Selector:
    """One way to choose images.

    ``title`` and ``purpose`` (which images it draws) are for tables and pages. ``needs`` names the facts
    (reading.pool) beside ``complete`` that `weigh` or `prefer` reads: dispute (I,), expected (J, I),
    discrepancy (P, I), entropy (I,), labels (J, I), agreement (J, J, I), and similarity for labels of
    classifiers or agreement of label maps. ``learns`` says what it takes from labels so far: accuracy (how
    reliable each model is), belief (that a model is the best, from similarities), queries (from single
    questions), votes (of classifiers alone, once there are labels), or never. ``options`` are its own, in
    addition to those of everything that draws, ``of_task`` more that apply in studies of one task,
    ``defaults`` the initial content of its definition; ``duels`` the options, by task, for duels of models;
    ``goals`` the values of `select --goal` that it serves; ``even`` says that each image of the pool is drawn
    with the same probability, so that labels of its draws represent the whole pool; ``pixels`` that it draws
    pixels, from facts about them, and neither weighs nor prefers images; ``source`` where it comes from.
    """

    name: str  # what `select --selector` takes
    title: str
    purpose: str
    source: str
    needs: tuple[str, ...] = ()
    weigh: Weigh | None = None  # (facts, options) -> (I,) weights, 0 or more: it draws in proportion to them
    prefer: Weigh | None = None  # (facts, options) -> (I,) numbers, the largest first; -inf is never drawn
    learns: Literal["never", "votes", "accuracy", "belief", "queries"] = "never"
    tasks: tuple[Task, ...] = BOTH  # those of the studies in which it draws
    options: tuple[str, ...] = ()
    of_task: Mapping[Task, tuple[str, ...]] = field(default_factory=lambda: _OF_TASK)
    defaults: JsonObject = field(default_factory=dict)
    duels: Mapping[Task, tuple[str, ...]] = field(default_factory=dict)
    goals: tuple[str, ...] = ()
    even: bool = False
    pixels: bool = False

    @property
    def chance(self) -> bool:
        """Return whether it draws with known probabilities, so that scores can be estimated."""
        return self.weigh is not None or self.pixels

    @property
    def adaptive(self) -> bool:
        """Return whether what it draws depends on the labels so far, whatever the task."""
        return self.learns not in ("never", "votes")

    @property
    def informed(self) -> bool:
        """Return whether it weighs what an answer says about which model is best."""
        return self.learns == "belief"

    @property
    def by_difference(self) -> bool:
        """Return whether how far models differ decides how often it draws an image, not only whether."""
        needs = set(self.needs)
        return "discrepancy" in needs or ("dispute" in needs and not needs & {"expected", "similarity"})

    def learns_of(self, task: Task) -> bool:
        """Return whether it learns from labels in a study of this task."""
        return self.adaptive or (self.learns == "votes" and task == "classification")

    def takes(self, task: Task, *, goal: bool = False) -> tuple[str, ...]:
        """Return the options of `select` that apply when it draws."""
        if self.pixels:
            return ("points", "goal", *DRAWN, *self.options)
        own = ("truth",) if self.learns_of(task) else self.options
        return ("budget", *DRAWN, *(("goal",) if goal else ()), *own, *self.of_task[task])
