"""Export a study: find what is wanted, refuse what cannot be written, and have the format write it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, get_args

from faultscape.choices import ImageFiles
from faultscape.errors import OptionError, StudyError
from faultscape.reading.study import opened
from faultscape.verbs.export.catalogue import find_export
from faultscape.verbs.export.contents import Contents
from faultscape.verbs.export.form import ExportFormat
from faultscape.verbs.export.image_files import refuse_missing
from faultscape.verbs.export.result import StudyExported
from faultscape.verbs.export.target import refuse_place, size_of, whole_folder

if TYPE_CHECKING:
    from faultscape.verbs.options import ExportOptions


def export_study(options: ExportOptions) -> StudyExported:
    """Write a folder for another tool, whole or not at all; OptionError for options that do not fit, and for
    images that cannot be written.
    """
    study = opened(options.study)
    form = find_export(options.format, study.settings.task)
    refuse_place(study, options.out)
    if options.all_images and not form.of_images:
        raise OptionError(
            f"--all-images does not apply to --format {form.name}, {form.no_ways}; leave it out"
        )
    contents = Contents(
        study,
        selection=options.selection,
        all_images=options.all_images or not form.of_images,
        truth=options.truth,
        image_files=_ways(form, options.image_files),
    )
    if not contents.has_maps:
        raise StudyError(
            f"{options.study} has neither models nor labels to export; add some with `faultscape predict "
            f"{study.place} NAME=SOURCE`"
        )
    refuse_missing(contents.images, contents.image_files, study.place)
    with whole_folder(options.out) as folder:
        form.write(folder, contents)
    return StudyExported(
        options.out,
        form.name,
        len(contents.images) if form.of_images else 0,
        contents.models,
        contents.truth,
        contents.image_files,
        size_of(Path(options.out)),
        form.opens.format(
            out=repr(options.out),
            first=contents.first,
            model=contents.models[0] if contents.models else "NAME",
        ),
    )


def _ways(form: ExportFormat, asked: ImageFiles | None) -> ImageFiles:
    """Return what is done with image files; OptionError for what a format cannot do."""
    if asked is None:
        return form.image_files[0]
    if asked not in get_args(ImageFiles):
        raise OptionError(f"image-files {asked!r} is not known; use {', '.join(form.image_files)}")
    if asked not in form.image_files:
        raise OptionError(
            f"--image-files {asked} does not fit --format {form.name}, {form.no_ways}; use"
            f" {' or '.join(form.image_files)}"
        )
    return asked
