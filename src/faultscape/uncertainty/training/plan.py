"""The training plan of a network: how long, at which rate, on which crops.

Conventions: a plan is in ``epochs``, or in ``steps`` if given. Sizes are (width, height) in pixels; a crop
that is larger than its image is padded with void. The rate rises over ``warm_up`` epochs, at most half of the
steps, and then falls: polynomial r (1 - t)^power, cosine r (1 + cos pi t) / 2, or constant, for t from 0 to
1. Fast weights (BatchEnsemble) learn ``fast_rate`` times as fast.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import get_args

from faultscape.choices import ClassWeights, Optimiser, Schedule
from faultscape.errors import OptionError

Size = tuple[int, int]


@dataclass(frozen=True)
class CompletePlan:
    """How long, at which rate and on what a network is trained, with every number decided; ``size`` is the
    size to which images are first resized, None for their own, and ``scale`` a range of random factors after
    it.
    """

    epochs: float = 100.0
    steps: int = 0
    batch: int = 8
    rate: float = 1e-4
    schedule: Schedule = "polynomial"
    power: float = 0.9
    warm_up: float = 0.0
    optimiser: Optimiser = "adamw"
    weight_decay: float = 0.01
    momentum: float = 0.9
    gradient_norm: float = 1.0
    size: Size | None = None
    crop: Size = (512, 512)
    scale: tuple[float, float] = (0.5, 2.0)
    flip: bool = True
    fast_rate: float = 2.0
    class_weights: ClassWeights = "none"
    outside_weight: float = 1.0
    validate_every: float = 1.0
    seed: int = 0

    def check(self) -> None:
        """Raise OptionError for the first invalid number."""
        positive = {
            **({"steps": self.steps} if self.steps else {"epochs": self.epochs}),
            "batch": self.batch,
            "rate": self.rate,
            "gradient_norm": self.gradient_norm,
            "fast_rate": self.fast_rate,
        }
        for name, value in positive.items():
            if not (math.isfinite(value) and value > 0):
                raise OptionError(f"--{name.replace('_', '-')} is above 0; got {value:g}")
        for name, value in {
            "warm_up": self.warm_up,
            "weight_decay": self.weight_decay,
            "validate_every": self.validate_every,
            "seed": self.seed,
        }.items():
            if not (math.isfinite(value) and value >= 0):
                raise OptionError(f"--{name.replace('_', '-')} is 0 or more; got {value:g}")
        if not 0 < self.scale[0] <= self.scale[1] <= 20:
            raise OptionError(
                f"--scale is two factors between 0 and 20, the smaller first; got {self.scale[0]:g} and"
                f" {self.scale[1]:g}"
            )
        for name, kind, value in (
            ("schedule", Schedule, self.schedule),
            ("optimiser", Optimiser, self.optimiser),
            ("class-weights", ClassWeights, self.class_weights),
        ):
            if value not in get_args(kind):
                raise OptionError(f"--{name} {value!r} is not known; use {', '.join(get_args(kind))}")

    def steps_an_epoch(self, images: int) -> int:
        """Return the number of steps in one epoch over this many images; images that do not fill a batch are
        left out until another epoch.
        """
        return max(1, images // self.batch)

    def all_steps(self, images: int) -> int:
        """Return the total number of steps.

        >>> CompletePlan(epochs=2, batch=4).all_steps(10), CompletePlan(steps=7).all_steps(10)
        (4, 7)
        """
        return self.steps or max(1, round(self.epochs * self.steps_an_epoch(images)))

    def rate_at(self, step: int, images: int) -> float:
        """Return the rate of a step, counted from 0.

        >>> plan = CompletePlan(steps=11, rate=1.0, power=1.0)
        >>> plan.rate_at(0, 8), round(plan.rate_at(5, 8), 3)
        (1.0, 0.545)
        """
        total = self.all_steps(images)
        rising = min(round(self.warm_up * self.steps_an_epoch(images)), total // 2)
        if step < rising:
            return self.rate * (step + 1) / rising
        done = (step - rising) / max(1, total - rising)
        match self.schedule:
            case "polynomial":
                return self.rate * (1 - done) ** self.power
            case "cosine":
                return self.rate * (1 + math.cos(math.pi * done)) / 2
            case _:
                return self.rate
