"""The objects of a blended set: read from a folder, drawn by code, or cut out of training images; stored in
the study by digest.

Conventions: an existing set keeps its objects, whatever its folder now contains. An object of a class that
the study knows is not an anomaly (Blum et al. 2021 use only objects of classes that Cityscapes does not
have).
"""

from __future__ import annotations

import csv
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from faultscape.corpus.objects.cutout_files import write_cutout
from faultscape.corpus.objects.folder import read_cutouts
from faultscape.corpus.stress.files import read_object
from faultscape.errors import CorpusError, OptionError, counted
from faultscape.nouns import Classes
from faultscape.progress import progress
from faultscape.stressors.fs_static import FS_STATIC_CLASSES, is_of_fs_static
from faultscape.stressors.objects.cutout import Cutout
from faultscape.stressors.objects.drawn import drawn_cutouts
from faultscape.study.folder import put
from faultscape.study.settings import Settings
from faultscape.study.tables.corpus import Image
from faultscape.study.tables.stress_sets import StressSet
from faultscape.verbs.options import StressBlendOptions
from faultscape.verbs.stress.blends.known_objects import known_objects
from faultscape.verbs.stress.options import FS_STATIC, Blending, blending_version

FOLDER = "objects"  # folder in the study
_SAME = (  # names of the same class in different data sets
    ("person", "pedestrian", "people"),
    ("bicycle", "bike", "bicyclist"),
    ("motorcycle", "motorbike"),
    ("car", "automobile"),
    ("aeroplane", "airplane", "plane"),
    ("sofa", "couch"),
    ("tvmonitor", "tv", "television"),
    ("traffic sign", "stop sign", "sign_symbol"),
    ("diningtable", "dining table"),
    ("pottedplant", "potted plant"),
)


@dataclass(frozen=True)
class Objects:
    """The cut-outs of a set."""

    cutouts: tuple[Cutout, ...]

    @property
    def digests(self) -> list[str]:
        """Their digests, sorted."""
        return sorted(cutout.digest for cutout in self.cutouts)


def find_objects(
    root: Path,
    settings: Settings,
    images: Sequence[Image],
    options: StressBlendOptions,
    truth: str,
    made: Mapping[str, StressSet],
) -> Objects:
    """Return the objects to blend; for existing sets (``made``), the objects that they have. Errors:
    CorpusError if there are no usable ones.
    """
    held = next((one for one in made.values() if one.kind == "blend"), None)
    if held is not None:
        stored = held.parameters.get("objects")
        folder = str((root / FOLDER).absolute())
        found = Objects(
            tuple(read_object(folder, str(digest)) for digest in (stored if isinstance(stored, list) else []))
        )
        _refuse_switched_off(options, found, [*made])
        if differ := [
            word
            for word in ("smallest", "known")
            if (given := getattr(options.blending, word)) != getattr(Blending(), word)
            and given != held.line.get(word)
        ]:
            print(
                f"--{differ[0]} chooses objects, but the set exists and keeps its own; give --edition "
                "NAME to make a new set"
            )
        if options.objects and {one.digest for one in _offered(options, settings, lambda _: None)} - set(
            found.digests
        ):
            print(
                f"{options.objects} has objects that are not in the set, which keeps its own; give "
                "--edition NAME to make a new set"
            )
        return found
    cutouts = _offered(options, settings, print)
    off = switched_off(os.fspath(options.blending.without)) if options.blending.without else set()
    if unknown := sorted(off - {cutout.digest for cutout in cutouts}):
        raise OptionError(
            f"--without {options.blending.without}: {counted(len(unknown), 'object')} in it "
            f"{'is' if len(unknown) == 1 else 'are'} not among these objects (first: {unknown[0]})"
        )
    cutouts = [cutout for cutout in cutouts if cutout.digest not in off]
    if blending_version(options) == "v3":
        known = [cutout for cutout in cutouts if cutout.use == "known"] or known_objects(
            root, settings, images, options, truth
        )
        cutouts = [cutout for cutout in cutouts if cutout.use != "known"] + known
    if not cutouts:
        raise CorpusError("all objects are switched off; keep at least one")
    return Objects(tuple({cutout.digest: cutout for cutout in cutouts}.values()))


def _refuse_switched_off(options: StressBlendOptions, found: Objects, sets: Sequence[str]) -> None:
    """Raise OptionError if an existing set has objects that the command switches off: they would stay,
    contrary to expectation.
    """
    if options.blending.without is None or options.review:
        return
    if kept := switched_off(os.fspath(options.blending.without)) & {*found.digests}:
        remove = " ".join(
            ["faultscape collect", shlex.quote(options.study), *(f"--remove '{name}/*'" for name in sets)]
        )
        raise OptionError(
            f"--without {options.blending.without}: {counted(len(kept), 'object')} in it "
            f"{'is' if len(kept) == 1 else 'are'} part of the set, which keeps its objects; give "
            f"--edition NAME to make a set without them, or remove this one first: {remove}"
        )


def keep_objects(root: Path, objects: Objects) -> None:
    """Store the objects that the study does not have yet."""
    folder = root / FOLDER
    todo = [cutout for cutout in objects.cutouts if not (folder / f"{cutout.digest}.png").is_file()]
    with progress("objects", len(todo)) as tick:
        for cutout in todo:
            put(folder / f"{cutout.digest}.png", write_cutout(cutout))
            tick(1)


def switched_off(file: str) -> set[str]:
    """Return the digests that a CSV file, saved by the contact sheet, switches off; OptionError for any other
    file.
    """
    try:
        with Path(file).open(encoding="utf-8-sig", newline="") as lines:
            rows = list(csv.DictReader(lines))
    except OSError as error:
        raise OptionError(
            f"--without {file}: {error.strerror}; expected switched-off.csv, as the contact sheet of --review"
            " saves it"
        ) from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise OptionError(
            f"--without {file}: is not a CSV file ({error}); expected switched-off.csv, as the contact "
            "sheet of --review saves it"
        ) from None
    if rows and "object" not in rows[0]:
        raise OptionError(
            f"--without {file}: expected a column object, as the contact sheet of --review saves it"
        )
    return {str(row["object"]).strip() for row in rows if row.get("object")}


def known_words(classes: Classes) -> frozenset[str]:
    """Return the lowercase words for the classes of a list: names, synonyms, and names in other data sets.

    >>> words = known_words(Classes(("object--vehicle--motorcycle", "Pedestrian"), (0, 1), ()))
    >>> sorted({"motorbike", "person", "horse"} & words)
    ['motorbike', 'person']
    """
    names = [name.rpartition("--")[2] for name in classes.names] + [
        word for words in classes.synonyms.values() for word in words
    ]
    own = {name.casefold() for name in names}
    return frozenset(own.union(*(same for same in _SAME if own & set(same))))


def _offered(options: StressBlendOptions, settings: Settings, say: Callable[[str], object]) -> list[Cutout]:
    """Return the cut-outs in the given folder, or drawn ones, of classes that the preset uses and the study
    does not know.
    """
    found = (
        list(read_cutouts(options.objects, smallest=options.blending.smallest, say=say).cutouts)
        if options.objects
        else drawn_cutouts()
    )
    words = known_words(settings.class_list)
    familiar = [cutout for cutout in found if cutout.use == "anomaly" and cutout.class_.casefold() in words]
    held = {cutout.digest for cutout in familiar}
    cutouts = [cutout for cutout in found if cutout.digest not in held]
    classes = ", ".join(sorted({cutout.class_ for cutout in familiar}))
    if found and not cutouts:
        raise CorpusError(
            f"all {len(found):,} objects are of classes that the study knows ({classes}), so none is an"
            " anomaly; give others, or mark known objects with use known in objects.csv"
        )
    if familiar:
        say(
            f"{counted(len(familiar), 'object')} of {len(found):,} left out, because the study knows "
            f"their classes: {classes}"
        )
    if options.preset != FS_STATIC:
        return cutouts
    mine = [cutout for cutout in cutouts if cutout.use == "known" or is_of_fs_static(cutout)]
    if not mine:
        raise CorpusError(
            f"{options.preset} takes objects of the classes {', '.join(FS_STATIC_CLASSES)}, and"
            f" {options.objects or 'what is drawn'} has none of them that the study does not know; name the"
            " classes by folders or in objects.csv"
        )
    if len(mine) < len(cutouts):
        say(f"{options.preset}: {len(mine):,} of these {len(cutouts):,} objects are of its twelve classes")
    return mine
