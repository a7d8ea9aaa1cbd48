"""Write the points of a selection that nobody has answered yet: a table to fill in, and cuts of the images
around each, with a ring at the pixel.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from faultscape.corpus.photos import read_photo
from faultscape.errors import ImageError, LabellingError, OptionError, counted
from faultscape.formats import png
from faultscape.labelling.catalogue import Format
from faultscape.labelling.point_tables import AskedPoint, filled
from faultscape.nouns import Point
from faultscape.progress import progress
from faultscape.reading.points.truths import point_truth
from faultscape.reading.study import LABELS, Study
from faultscape.reporting.point_crops import crop_around
from faultscape.study.folder import local, put
from faultscape.verbs.label.points.result import PointsExported
from faultscape.verbs.label.result import import_line, steps_text

if TYPE_CHECKING:
    from faultscape.verbs.options import LabelExportOptions

TABLE = "points.csv"
CROPS = "crops"


def export(study: Study, options: LabelExportOptions, form: Format) -> PointsExported:
    """Write the open points of a selection, each pixel once, in the order of the draws; LabellingError if
    the table exists and is filled in.

    Without the file of an image its points have no crop. If no point is open, nothing is written.
    """
    truth = options.truth or LABELS
    if options.prefill is not None:
        raise OptionError("--prefill applies to masks only; points are never pre-filled")
    points = study.selection(options.selection).now.points
    done = point_truth(study, points, truth).done
    todo: dict[tuple[str, int, int], Point] = {}
    for point, no_more in zip(points, done.tolist(), strict=True):
        if not no_more:
            todo.setdefault((point.image, point.row, point.column), point)
    folder = local(options.out, "a table of points")
    table = folder if folder.suffix.lower() == form.ending else folder / TABLE
    crops = 0
    if todo:
        if table.is_file() and table.stat().st_size and (number := filled(table)):
            are = counted(number, "line is", "lines are")
            raise LabellingError(f"{table}: {are} filled in and never overwritten; give another folder")
        files = _crops(study, list(todo.values()), table.parent)
        crops = sum(bool(file) for file in files.values())
        rows = [AskedPoint(p.image, p.row, p.column, files[p.step]) for p in todo.values()]
        put(table, form.write(rows).encode())
    then = import_line(options.study, str(table), truth, options.format)
    says = steps_text(form.says, options.out, "")
    return PointsExported(str(table), len(todo), crops, int(done.sum()), then, says)


def _crops(study: Study, points: list[Point], folder: Path) -> dict[int, str]:
    """Write a crop around each point, and return {step: its file in the folder}, '' where the image cannot be
    read.
    """
    out = dict[int, str]()
    by_image: dict[str, list[Point]] = {}
    for point in points:
        by_image.setdefault(point.image, []).append(point)
    images = study.corpus.by_id(by_image)
    with progress("export", len(points)) as tick:
        for image, mine in by_image.items():
            try:
                pixels = read_photo(images[image])[0]
            except ImageError:
                out |= dict.fromkeys((point.step for point in mine), "")
                tick(len(mine))
                continue
            for point in mine:
                file = f"{CROPS}/{point.step:06d}.png"
                put(folder / file, png.encode_pixels(crop_around(pixels, point.row, point.column)))
                out[point.step] = file
                tick(1)
    return out
