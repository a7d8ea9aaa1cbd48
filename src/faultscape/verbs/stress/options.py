"""Options of `stress corrupt`, `stress blend`, `stress fog`, `stress holdout` and `stress sheet`."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from faultscape.arguments import Place
from faultscape.choices import Role
from faultscape.errors import OptionError, closest
from faultscape.study.folder import TEMPORARY, make_folder, put
from faultscape.verbs.given_options import refuse_empty

RUNNING = ("study", "write", "engine", "workers", "overlay_only", "review")  # options that change no image
FS_STATIC, VERSIONS = "fs-static", ("v1", "v2", "v3")
PRESETS = ("fishyscapes-v1", "fishyscapes-v2", "fishyscapes-v3", FS_STATIC)
_MOST = 5


NOTES = ".made.json"  # marks a folder that we wrote, and holds the digests of images that it has


def refuse_place(study: str, write: str | None) -> None:
    """Raise OptionError for an output folder inside the study, or with files and without our mark: its files
    could be mixed up with the output, or overwritten by it.
    """
    if not write:
        return
    folder = Path(write)
    if folder.resolve().is_relative_to(Path(study).resolve()):
        raise OptionError(f"--write {write}: is inside the study; give a folder outside it")
    with suppress(OSError):  # reported when it is written to
        held = [path.name for path in folder.iterdir() if not path.name.startswith(TEMPORARY)]
        if held and NOTES not in held:
            raise OptionError(
                f"--write {write}: has files ({min(held)}{', ...' if len(held) > 1 else ''}) and no {NOTES},"
                " the mark of `faultscape stress`; give a new or an empty folder"
            )


def claim_place(folder: Path) -> None:
    """Make an output folder and mark it as ours, so that the same line may write to it again."""
    make_folder(folder)
    if not (folder / NOTES).exists():
        put(folder / NOTES, b"{}")


@dataclass(frozen=True)
class CorruptOptions:
    """Which images to corrupt, how, and whether to write them too: see `stress corrupt`."""

    study: str
    set_: str | None = None
    preset: str | None = None
    corruption: tuple[str, ...] = ()
    severities: str | None = None
    seed: int = 0
    move_labels: bool = False
    truth: str | None = None
    frost_textures: str | None = None
    role: Role = "test"
    write: str | None = None
    engine: str = "processes"
    workers: int | None = None

    def __post_init__(self) -> None:
        refuse_empty(self)
        refuse_place(self.study, self.write)
        if self.seed < 0:
            raise OptionError(f"--seed must be a whole number, 0 or more; got {self.seed}")
        if self.truth is not None and not self.move_labels:
            raise OptionError("--truth names the labels that --move-labels moves; give both, or leave it out")


@dataclass(frozen=True)
class Blending:
    """Which objects are blended, where, and in what weather.

    Parameters
    ----------
    objects_per_frame
        The number of objects per image.
    ego
        Keep objects off this area: a mask file (above 0 on the ego vehicle), a class of the
        study, or a label number. Default: from the data set's layout (Cityscapes).
    known
        With fishyscapes-v3: the set to cut known objects (cars, persons, ...) from; default: labelled
        images of role train.
    smallest
        Leave out objects with fewer pixels.
    fog
        The probability of fog in an image, 0 to 1; default 0, with fs-static 0.2.
    depth
        A folder of depth maps by image id for fog (as for `stress fog`); default: estimated from pixel
        position.
    without
        A switched-off.csv, saved by the contact sheet of --review.
    version
        With fs-static: v1, v2 (default) or v3, so that the same frames can be compared under each.
    """

    objects_per_frame: int = 1
    ego: str | None = None
    known: str | None = None
    smallest: int = 400
    fog: float | None = None
    depth: Place | None = None
    without: Place | None = None
    version: str | None = None


@dataclass(frozen=True)
class BlendOptions:
    """Which objects to blend into which images, how, and what to write: see `stress blend`."""

    study: str
    preset: str
    set_: str | None = None
    objects: str | None = None
    edition: str | None = None
    seed: int = 0
    frames: int | None = None
    truth: str | None = None
    review: bool = False
    write: str | None = None
    overlay_only: bool = False
    engine: str = "processes"
    workers: int | None = None
    blending: Blending = Blending()

    def __post_init__(self) -> None:
        refuse_empty(self)
        refuse_place(self.study, self.write)
        how = self.blending
        if self.preset not in PRESETS:
            raise OptionError(
                f"--preset {self.preset!r} is not known; use"
                f" {', '.join(PRESETS)}.{closest(self.preset, PRESETS)}"
            )
        if how.version is not None and (self.preset != FS_STATIC or how.version not in VERSIONS):
            raise OptionError(
                f"--version must be one of {', '.join(VERSIONS)}, with --preset {FS_STATIC}; got "
                f"{how.version!r} with {self.preset}"
            )
        if how.fog is not None and not 0 <= how.fog <= 1:
            raise OptionError(f"--fog must be a probability, 0 to 1; got {how.fog}")
        numbers = {
            "seed": (self.seed, 0),
            "objects-per-frame": (how.objects_per_frame, 1),
            "smallest": (how.smallest, 1),
            "frames": (self.frames, 1),
        }
        if wrong := next(
            (name for name, (value, least) in numbers.items() if value is not None and value < least), None
        ):
            value, least = numbers[wrong]
            raise OptionError(f"--{wrong} must be a whole number, {least} or more; got {value}")
        if how.known is not None and self.blending_version != "v3":
            raise OptionError(
                f"--known has no effect: {self.preset} blends no known objects; use fishyscapes-v3, or "
                "fs-static with --version v3"
            )
        if how.depth is not None and not (how.fog if how.fog is not None else self.preset == FS_STATIC):
            raise OptionError(
                "--depth is used for fog, and no image is foggy; add --fog 0.2, or leave it out"
            )
        if self.review and self.write:
            raise OptionError(
                "--review only writes the contact sheet; leave out --write until the objects are chosen"
            )
        if self.overlay_only and not self.write:
            raise OptionError("--overlay-only needs --write DIR")

    @property
    def blending_version(self) -> str:
        """The version of the blending: v1, v2 or v3."""
        return self.blending.version or ("v2" if self.preset == FS_STATIC else self.preset.rpartition("-")[2])


@dataclass(frozen=True)
class FogOptions:
    """Which images to put into fog, how dense: see `stress fog`."""

    study: str
    set_: str | None = None
    depth: str | None = None
    beta: tuple[float, ...] = ()
    light: int = 210
    role: Role = "test"
    write: str | None = None
    engine: str = "processes"
    workers: int | None = None

    def __post_init__(self) -> None:
        refuse_empty(self)
        refuse_place(self.study, self.write)


def severities_of(text: str) -> tuple[int, ...]:
    """Return the severities in texts such as ``1-5``, ``3`` or ``1,3,5``, in order; OptionError for any
    other.

    >>> severities_of("1-3"), severities_of("5,1"), severities_of("4")
    ((1, 2, 3), (1, 5), (4,))
    """
    found: set[int] = set()
    for word in text.split(","):
        match = re.fullmatch(r"\s*(\d)(?:\s*-\s*(\d))?\s*", word)
        low, high = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 1 <= low <= high <= _MOST:
            raise OptionError(f"--severities {text!r}: severities are 1 to 5; write 1-5, 3 or 1,3,5")
        found.update(range(low, high + 1))
    return tuple(sorted(found))


@dataclass(frozen=True)
class HoldoutOptions:
    """Which classes to hold out, under which name, and where to write truth without them: see `stress
    holdout`.
    """

    study: str
    classes: tuple[str, ...] = ()
    preset: str | None = None
    as_: str | None = None
    truth: str | None = None
    write: str | None = None
    remove: str | None = None

    def __post_init__(self) -> None:
        refuse_empty(self)
        refuse_place(self.study, self.write)
        if self.remove is not None and any([self.classes, self.preset, self.as_, self.truth, self.write]):
            raise OptionError("--remove only removes a holdout; give it alone")
        if self.truth is not None and not self.write:
            raise OptionError("--truth names the labels that --write writes; give both, or leave it out")


@dataclass(frozen=True)
class SheetOptions:
    """Which made sets to show, and how many images of a blended one: see `stress sheet`."""

    study: str
    set_: tuple[str, ...] = ()
    images: int = 8

    def __post_init__(self) -> None:
        refuse_empty(self)
        if self.images < 1:
            raise OptionError(f"--images must be a whole number, 1 or more; got {self.images}")
