"""Write images and masks for a drawing tool."""

from __future__ import annotations

import errno
import os
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from faultscape.corpus.photos import read_photo
from faultscape.errors import ImageError, LabellingError, OptionError
from faultscape.formats import png
from faultscape.formats.label_tools.tool_labels import DrawnImage
from faultscape.labelling.catalogue import FORMATS, Format
from faultscape.labelling.format_calls import places_of, prepared_files, write_bundle, write_label
from faultscape.progress import progress
from faultscape.ranking.drawn.steps import first_alone
from faultscape.reading.study import LABELS, Study
from faultscape.study.folder import make_folder, put
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image, part_name
from faultscape.verbs.label.mask_files import readers
from faultscape.verbs.label.model_copies import map_at_photo_size
from faultscape.verbs.label.result import Exported, import_line, returned_to, steps_text
from faultscape.verbs.label.tool_files import bundles, read_bundles

if TYPE_CHECKING:
    from faultscape.verbs.options import LabelExportOptions

TO_LABEL = "to-label.txt"  # in an export's folder: which images have no label yet


def export(study: Study, options: LabelExportOptions, form: Format) -> Exported:
    """Write the images of a selection that have no label yet, upright and in full size, and what the tool
    needs to know about the classes.
    """
    truth = options.truth or LABELS
    prefill = options.prefill
    refuse_odd(study, options, form)
    chosen, todo = to_label(study, options.selection, truth)
    then = import_line(options.study, returned_to(options.out, form.returned), truth, options.format)
    written = Exported(
        options.out,
        len(todo),
        form.name,
        prefill or "",
        len(chosen) - len(todo),
        then,
        steps_text(steps_of(form, prefill), options.out, form.returned),
    )
    if not todo:
        return written
    folder = Path(options.out)
    work = Export(study, folder, form, options)
    with progress("export", len(todo)) as tick:
        work.images(todo, tick)
    waiting = {image.id for image in todo}
    labelled = [image for image in chosen if image.id not in waiting]
    beside = sum(places_of(form, folder, image.id)[0].exists() for image in labelled)
    # written each time: it is nobody's work
    put(folder / TO_LABEL, work.listed(todo).encode())
    listed = f"{options.out.rstrip('/')}/{TO_LABEL}"
    differing = work.differing(todo) if options.outlines else None
    enough = first_alone(study.selection(options.selection).now.draws)
    alone = enough if enough > written.labelled else 0
    return replace(written, differing=differing, listed=listed, first_alone=alone, beside=beside)


def steps_of(form: Format, prefill: str | None) -> str:
    """Return what to do with what was written, filled in with the maps of a model or not."""
    return (form.says_prefilled if prefill else "") or form.says


def refuse_odd(study: Study, options: LabelExportOptions, form: Format) -> None:
    """Raise OptionError for export options that do not fit the study or the format."""
    prefill = options.prefill
    if prefill is not None and prefill not in study.models:
        raise OptionError(f"--prefill {prefill!r}: no such model; available: {', '.join(study.models)}")
    if options.outlines and not (form.outlines and prefill):
        known = ", ".join(entry.name for entry in FORMATS if entry.outlines)
        raise OptionError(f"--outlines needs --prefill and a format with polygons ({known})")


def to_label(study: Study, selection: str, truth: str) -> tuple[list[Image], list[Image]]:
    """Return the images of a selection that count now, and those of them without a label in a truth."""
    ids = study.selection(selection).now.images
    by_id = study.corpus.by_id(ids)
    chosen = [by_id[id_] for id_ in ids if id_ in by_id]
    folder = label_maps.truth(study.root, truth)
    parts = study.manifest(folder)
    labelled = set[str]()
    for number in {image.shard for image in chosen}:
        if part := parts.get(part_name(number)):
            labelled.update(label_maps.read_ids(folder, number, part))
    return chosen, [image for image in chosen if image.id not in labelled]


@dataclass
class Export:
    """Writes images, and labels filled in by a model, for one tool."""

    study: Study
    folder: Path
    form: Format
    options: LabelExportOptions

    def images(self, images: Sequence[Image], tick: Callable[[int], object]) -> None:
        """Write images with their labels, and what the tool needs to know about the classes."""
        form = self.form
        for image in images:
            self.photo(image)
            tick(0 if form.kind == "bundle" else 1)
            if form.kind == "masks":
                self.label(image, form)
        if form.kind == "bundle":
            self.bundle(images, form, tick)
            return
        if form.listed:
            make_folder(self.folder / "labels")
        for path, data in prepared_files(form, self.folder, self.study.classes).items():
            put(path, data)

    def listed(self, images: Sequence[Image]) -> str:
        """Return the files of the images that have no label yet, one a line, in the selection's order."""
        files = [places_of(self.form, self.folder, image.id)[0] for image in images]
        return "".join(
            f"{number}\t{file.relative_to(self.folder).as_posix()}\n" for number, file in enumerate(files, 1)
        )

    def photo(self, image: Image) -> None:
        """Write one image, unless it exists; ImageError if it cannot be read."""
        where = places_of(self.form, self.folder, image.id)[0]
        if where.exists():
            return
        try:
            rgb, _ = read_photo(image)
        except ImageError as error:
            if not str(error).endswith(os.strerror(errno.ENOENT)):
                raise
            found_again = f"`faultscape collect {shlex.quote(self.options.study)} NEWFOLDER`"
            raise ImageError(
                f"{error}; if images were moved, run {found_again}, then repeat this command"
            ) from None
        put(where, png.encode_pixels(rgb))

    def label(self, image: Image, form: Format) -> None:
        """Write one label, unless it exists."""
        where, target = places_of(form, self.folder, image.id)
        if not target.exists():
            size = (image.width, image.height)
            data = write_label(
                form,
                target,
                where,
                size,
                self.filled(image),
                self.study.classes,
                outlines=self.options.outlines,
            )
            if data is not None:
                put(target, data)

    def bundle(self, images: Sequence[Image], form: Format, tick: Callable[[int], object]) -> None:
        """Write the files of all images; LabellingError if one exists with other contents, which may be
        someone's work.
        """

        def drawn() -> Iterator[DrawnImage]:
            for image in images:
                photo = places_of(form, self.folder, image.id)[0].relative_to(self.folder).as_posix()
                yield DrawnImage(image.id, photo, (image.width, image.height), self.filled(image))
                tick(1)

        for path, data in write_bundle(
            form, self.folder, drawn(), self.study.classes, outlines=self.options.outlines
        ):
            if path.exists() and path.read_bytes() != data:
                raise LabellingError(
                    f"{path}: already exists with other contents and is never overwritten; give another"
                    " folder"
                )
            put(path, data)

    def filled(self, image: Image) -> np.ndarray | None:
        """Return a model's map of one image in the study's ids, at the image's size; None if nothing is
        filled in, or the model has no map.
        """
        model = self.options.prefill
        if model is None:
            return None
        folder = label_maps.predictions(self.study.root, model)
        part = self.study.manifest(folder).get(part_name(image.shard))
        code = label_maps.read_map(folder, image.shard, part, image.id) if part else None
        return None if code is None else map_at_photo_size(code, self.study.settings, model, image)

    def differing(self, images: Sequence[Image]) -> tuple[int, int]:
        """Return how many pixels of the written outlines differ from their maps, and of how many."""
        by_id = {image.id: image for image in images}
        classes = self.study.classes
        if isinstance(self.form, Format):
            read = read_bundles(bundles(self.folder, [self.form]), by_id, classes).readers.get("", {})
        else:
            read = readers(self.folder, by_id, None, [self.form], classes).readers
        off = pixels = 0
        for id_, reader in read.items():
            filled = self.filled(by_id[id_])
            if filled is not None:
                off += int((reader(Counter()) != filled).sum())
                pixels += filled.size
        return off, pixels
