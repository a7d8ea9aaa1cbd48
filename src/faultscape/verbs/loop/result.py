"""What `loop` returns: the rounds so far, and what to do next."""

from __future__ import annotations

import math
from dataclasses import dataclass

from faultscape.errors import counted

FAILS = 0.6  # below this score an image is a failure: Yan et al. 2021, Fig. 11


@dataclass(frozen=True)
class Round:
    """A round that is complete: ``network`` continued its ``parent`` on ``learnt`` images, and both were
    compared on ``judged`` drawn ones.

    ``gain`` is the child's mean score minus the parent's over all images that trained neither, [x, low, high]
    with a 95 % interval. Of the judged images, ``cured`` are failures of the parent alone, ``kept`` those of
    both, and ``new`` those of the child alone.
    """

    network: str  # its name
    parent: str  # the network that it continues
    learnt: int  # images that it learnt from
    judged: int  # drawn images that both were compared on
    hours: float  # of labelling, at the usual time for a mask
    seconds: float  # of training; NaN where that is not known
    gain: list[float]  # [x, low, high], of scores from 0 to 1
    cured: tuple[str, ...]  # images
    kept: tuple[str, ...]  # images
    new: tuple[str, ...]  # images

    def __repr__(self) -> str:
        x, low, high = (100 * end for end in self.gain)
        gain = f"{x:+.1f} points of mIoU over {self.parent} [{low:+.1f}, {high:+.1f}]"
        if math.isnan(x):
            gain = f"too few judged images to say what it gained from {self.parent}"
        took = "" if math.isnan(self.seconds) else f", {self.seconds:,.0f} s of training"
        return (
            f"{self.network}: {gain}; learnt from"
            f" {counted(self.learnt, 'image')}, judged on {self.judged} ({self.hours:.0f} h of labelling"
            f"{took}); failures: {len(self.cured)} cured, {len(self.kept)} kept,"
            f" {len(self.new)} new"
        )


@dataclass(frozen=True)
class Looped:
    """The rounds of a loop, and where it stands: ``waits`` says for what, '' where nothing is left to do,
    ``next`` is the line to type then.
    """

    study: str
    model: str  # the network that the first round continued
    rounds: tuple[Round, ...]  # those that are complete
    waits: str = ""
    next: str = ""

    def __repr__(self) -> str:
        lines = [repr(one) for one in self.rounds]
        lines += [self.waits] if self.waits else []
        lines += [f"next: {self.next}"] if self.next else []
        return "\n".join(lines)
