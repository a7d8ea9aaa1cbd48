"""What `train` returns: the network that it trained, or those of a sweep."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from shlex import quote

from faultscape.errors import counted
from faultscape.standings import ENOUGH


@dataclass(frozen=True)
class Trained:
    """A trained network: its folder, training time, and quality.

    ``found`` holds miou and nll (per pixel) on the validation images; {} without any.
    """

    study: str
    name: str
    folder: str  # STUDY/models/NAME
    backbone: str  # a name, or file.py:function
    head: str  # its kind of last layer, as --head names it
    classes: tuple[str, ...]  # names of the classes that it predicts
    withheld: tuple[str, ...]  # names of the study's classes that it does not learn
    images: int  # how many images it was trained on
    steps: int  # how many training steps
    loss: float  # training loss of the last step
    found: dict[str, float] = field(default_factory=dict)
    mean_field: float | None = None  # factor of a Gaussian process; None if it was not tuned
    exported: str = ""  # path of network.onnx or network.pt2; '' without --export
    new: bool = True  # False if it was trained before, with the same options and data
    seconds: float = 0.0  # training time, with that of runs that were killed; 0 if it is not known
    parent: str = ""  # the network that it continues on images of selections; '' for none
    selections: tuple[str, ...] = ()  # these selections
    new_images: int = 0  # how many of its images are theirs; the others are mixed in
    boxed: int = 0  # how many of its images have boxes and no mask
    maps: int = 0  # how many maps it brought into the study, which it joined

    @property
    def source(self) -> str:
        """The source for `predict`: the folder, or, if the backbone is your own code, that code in it."""
        file, colon, function = self.backbone.rpartition(":")
        return f"{self.folder}/backbone.py:{function}" if colon and file.endswith(".py") else self.folder

    def __repr__(self) -> str:
        without = f", without {', '.join(self.withheld)}" if self.withheld else ""
        how = (
            f"{self.backbone} with head {self.head},"
            f" {counted(len(self.classes), 'class', 'classes')}{without}"
        )
        lines = [f"{self.name}: {how}{'' if self.new else ' (already trained with these options)'}"]
        by_boxes = f", {self.boxed:,} of them by boxes" if self.boxed else ""
        took = f" in {_time(self.seconds)}" if self.new and self.seconds else ""
        lines.append(
            f"trained  {counted(self.steps, 'step')} on {counted(self.images, 'image')}{by_boxes}{took}; loss"
            f" {self.loss:.3g} at the end"
        )
        if not math.isnan(self.found.get("miou", math.nan)):
            lines.append(f"validation  mIoU {self.found['miou']:.3f}, NLL {self.found['nll']:.3f}")
        if self.mean_field is not None:
            off = " (the variance does not change probabilities)" if not self.mean_field else ""
            lines.append(f"mean-field factor  {self.mean_field:g}{off}: lowest validation NLL")
        if self.exported:
            lines.append(f"exported {self.exported}")
        if self.parent:
            old = counted(self.images - self.new_images, "old image")
            chosen = f"{counted(self.new_images, 'image')} of selection {', '.join(self.selections)}"
            lines.append(f"continues {self.parent} on {chosen}, half of each batch, and {old}")
            lines.append(f"joined the study with {counted(self.maps, 'map')}; its images do not judge it")
            draw = f"--goal order --budget {ENOUGH} --as {quote(self.name)}"
            lines.append(f"next: faultscape compare {quote(self.study)}")
            lines.append(f"then: faultscape select {quote(self.study)} {draw}")
        else:
            lines.append(
                f"next: faultscape predict {quote(self.study)} {quote(f'{self.name}={self.source}')}"
            )
        return "\n".join(lines)


@dataclass(frozen=True)
class Swept:
    """The networks of a sweep: the option, and each value's network."""

    study: str
    option: str  # what was swept: seed, or an option of the head
    networks: dict[str, Trained]  # {value of the option: its network}, in the order given

    def __repr__(self) -> str:
        lines = [f"{self.option:<14} network                          mIoU    NLL"]
        for value, one in self.networks.items():
            numbers = [one.found.get(key, math.nan) for key in ("miou", "nll")]
            lines.append(f"{value:<14} {one.name:<30} {_number(numbers[0])}  {_number(numbers[1])}")
        named = [quote(f"{one.name}={one.source}") for one in self.networks.values() if not one.parent]
        line = f"predict {quote(self.study)} {' '.join(named)}" if named else f"compare {quote(self.study)}"
        lines.append(f"next: faultscape {line}")
        if self.option == "seed":
            whole = next(iter(self.networks.values())).name.rpartition("-seed-")[0]
            lines.append(
                f"then: faultscape predict {quote(self.study)}"
                f" {quote(f'{whole}=ensemble:' + ','.join(one.name for one in self.networks.values()))}"
            )
        return "\n".join(lines)


def _number(value: float) -> str:
    return "   --" if math.isnan(value) else f"{value:.3f}"


def _time(seconds: float) -> str:
    """Return a time in readable units.

    >>> _time(12), _time(700), _time(8000)
    ('12 s', '12 min', '2.2 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
