"""Hold out classes: name them in the study, so that truth is read without them, and write training and test
truth on request.

Conventions: a holdout is a name and class names. Labels and maps are not stored again, because withholding is
a look-up table applied when a truth is read: `measure --holdout NAME` takes the mean over the kept classes
and ignores withheld pixels, for clean and corrupted sets alike. Written truth has pixel values for training
(0..K-1, 254 withheld, 255 void) and test (1 withheld, 0 kept, 255 void); ids in classes.json are these pixel
values.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path

from faultscape.classes.class_lists import table
from faultscape.errors import LabelMapError, OptionError, StudyError, counted
from faultscape.formats import png
from faultscape.maps import runs
from faultscape.progress import progress
from faultscape.reading.study import Study, opened
from faultscape.stressors.holdout import Holdout, hold_out, open_labels, preset_classes, training_labels
from faultscape.study.folder import put
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import part_name, shards
from faultscape.study.tables.logs import log
from faultscape.study.tables.stress_sets import add_holdout, drop_holdout
from faultscape.verbs.options import StressHoldoutOptions
from faultscape.verbs.stress.options import claim_place
from faultscape.verbs.stress.result import HeldOut

TRAINING = "training"
OPEN = "open"


def hold_out_classes(options: StressHoldoutOptions) -> HeldOut:
    """Enter the held-out classes, and write truth on request. Errors: OptionError, ClassesError and
    StudyError if that is impossible.
    """
    study = opened(options.study)
    root = study.root
    known = study.classes
    with study.writing():
        if study.classifies:
            raise OptionError("holdouts are for segmentation studies; this is a study of classifiers")
        if options.remove is not None:
            gone = drop_holdout(root, options.remove)
            log(root, "stress holdout", remove=options.remove)
            return HeldOut(options.study, options.remove, gone, len(known), removed=True)
        if bool(options.classes) == bool(options.preset):
            raise OptionError(
                "give the classes to hold out with either --classes a,b or --preset (s3-paper, s3-code)"
            )
        name = options.as_ or options.preset or "holdout"
        names = (
            preset_classes(options.preset, known)
            if options.preset
            else named_classes(options.classes, known.names)
        )
        found = hold_out(known, names)
        held = study.stress.holdouts.get(name)
        if held is not None and set(held) != set(found.withheld):
            raise OptionError(
                f"the study has a holdout {name!r} of {', '.join(held)}; name this one with --as NAME, "
                f"or remove that one with --remove {shlex.quote(name)}"
            )
        add_holdout(root, name, found.withheld)
        log(root, "stress holdout", name=name, classes=list(found.withheld))
    written = _write(study, found, options) if options.write else 0
    return HeldOut(options.study, name, found.withheld, len(found.kept), options.write or "", written)


def named_classes(words: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return the class names in comma-separated arguments: ``known`` names, which may contain commas, are
    matched longest first; others are taken as written.

    >>> named_classes(["sofa, couch, lounge,chair , stool"], ["chair", "sofa", "sofa, couch, lounge"])
    ['sofa, couch, lounge', 'chair', 'stool']
    """
    names: list[str] = []
    for word in words:
        parts = word.split(",")
        while parts:
            taken = next((n for n in range(len(parts), 1, -1) if ",".join(parts[:n]).strip() in known), 1)
            names.append(",".join(parts[:taken]).strip())
            parts = parts[taken:]
    return names


def _write(study: Study, found: Holdout, options: StressHoldoutOptions) -> int:
    """Write training and test truth of every labelled collected image, and the class list for training;
    return the number of images.
    """
    folder = Path(str(options.write))
    truth = study.truth(options.truth)
    claim_place(folder)
    where = label_maps.truth(study.root, truth)
    places = table(study.classes)
    written = 0
    images = [image for image in study.image_rows.values() if not image.parent]
    with progress("write", len(images)) as tick:
        for number, rows in shards(images).items():
            part = study.manifest(where).get(part_name(number))
            held = label_maps.read_maps(where, number, part) if part else {}
            for image in rows:
                if (code := held.get(image.id)) is not None:
                    try:
                        labels = runs.decode(code, places)
                    except LabelMapError as error:
                        raise StudyError(f"{truth}, image {image.id}: {error}") from None
                    put(
                        folder / TRAINING / f"{image.id}.png",
                        png.encode_pixels(training_labels(labels, found)),
                    )
                    put(folder / OPEN / f"{image.id}.png", png.encode_pixels(open_labels(labels, found)))
                    written += 1
                tick(1)
    if not written:
        raise StudyError(f"truth {truth!r} has no labels of collected images; there is nothing to write")
    kept = found.kept
    wide = len(kept) > 254
    classes = {
        "names": list(kept.names),
        "ids": list(range(len(kept))),
        "void": [65534, 65535] if wide else [254, 255],
        "colours": [f"#{r:02x}{g:02x}{b:02x}" for r, g, b in kept.colours],
    }
    put(folder / "classes.json", (json.dumps(classes, indent=1, ensure_ascii=False) + "\n").encode())
    print(
        f"{counted(written, 'image')}: {folder}/{TRAINING} (0..{len(kept) - 1}, withheld"
        f" {classes['void'][0]}, void {classes['void'][1]}) and {folder}/{OPEN} (0, 1, 255)"
    )
    return written
