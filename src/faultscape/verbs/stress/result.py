"""What `stress` returns: the sets that it made, or the classes that it held out."""

from __future__ import annotations

from dataclasses import dataclass, field
from shlex import quote

from faultscape.errors import counted
from faultscape.terminal_lines import wrapped


@dataclass(frozen=True)
class Stressed:
    """The sets that a command made, and how many of their images are new, changed or removed."""

    study: str
    kind: str  # ``corrupt``, ``blend`` or ``fog``
    base: str  # name of the set that their images were made from
    sets: tuple[str, ...]  # names of these sets, including existing ones
    images: int  # images in all these sets
    new: int  # images that were not there before
    changed: int  # images that are made differently than before
    left: int  # images that are no longer part of these sets
    folder: str = ""  # where --write put the images; '' without
    written: int = 0  # how many images it put there

    def __repr__(self) -> str:
        sets = (
            f"{counted(len(self.sets), 'set')} of {self.base}:"
            f" {', '.join(self.sets[:3])}{', ...' if len(self.sets) > 3 else ''}"
        )
        parts = [
            f"{self.new:,} new" if 0 < self.new < self.images else "",
            f"{self.changed:,} changed" if self.changed else "",
            f"{self.left:,} removed" if self.left else "",
            "unchanged" if not self.new + self.changed + self.left else "",
        ]
        lines = wrapped(
            f"{self.study}: {sets} ({', '.join([f'{self.images:,} images', *filter(None, parts)])})"
        )
        lines += [f"written  {counted(self.written, 'image')} to {self.folder}"] if self.folder else []
        return "\n".join(lines)


@dataclass(frozen=True)
class Blends(Stressed):
    """The blended sets that a command made, how many of their pixels are anomalous, and how many of their
    objects were redrawn because they could hardly be seen or fell into pieces.

    ``pixels`` holds {set: (anomalous, known, void pixels)}, ``redrawn`` {set: objects}.
    """

    pixels: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    redrawn: dict[str, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        lines = [super().__repr__()]
        for name, (anomalous, known, void) in self.pixels.items():
            share = anomalous / (anomalous + known) if anomalous + known else float("nan")
            beside = f", {void:,} void" if void else ""
            redrawn = self.redrawn.get(name, 0)
            again = f"; {counted(redrawn, 'object')} redrawn" if redrawn else ""
            lines += wrapped(
                f"{name}: {anomalous:,} anomalous and {known:,} known pixels"
                f" ({100 * share:.2f} % anomalous){beside}{again}",
                "  ",
                "    ",
            )
        return "\n".join(lines)


@dataclass(frozen=True)
class Reviewed:
    """The contact sheet that `stress blend --review` wrote, and how many objects are on it."""

    study: str
    page: str  # path of the contact sheet
    objects: int  # how many cut-outs it shows

    def __repr__(self) -> str:
        lines = [
            f"{self.study}: {counted(self.objects, 'object')} on {self.page}",
            *wrapped(
                "next: open it, switch off what is occluded or cut, save switched-off.csv, then run the"
                " same line with `--without switched-off.csv` instead of `--review`"
            ),
        ]
        return "\n".join(lines)


@dataclass(frozen=True)
class HeldOut:
    """The classes held out under a name, how many are kept, and what was written; or the classes of a removed
    holdout.
    """

    study: str
    name: str  # name of the holdout
    classes: tuple[str, ...]  # names of the classes that it withholds
    kept: int  # how many classes remain
    folder: str = ""  # where --write put the truth without them; '' without
    written: int = 0  # images whose truth it put there
    removed: bool = False  # whether this command removed the holdout

    def __repr__(self) -> str:
        if self.removed:
            return f"{self.study}: holdout {self.name} of {', '.join(self.classes)} was removed"
        lines = [
            (
                f"{self.study}: holdout {self.name} withholds {', '.join(self.classes)}; "
                f"{counted(self.kept, 'class remains', 'classes remain')}"
            )
        ]
        lines += (
            [f"written  truth of {counted(self.written, 'image')} to {self.folder}"] if self.folder else []
        )
        return "\n".join(
            [*lines, f"next: faultscape measure {quote(self.study)} --holdout {quote(self.name)}"]
        )


@dataclass(frozen=True)
class Sheet:
    """The contact sheet that was written, and how many sets and images are on it."""

    path: str
    sets: int  # how many made sets it shows
    images: int  # how many images it shows

    def __repr__(self) -> str:
        return (
            f"{self.path}: {counted(self.images, 'image')} of {counted(self.sets, 'set')}; open it in a"
            " browser"
        )
