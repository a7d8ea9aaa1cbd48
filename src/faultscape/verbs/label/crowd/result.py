"""What `label export --annotators`, `label import` of its folder and `label consensus` report.

Conventions: light, no heavy imports. mIoU is NaN if none is defined, shown as a dash.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from faultscape.errors import counted
from faultscape.terminal_lines import wrapped
from faultscape.verbs.label.result import already_labelled, next_lines

_SHOWN = 20  # most images to name


def _miou(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3f}"


@dataclass(frozen=True)
class SessionsExported:
    """What `label export --annotators` wrote: for each person how many images in how many sessions."""

    folder: str
    people: tuple[tuple[str, int, int], ...]  # (annotator, images, sessions) of each
    images: int  # images to label, each counted once
    overlap: int  # how many people label each image
    training: int  # labelled images that everyone labels first
    format: str  # name of the label format
    labelled: int = 0  # images of the selection that have a label already
    then: str = ""  # the command that imports the labels
    says: str = ""

    def __repr__(self) -> str:
        if not self.images:
            return f"no images to label; nothing was written{already_labelled(self.labelled)}"
        by = f", each by {self.overlap} people" if self.overlap > 1 else ""
        lines = wrapped(f"{counted(self.images, 'image')} to label in {self.folder} ({self.format}){by}")
        lines += [
            f"  {who}: {counted(number, 'image')} in {counted(sessions, 'session')}"
            for who, number, sessions in self.people
        ]
        if self.training:
            lines.append(f"  training for everyone first: {counted(self.training, 'labelled image')}")
        return "\n".join([*lines, *next_lines(self.says, self.then)])


@dataclass(frozen=True)
class Taken:
    """What one annotator delivered: labels added and replaced, how many could not be used, how many sessions
    were started, and for training images (image, mIoU with the known label); ``first`` is the reason for the
    first unusable label.
    """

    annotator: str
    truth: str  # where these labels are stored: the truth and the annotator's name
    new: int
    replaced: int
    failures: int  # labels that cannot be used
    begun: int  # sessions with at least one label
    sessions: int  # all sessions except training
    training: tuple[tuple[str, float], ...] = ()
    mean: float = float("nan")  # mIoU of training images
    first: str = ""
    unchanged: int = 0  # images that had the same label already


@dataclass(frozen=True)
class SessionsImported:
    """What `label import` read from a folder of sessions, person by person."""

    people: tuple[Taken, ...]  # one for each annotator of the folder, also those without a label

    def __repr__(self) -> str:
        return "\n".join(line for one in self.people for line in _lines(one))


def _lines(one: Taken) -> list[str]:
    parts = [
        f"{counted(one.new, 'image')} added" if one.new else "",
        f"{one.replaced} replaced" if one.replaced else "",
        f"{one.unchanged} unchanged" if one.unchanged else "",
        f"{one.failures} not usable (failures.csv; the first: {one.first})" if one.failures else "",
    ]
    begun = f"; {one.begun} of {counted(one.sessions, 'session')} started" if one.begun < one.sessions else ""
    lines = [f"{one.annotator}, truth {one.truth}: {', '.join(filter(None, parts)) or 'nothing new'}{begun}"]
    if one.training:
        worst = min(one.training, key=lambda row: (2.0 if math.isnan(row[1]) else row[1], row[0]))
        lines.append(
            f"  training: mIoU {_miou(one.mean)} with the known labels of"
            f" {counted(len(one.training), 'image')}, lowest {_miou(worst[1])} on {worst[0]}"
        )
    return lines


@dataclass(frozen=True)
class Consensus:
    """What `label consensus` wrote: labels added and replaced, images that too few people labelled or that
    could not be merged, images to discuss, and how far each pair of annotators agrees.

    ``discuss`` holds (image, share of disputed pixels, mean mIoU over pairs), the lowest mIoU first.
    ``pairs`` holds (one, other, mIoU, images in common) for each pair of annotators. mIoU is NaN if
    undefined.
    """

    truth: str  # name under which the consensus is stored
    of: tuple[str, ...]  # the truths that were merged, in the order of their names
    new: int  # images that had no consensus under this name
    replaced: int  # images that had a different one, which is replaced
    alone: int  # images left out, because fewer than ``least`` people labelled them
    failures: int  # images whose labels cannot be merged
    discuss: tuple[tuple[str, float, float], ...]
    pairs: tuple[tuple[str, str, float, int], ...]
    least: int = 2  # how many people must have labelled an image
    first: str = ""  # why the first image that failed could not be merged
    unchanged: int = 0  # images that had the same consensus already
    marks: str = ""  # how many marks are open on the masks that were merged or left out, or ''

    def __repr__(self) -> str:
        parts = [
            f"{counted(self.new, 'image')} added" if self.new else "",
            f"{self.replaced} replaced" if self.replaced else "",
            f"{self.unchanged} unchanged" if self.unchanged else "",
            f"{self.failures} not usable (failures.csv; the first: {self.first})" if self.failures else "",
            (
                f"{counted(self.alone, 'image')} left out (labelled or checked by fewer than"
                f" {counted(self.least, 'person', 'people')})"
                if self.alone
                else ""
            ),
        ]
        lines = wrapped(
            f"truth {self.truth}, by vote of {', '.join(self.of)}:"
            f" {', '.join(filter(None, parts)) or 'nothing new'}"
        )
        lines += [
            f"  {one} and {other}: mIoU {_miou(miou)} on {counted(images, 'image')}"
            for one, other, miou, images in self.pairs
        ]
        if self.marks:
            lines += wrapped(
                f"{self.marks}: discuss and resolve them on the Check masks page of `faultscape label serve`"
            )
        if self.discuss:
            lines.append(f"{counted(len(self.discuss), 'image')} to discuss, largest disagreement first:")
            lines += [
                f"  {image}: {100 * share:.1f} % of pixels disputed, mIoU {_miou(miou)}"
                for image, share, miou in self.discuss[:_SHOWN]
            ]
            lines += [f"  and {len(self.discuss) - _SHOWN} more"] if len(self.discuss) > _SHOWN else []
        return "\n".join(lines)
