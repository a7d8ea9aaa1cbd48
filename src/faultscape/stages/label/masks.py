"""Labels of label maps: photos and masks out for a tool that draws, and masks, LabelMe files and discards back in.

Conventions: masks and photos lie in folders; a label has its photo's size.
"""

from __future__ import annotations

import errno
import os
import shlex
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

from faultscape.classes.class_lists import allowed, table
from faultscape.classes.mapping import of_label_ids
from faultscape.corpus.matches import fit, one_kind
from faultscape.corpus.photos import read_photo
from faultscape.corpus.sources import find
from faultscape.errors import CorpusError, ImageError, LabellingError, LabelMapError, OptionError, counted
from faultscape.formats import png
from faultscape.formats.pictures import read_rgb
from faultscape.labelling import discards
from faultscape.labelling.catalogue import FORMATS, MaskFormat, places_of, plain_errors, prepared_files, read_label, write_label
from faultscape.maps import runs
from faultscape.maps.resize import nearest
from faultscape.nouns import Classes
from faultscape.prediction.sources.folder import check_values
from faultscape.progress import progress
from faultscape.stages import evidence, fill
from faultscape.stages.evidence import current, tell_discards
from faultscape.stages.label.options import ExportOptions, ImportOptions
from faultscape.stages.label.result import Exported, Imported, import_line
from faultscape.study.answers.labels import Answers
from faultscape.study.folder import make_folder, put, refuse_twin
from faultscape.study.lock import writing
from faultscape.study.parts import Part, read_manifest, write_manifest
from faultscape.study.settings import Settings, read_settings
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image, part_name, read_corpus, shards
from faultscape.study.tables.label_maps import StoredMap
from faultscape.study.tables.logs import Failure, log, read_failures, replace_failures


def export(root: Path, study: str, options: ExportOptions, form: MaskFormat) -> Exported:
    """Write the images of a selection that have no label yet, upright and in full size, and what the tool needs to know of the classes."""
    settings, folder, truth, prefill = read_settings(root), Path(options.out), options.truth or evidence.LABELS, options.prefill
    if prefill is not None and prefill not in settings.models:
        raise OptionError(f"--prefill {prefill!r}: there is no such model; there are {', '.join(settings.models)}")
    classes = settings.class_list
    slots = current(root, options.selection, Answers(root).discarded())
    by_id = {image.id: image for image in read_corpus(root)}
    chosen = [by_id[id_] for id_ in slots.images if id_ in by_id]
    labelled = {n: label_maps.read_maps(label_maps.truth(root, truth), n) for n in {image.shard for image in chosen}}
    todo = [image for image in chosen if image.id not in labelled[image.shard]]
    then = import_line(study, options.out, truth, options.format)
    written = Exported(options.out, len(todo), form.name, prefill or "", len(chosen) - len(todo), then, form.says)
    if not todo:
        return written
    with progress("export", len(todo)) as tick:
        for image in todo:
            where, target = places_of(form, folder, image.id)
            if not where.exists():
                try:
                    rgb, _ = read_photo(image)
                except ImageError as error:
                    if not str(error).endswith(os.strerror(errno.ENOENT)):
                        raise
                    found_again = f"`faultscape collect {shlex.quote(study)} NEWFOLDER`"
                    raise ImageError(f"{error}; if images were moved, run {found_again}, then this line again") from None
                put(where, png.encode_pixels(rgb))
            if not target.exists():
                drawn = _prefilled(root, settings, image, prefill) if prefill else None
                data = write_label(form, target, where, (image.width, image.height), drawn, classes)
                if data is not None:
                    put(target, data)
            tick(1)
    if form.listed:
        make_folder(folder / "labels")
    for path, data in prepared_files(form, folder, classes).items():
        put(path, data)
    return written


def import_(root: Path, options: ImportOptions, form: MaskFormat | None) -> Imported:
    """Take in a folder of labels of one format, or of all that are built in, and its discard.csv."""
    source, truth, path = options.source, options.truth, Path(options.source)
    formats = [form] if form else [entry for entry in FORMATS if isinstance(entry, MaskFormat)]
    with writing(root):
        settings = read_settings(root)
        classes, images = settings.class_list, read_corpus(root)
        if truth in settings.models:
            raise OptionError(f"{truth!r} is the name of a model; give the truth another with --truth NAME")
        refuse_twin(truth, evidence.truths(root), "truth")
        where = label_maps.truth(root, truth)
        by_id = {image.id: image for image in images}
        thrown = discards.read(path / "discard.csv") if (path / "discard.csv").is_file() else []
        unknown = [id_ for id_, _ in thrown if id_ not in by_id]
        if unknown:
            raise LabellingError(
                f"{path / 'discard.csv'}: {unknown[0]!r} is no image of the study; ids are paths without extension"
            )
        files, empty = _label_files(path, by_id, options.pattern, formats)
        if empty:
            kinds = "LabelMe files without a shape, or the photos themselves" if form is None else f"empty {form.title} files"
            print(f"{counted(empty, 'file is', 'files are')} taken as not labelled yet: {kinds}")
        if not files and not thrown and not empty:
            kinds = "neither masks, nor LabelMe files, nor" if form is None else f"neither {form.title} files nor"
            raise LabellingError(f"{source}: holds {kinds} a discard.csv for images of this study")
        say_both(files.keys() & dict(thrown))
        mapping = of_label_ids(classes, {id_: file for id_, (file, form) in files.items() if form.listed})
        places, words = table(classes, mapping), allowed(classes, mapping)
        new = replaced = others = 0
        failures: list[Failure] = []
        stored = read_manifest(where)

        def enter(made: list[tuple[int, Part, list[StoredMap]]]) -> None:
            label_maps.keep_taken_back(where, {number: other for number, _, other in made}, "semantic")
            write_manifest(where, read_manifest(where) | {part_name(number): part for number, part, _ in made})

        with fill.Entry(enter) as entry, progress("import", len(files)) as tick:
            for number, rows in shards(images).items():
                mine = [image for image in rows if image.id in files]
                if not mine:
                    continue
                held = {m.id: m for m in label_maps.read_stored(where, number, stored)}
                other: list[StoredMap] = []
                for image in mine:
                    try:
                        label_map = _read_label(*files[image.id], classes, image, places, words, mapping)
                    except (LabelMapError, LabellingError) as error:
                        failures.append(Failure("label", truth, image.id, str(error)))
                        tick(1)
                        continue
                    replaced += image.id in held
                    new += image.id not in held
                    now = StoredMap(image.id, runs.encode(label_map))
                    if (before := held.get(image.id, now)).runs != now.runs:
                        other.append(before)
                    held[image.id] = now
                    tick(1)
                others += len(other)
                if held:
                    maps = [held[id_] for id_ in sorted(held)]
                    entry.add((number, Part(label_maps.put_maps(where, number, maps), len(maps), "semantic"), other))
                    entry.if_due()
        discarded = Answers(root).discard(thrown, source) if thrown else 0
        earlier = [f for f in read_failures(root) if (f.stage, f.name) == ("label", truth) and f.image not in files]
        replace_failures(root, "label", truth, earlier + failures)
        log(root, "label import", source=source, truth=truth)
    if failures and not new and not replaced and not discarded:
        raise LabellingError(f"no label could be used; the first: {failures[0].reason}")
    tell_discards(root, {image for image, _ in thrown})
    if replaced:
        kept = (
            f"; {counted(others, 'label that differs is', 'labels that differ are')} kept in truth/{truth}/removed"
            if others
            else ""
        )
        print(f"{counted(replaced, 'image')} had a label in truth {truth!r}, which is replaced{kept}")
    return Imported(truth, new, replaced, discarded, len(failures))


def say_both(images: Collection[str]) -> None:
    """Say what counts of images that one import both labels and discards."""
    if images:
        print(
            f"{counted(len(images), 'image has', 'images have')} a label and a discard: the discard counts, so no selection takes the image, and the label is kept; the first: {min(images)}"
        )


def _prefilled(root: Path, settings: Settings, image: Image, model: str) -> np.ndarray | None:
    """Return a model's map of one image in the study's ids, at the photo's size; None where it has none."""
    code = label_maps.read_maps(label_maps.predictions(root, model), image.shard).get(image.id)
    if code is None:
        return None
    classes = settings.class_list
    ids = np.array([*classes.ids, classes.void[0] if classes.void else 0], np.uint16)
    return ids[nearest(runs.decode(code, table(classes, settings.models[model].labels)), (image.width, image.height))]


def _label_files(
    path: Path, images: dict[str, Image], pattern: str | None, formats: Sequence[MaskFormat]
) -> tuple[dict[str, tuple[str, MaskFormat]], int]:
    """Return {image id: file and its format}, and how many files nobody drew in yet; what fits no image is said.

    Files that their content tells go before masks, which any picture may be: the photo of a LabelMe file lies beside it.
    """
    masks = path / "labels" if (path / "labels").is_dir() else path
    files: dict[str, tuple[str, MaskFormat]] = {}
    problems, states, beside = [], {}, set()
    for form in sorted(formats, key=lambda form: form.listed):
        say = print if form.listed else lambda _: None
        where = masks if form.listed else path
        there = find([where], endings=form.endings, pattern=pattern, strip=False, some_or_none=True, say=say)
        with plain_errors(form, path):
            states |= {f.path: form.recognise(f.path) for f in there}
        kind = [f for f in there if states[f.path] != "other" and os.path.splitext(f.path)[0] not in beside]
        kind = one_kind(kind, print) if form.listed else kind
        beside |= set() if form.listed else {os.path.splitext(f.path)[0] for f in kind}
        try:
            fitting = (
                fit(str(path), kind, [image.id for image in images.values() if not image.parent], pattern=pattern) if kind else {}
            )
        except CorpusError as error:
            problems.append(error)
            continue
        if rest := sorted({f.path for f in kind} - set(fitting.values())):
            print(f"{counted(len(rest), 'file fits', 'files fit')} no image of the study, left out; the first: {rest[0]}")
        files = {id_: (file, form) for id_, file in fitting.items()} | files
    if problems and not files:
        raise problems[0]
    for problem in problems:
        print(problem)
    empty = {id_ for id_, (file, _) in files.items() if states[file] == "empty"}
    if beside and masks is path:  # photos lie among files of shapes
        empty |= {id_ for id_, (file, form) in files.items() if form.listed and _is_photo(file, images[id_])}
    return {id_: found for id_, found in files.items() if id_ not in empty}, len(empty)


def _is_photo(file: str, image: Image) -> bool:
    """Whether a picture shows what the photo shows, pixel by pixel."""
    try:
        return bool((read_rgb(file) == read_photo(image)[0]).all())
    except (ImageError, ValueError):
        return False


def _read_label(
    path: str, form: MaskFormat, classes: Classes, image: Image, places: np.ndarray, words: str, mapping: dict[str, str]
) -> np.ndarray:
    """Return one label of the photo's size in the study's ids; LabelMapError or LabellingError otherwise."""
    photo = (image.width, image.height)
    label_map = read_label(form, path, classes, photo)
    if not form.listed:  # in the study's own ids already
        mapping, places = {}, table(classes)
    check_values(path, np.unique(label_map), places, words)
    if mapping:
        ids = np.array([*classes.ids, classes.void[0] if classes.void else 0], np.uint16)
        label_map = ids[places[label_map]]
    return label_map
