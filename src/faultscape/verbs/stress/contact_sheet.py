"""The contact sheet of a study's made sets: STUDY/stress/sheet.html.

Conventions: corruptions and fog show the same parent at each severity, the first by tie-breaking order;
blended sets show some images with their labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import cv2
import numpy as np

from faultscape.corpus.photos import read_parent, read_photo
from faultscape.corpus.stress.recipes import recipe_of
from faultscape.errors import ImageError, StudyError, counted
from faultscape.maps import runs
from faultscape.progress import progress
from faultscape.reading.sets import refuse_unfinished
from faultscape.reading.study import Study, opened
from faultscape.reporting.contact_sheets import Cell, Row, stress_page
from faultscape.stressors.anomaly_labels import ANOMALY
from faultscape.stressors.catalogue import CORRUPTIONS
from faultscape.study.folder import put
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image, part_name
from faultscape.study.tables.stress_sets import StressSet, labels_folder
from faultscape.ties import tie_order
from faultscape.verbs.options import StressSheetOptions
from faultscape.verbs.stress.blends.blended_labels import ANOMALIES, read_facts
from faultscape.verbs.stress.result import Sheet

_BY_DISTANCE = "fog by distance"  # from `stress fog`; the corruption fog is different
_GRID = (128, 64)  # cells of the coverage map, width and height


def write_sheet(options: StressSheetOptions) -> Sheet:
    """Write the contact sheet of the named made sets, or of all; StudyError if there are none."""
    study = opened(options.study)
    root = study.root
    known = study.stress.sets
    if strange := [name for name in options.set_ if name not in known]:
        raise StudyError(
            f"--set {strange[0]}: `faultscape stress` has made no such set; it made "
            f"{', '.join([*known][:8]) or 'none'}{', ...' if len(known) > 8 else ''}"
        )
    names = [name for name in known if not options.set_ or name in options.set_]
    if not names:
        raise StudyError(
            f"{root} has no made sets; make some with `faultscape stress corrupt {options.study}`"
        )
    for name in names:
        refuse_unfinished(study, name)
    of_set: dict[str, list[Image]] = {name: [] for name in names}
    for image in study.image_rows.values():
        if image.set in of_set:
            of_set[image.set].append(image)
    groups: dict[tuple[str, str, str], list[str]] = {}
    for name in names:
        about = known[name]
        groups.setdefault(
            (
                about.kind,
                about.of,
                str(about.parameters.get("corruption", name if about.kind == "blend" else _BY_DISTANCE)),
            ),
            [],
        ).append(name)
    rows = []
    with progress("sheet", len(groups)) as tick:
        for (kind, of, title), mine in groups.items():
            rows.append(
                _blended(study, mine[0], of_set[mine[0]], options.images)
                if kind == "blend"
                else _under_each(title, of, [(known[name], of_set[name]) for name in mine])
            )
            tick(1)
    rows = [row for row in rows if row.cells]
    path = root / "stress" / "sheet.html"
    put(path, stress_page(root.resolve().name, rows).encode("utf-8", "xmlcharrefreplace"))
    return Sheet(str(path), len(names), sum(len(row.cells) for row in rows))


def _under_each(title: str, of: str, sets: Sequence[tuple[StressSet, Sequence[Image]]]) -> Row:
    """Return one parent, followed by its version under each condition of a family."""
    cells: list[Cell] = []
    for about, images in sets:
        if not images:
            continue
        if not cells:
            first = _read_chosen(images, 1, read_parent)
            cells += [Cell(image.parent, pixels) for image, pixels in first]
        same = [image for image in images if cells and image.parent == cells[0].caption]
        word = (
            f"severity {about.parameters['severity']}"
            if about.kind == "corrupt"
            else f"beta {about.parameters['beta']}"
        )
        cells += [Cell(word, pixels) for _, pixels in _read_chosen(same, 1, _made)]
    titles = {each.name: each.title for each in CORRUPTIONS}
    return Row(titles.get(title, title.capitalize()), f"of {of}", tuple(cells))


def _coverage(study: Study, name: str, images: Sequence[Image]) -> np.ndarray:
    """Return (64, 128), the share of a set's images in which each part of the frame is anomalous."""
    total = np.zeros((_GRID[1], _GRID[0]))
    number = 0
    for shard in sorted({image.shard for image in images}):
        for code in _anomalies(study, name, shard).values():
            total += cv2.resize(
                (runs.decode(code) == ANOMALY).astype(np.float32), _GRID, interpolation=cv2.INTER_AREA
            )
            number += 1
    return total / max(number, 1)


def _anomalies(study: Study, name: str, shard: int) -> dict[str, bytes]:
    where = labels_folder(study.root, name) / ANOMALIES
    part = study.manifest(where).get(part_name(shard))
    return label_maps.read_maps(where, shard, part) if part else {}


def _blended(study: Study, name: str, images: Sequence[Image], count: int) -> Row:
    facts = read_facts(study, name)
    cells = list[Cell]()
    covered = _coverage(study, name, images)
    middle = float(np.median(covered))
    grey = np.minimum(255 * covered / max(covered.max(), 1e-9), 255).astype(np.uint8)
    frame = images[0] if images else None
    shape = (512, 256 if frame is None else max(1, round(512 * frame.height / frame.width)))
    heat = cv2.resize(grey, shape, interpolation=cv2.INTER_NEAREST)
    for image, pixels in _read_chosen(images, count, _made):
        maps = _anomalies(study, name, image.shard)
        share = int(facts[image.id]["anomalous"]) / (image.width * image.height)
        cells.append(
            Cell(
                f"{image.id.partition('/')[2]}: {100 * share:.1f} % anomalous",
                pixels,
                runs.decode(maps[image.id]),
            )
        )
    note = (
        f"{counted(len(images), 'image')}; {len(cells)} are shown with their labels; a pixel position is "
        f"anomalous in {100 * middle:.1f} % of them (median), in {100 * covered.max():.1f} % at most"
    )
    cells.append(
        Cell("how often each pixel position is anomalous (white: most often)", np.dstack([heat] * 3))
    )
    return Row(name, note, tuple(cells))


def _made(image: Image) -> np.ndarray:
    return read_photo(image)[0]


def _read_chosen(
    images: Sequence[Image], count: int, read: Callable[[Image], np.ndarray]
) -> list[tuple[Image, np.ndarray]]:
    """Return the first readable images with their pixels, in the tie-breaking order of their parents, so that
    all conditions show the same ones; print the first that cannot be read.
    """
    found: list[tuple[Image, np.ndarray]] = []
    wrong = ""
    for image in _in_order(images):
        if len(found) == count:
            break
        try:
            found.append((image, read(image)))
        except ImageError as error:
            wrong = wrong or f"note: {image.id} cannot be shown: {error}"
    if wrong:
        print(wrong)
    return found


def _in_order(images: Sequence[Image]) -> list[Image]:
    keys = [recipe.digest if (recipe := recipe_of(image.source)) else image.digest for image in images]
    order = tie_order(keys, 0, [image.id for image in images]).tolist()
    return [images[k] for k in order]
