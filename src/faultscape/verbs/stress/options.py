"""The options of `stress` that belong together, and what they mean."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from faultscape.arguments import Place
from faultscape.errors import OptionError
from faultscape.study.folder import TEMPORARY, make_folder, put

if TYPE_CHECKING:
    from faultscape.verbs.options import StressBlendOptions

FS_STATIC = "fs-static"
VERSIONS = ("v1", "v2", "v3")
PRESETS = ("fishyscapes-v1", "fishyscapes-v2", "fishyscapes-v3", FS_STATIC)
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
    if folder.is_file():
        raise OptionError(f"--write {write}: is a file; give a new or an empty folder")
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
class Blending:
    """Which objects are blended, where, and in what weather.

    Parameters
    ----------
    objects_per_frame
        The number of objects per image.
    textures
        A folder of images of other things: shapes cut out of them are blended too, of a third of them each
        for training, validation and test.
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
    keep_flagged
        Keep objects that can hardly be seen or fell into pieces; by default they are redrawn.
    """

    objects_per_frame: int = 1
    textures: Place | None = None
    ego: str | None = None
    known: str | None = None
    smallest: int = 400
    fog: float | None = None
    depth: Place | None = None
    without: Place | None = None
    version: str | None = None
    keep_flagged: bool = False


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
        if not 1 <= low <= high <= 5:
            raise OptionError(f"--severities {text!r}: severities are 1 to 5; write 1-5, 3 or 1,3,5")
        found.update(range(low, high + 1))
    return tuple(sorted(found))


def blending_version(options: StressBlendOptions) -> str:
    """Return the version of the blending: v1, v2 or v3."""
    return options.blending.version or (
        "v2" if options.preset == FS_STATIC else options.preset.rpartition("-")[2]
    )
