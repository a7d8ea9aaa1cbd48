"""Write the points of a selection that nobody has answered yet, for people with a table or for a labelling
tool: with cuts of the images around each, with a ring at the pixel, or with the whole images.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from faultscape.corpus.photos import read_photo
from faultscape.errors import ImageError, LabellingError, OptionError, counted
from faultscape.formats import png
from faultscape.formats.label_tools.point_labels import AskedPoint
from faultscape.labelling.catalogue import POINTS, Format
from faultscape.labelling.format_calls import places_of
from faultscape.nouns import Point
from faultscape.progress import progress
from faultscape.reading.points.predictions import PointPredictions
from faultscape.reading.points.truths import point_truth
from faultscape.reading.study import LABELS, Study
from faultscape.reporting.point_crops import crop_around
from faultscape.study.folder import local, put
from faultscape.study.tables.corpus import Image
from faultscape.verbs.label.points.result import PointsExported
from faultscape.verbs.label.result import import_line, returned_to, steps_text

if TYPE_CHECKING:
    from faultscape.verbs.options import LabelExportOptions

CROPS = "crops"


def export(study: Study, options: LabelExportOptions, form: Format) -> PointsExported:
    """Write the open points of a selection, each pixel once, in the order of the draws; LabellingError if
    a file exists that is filled in, or that does not ask about points. Nothing is written if no point is
    open.
    """
    truth = options.truth or LABELS
    if options.prefill is not None:
        raise OptionError("--prefill applies to masks only; points are never pre-filled")
    if odd := [flag for flag in ("outlines", "again") if getattr(options, flag)]:
        raise OptionError(f"--{odd[0]} does not apply to points; leave it out")
    points = study.selection(options.selection).now.points
    done = point_truth(study, points, truth).done
    todo: dict[tuple[str, int, int], Point] = {}
    for point, no_more in zip(points, done.tolist(), strict=True):
        if not no_more:
            todo.setdefault((point.image, point.row, point.column), point)
    out = local(options.out, "a folder of points")
    file = out if form is POINTS and out.suffix.lower() in form.endings and not out.is_dir() else None
    folder = file.parent if file else out
    source = options.out if file else returned_to(options.out, form.returned)
    asked = list[AskedPoint]()
    if todo:
        predicted = PointPredictions().of(study, [*todo.values()], truth)
        first = [_shuffled(pixel, predicted[pixel].votes if pixel in predicted else ()) for pixel in todo]
        asked = [AskedPoint(*pixel, first=mine) for pixel, mine in zip(todo, first, strict=True)]
        for name in form.write(asked, study.classes):
            _refuse_other(form, file or folder / name)
        asked = _with_pictures(study, asked, [*todo.values()], folder, form)
        for name, data in form.write(asked, study.classes).items():
            put(file or folder / name, data)
    return PointsExported(
        str(Path(source)) if form is POINTS else options.out,
        len(todo),
        sum(bool(point.crop or point.photo) for point in asked),
        int(done.sum()),
        form.name,
        import_line(options.study, source, truth, options.format),
        steps_text(form.says, options.out, form.returned),
    )


def _shuffled(pixel: tuple[str, int, int], names: Iterable[str]) -> tuple[str, ...]:
    """Return classes in an order that says nothing about models, and is the same each time."""
    return tuple(sorted(names, key=lambda name: hashlib.blake2b(repr((pixel, name)).encode()).digest()))


def _refuse_other(form: Format, path: Path) -> None:
    """Raise LabellingError if a file to be written exists and holds answers."""
    if form.recognise is None or path.suffix.lower() not in form.endings:
        return  # tells the tool about the classes: nobody's work
    if not path.is_file() or not path.stat().st_size:
        return
    number = form.recognise(path)
    if number is None:
        raise LabellingError(f"{path}: already exists and does not ask about points; give another folder")
    if number:
        are = counted(number, "point is", "points are")
        raise LabellingError(f"{path}: {are} answered and never overwritten; give another folder")


def _with_pictures(
    study: Study, asked: list[AskedPoint], points: Sequence[Point], folder: Path, form: Format
) -> list[AskedPoint]:
    """Write a crop around each point, or the whole images, and return the points with their files in the
    folder, '' where the image cannot be read.
    """
    by_image: dict[str, list[int]] = {}
    for place, point in enumerate(points):
        by_image.setdefault(point.image, []).append(place)
    images = study.corpus.by_id(by_image)
    out = list(asked)
    with progress("export", len(points)) as tick:
        for name, mine in by_image.items():
            image = images[name]
            try:
                pixels = read_photo(image)[0]
            except ImageError:
                pixels = None
            whole = "" if pixels is None or not form.photo else _whole(pixels, image, folder, form)
            for place in mine:
                crop = ""
                if pixels is not None and not form.photo:
                    crop = f"{CROPS}/{points[place].step:06d}.png"
                    cut = crop_around(pixels, points[place].row, points[place].column)
                    put(folder / crop, png.encode_pixels(cut))
                size = image.width, image.height
                out[place] = replace(asked[place], crop=crop, photo=whole, size=size)
                tick(1)
    return out


def _whole(pixels: np.ndarray, image: Image, folder: Path, form: Format) -> str:
    """Write an image (H, W, 3), unless it exists, and return its path in the folder."""
    (where,) = places_of(form, folder, image.id)
    if not where.exists():
        put(where, png.encode_pixels(pixels))
    return where.relative_to(folder).as_posix()
