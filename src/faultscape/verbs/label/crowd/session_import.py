"""Import a folder of sessions: each person's labels become a truth, and labels of training images are
compared with the known ones.

Conventions: sessions.csv lists whose folders there are; its names can only name folders inside that folder. A
session without drawings is not an error. Labels of training images are compared but not stored, because these
images already have a label.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from faultscape.classes.class_lists import narrow, table
from faultscape.classes.mapping import of_file, pairs_of
from faultscape.errors import CorpusError, FaultscapeError, LabellingError, LabelMapError, counted
from faultscape.labelling import answers
from faultscape.labelling.catalogue import FORMATS, Format
from faultscape.labelling.people.annotator_agreement import mask_agreement, mask_counts, miou_of_counts
from faultscape.maps import runs
from faultscape.reading.study import Study
from faultscape.study.folder import check_name
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image, part_name
from faultscape.verbs.label import masks
from faultscape.verbs.label.crowd.result import SessionsImported, Taken
from faultscape.verbs.label.crowd.session_export import COLUMNS, FILE, TRAINING
from faultscape.verbs.label.mask_files import MaskRules, Reader, inner_folder, readers
from faultscape.verbs.label.tool_files import bundles, read_bundles

if TYPE_CHECKING:
    from faultscape.verbs.options import LabelImportOptions


def import_(study: Study, options: LabelImportOptions, form: Format | None) -> SessionsImported:
    """Import everything people drew in a folder of sessions; LabellingError for an invalid sessions.csv, and
    if nothing could be imported.
    """
    folder = Path(options.source)
    listed = _listed(folder / FILE)
    taken = list[Taken]()
    first = None
    for who, names in listed.items():
        truth = f"{options.truth}-{check_name(who, 'annotator')}"
        one = Taken(who, truth, 0, 0, 0, 0, sum(name != TRAINING for name in names))
        for name in names:
            where = folder / who / name
            if name == TRAINING or not where.is_dir():
                continue
            try:
                of_session = replace(options, source=str(where), truth=truth)
                found = masks.import_(study, of_session, form, masks.OnePerson())
            except masks.NothingThereError:
                continue
            except (LabellingError, LabelMapError, CorpusError) as error:
                first = first or error
                print(f"{where}: skipped: {error}")
                continue
            for line in (*found.copies, *found.unusual):
                print(f"{where}: {line}")
            drawn = found.new + found.replaced + found.unchanged + found.failures
            one = replace(
                one,
                new=one.new + found.new,
                replaced=one.replaced + found.replaced,
                unchanged=one.unchanged + found.unchanged,
                failures=one.failures + found.failures,
                begun=one.begun + bool(drawn),
                first=one.first or found.first,
            )
        if TRAINING in names and (folder / who / TRAINING).is_dir():
            training, mean = _compared(study, folder / who / TRAINING, options, form)
            one = replace(one, training=training, mean=mean)
        taken.append(one)
    if first is not None and not any(one.begun or one.training for one in taken):
        raise first
    if not any(one.begun or one.training for one in taken):
        raise LabellingError(
            f"{folder}: contains no masks yet; put them into the folders of the sessions, then run this"
            " command again"
        )
    return SessionsImported(tuple(taken))


def _listed(path: Path) -> dict[str, list[str]]:
    """Return {annotator: folders} of a file; LabellingError for names that are not folders inside its own
    folder.
    """
    rows, wrong = answers.rows(path, COLUMNS)
    if wrong:
        raise LabellingError(f"{path}, line {wrong[0][0]}: {wrong[0][2]}")
    out: dict[str, list[str]] = {}
    for line, (who, name, _) in rows:
        for word, what in ((who, "person"), (name, "session")):
            try:
                check_name(word, what)
            except FaultscapeError as error:
                raise LabellingError(f"{path}, line {line}: {error}") from None
        held = out.setdefault(who, [])
        held += [name] if name not in held else []
    if not out:
        raise LabellingError(f"{path}: names no one; create it with `label export --annotators`")
    return out


def _compared(
    study: Study, folder: Path, options: LabelImportOptions, form: Format | None
) -> tuple[tuple[tuple[str, float], ...], float]:
    """Return (image, mIoU with the known label) of each training image that was drawn on, and the mIoU over
    all of them.
    """
    images = study.image_rows
    classes = study.classes
    places = narrow(table(classes))
    try:
        read = _read(study, folder, images, options, form)
    except FaultscapeError as error:
        print(f"{folder}: skipped: {error}")
        return (), float("nan")
    each = list[tuple[str, float]]()
    maps = list[tuple[tuple[int, int], list[np.ndarray]]]()
    lost = 0
    known = label_maps.truth(study.root, options.truth)
    parts = study.manifest(known)
    for id_, reader in sorted(read.items()):
        part = parts.get(part_name(images[id_].shard))
        code = label_maps.read_map(known, images[id_].shard, part, id_) if part else None
        if code is None:
            continue
        try:
            both = [runs.decode(code, places), places[reader(Counter())]]
            counts, _ = mask_counts([((0, 1), both)], 2, len(classes))
        except (LabelMapError, LabellingError):
            lost += 1
            continue
        each.append((id_, float(miou_of_counts(counts[0, 1]))))
        maps.append(((0, 1), both))
    if lost:
        print(f"{folder}: {counted(lost, 'label of training', 'labels of training')} cannot be used")
    if not each:
        return (), float("nan")
    return tuple(each), float(mask_agreement(*mask_counts(maps, 2, len(classes))).miou[0, 1])


def _read(
    study: Study,
    folder: Path,
    images: Mapping[str, Image],
    options: LabelImportOptions,
    form: Format | None,
) -> dict[str, Reader]:
    """Return {image: reader of its label} of a folder that `label import` would read."""
    classes = study.classes
    formats = [form] if form else FORMATS
    if found := bundles(inner_folder(folder), [one for one in formats if one.kind == "bundle"]):
        return {
            id_: reader
            for mine in read_bundles(found, images, classes, options.pattern).readers.values()
            for id_, reader in mine.items()
        }
    masks_of = [one for one in formats if one.kind == "masks"]
    rules = MaskRules(of_file(options.labels, classes, None), shared=pairs_of(options.labels or ""))
    return readers(folder, images, options.pattern, masks_of, classes, rules).readers
