"""What `demo` knows of its scenes: their classes and all of their truth, and a page of what `stress` makes of
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import numpy as np

from faultscape.comparison.concordance import accuracies
from faultscape.comparison.counts import count
from faultscape.errors import StudyError
from faultscape.formats.label_maps import read_map
from faultscape.formats.pictures import read_rgb
from faultscape.maps import runs
from faultscape.nouns import Classes, Definition
from faultscape.reading.study import Study
from faultscape.reporting.contact_sheets import Cell, Row, stress_page
from faultscape.scenes import street as drawing
from faultscape.stressors.blend_plans import plan_blend
from faultscape.stressors.blend_steps.catalogue import BlendPreset
from faultscape.stressors.catalogue import CORRUPTIONS
from faultscape.stressors.composition import blend
from faultscape.stressors.corruption import corrupt
from faultscape.stressors.objects.drawn import drawn_cutouts
from faultscape.study.folder import put
from faultscape.study.tables import label_maps

_SHOWN, _BLENDED = (1, 3, 5), 6  # severities, and scenes with objects, on the contact sheet


def mean_scores(root: Path, truth: Path, models: Sequence[str], definition: Definition) -> dict[str, float]:
    """Return {model: its mean concordance with the drawn truth of all images}; the study takes in none of
    it.
    """
    ids = list(Study(root).images)
    maps = {}
    for model in models:
        stored = label_maps.read_maps(label_maps.predictions(root, model), 0)
        maps[model] = [runs.decode(stored[id_]) for id_ in ids]
    truths = [read_map(str(truth / f"{id_}.png")) for id_ in ids]
    pairs = count(maps, classes=len(drawing.CLASSES), truth=truths)
    scores = accuracies(pairs, definition["concordance"], over=definition["over"])
    return dict(zip(models, scores.mean(axis=1).tolist(), strict=True))


def draw_stress(folder: Path, page: Path, study: str) -> int:
    """Write a contact sheet of what `stress` would make from the drawn scenes in a folder: corruptions of
    one, objects blended into others; return how many images are on it.
    """
    files = sorted((folder / "images").glob("*.png"))[: 1 + _BLENDED]
    scene = read_rgb(files[0])
    rows = [
        Row(
            each.title,
            each.family,
            tuple(Cell(f"severity {severity}", corrupt(scene, each.name, severity)) for severity in _SHOWN),
        )
        for each in CORRUPTIONS[:15]
    ]
    cutouts = drawn_cutouts()
    for preset in get_args(BlendPreset)[:2]:
        cells = []
        for file in files[1:]:
            base = read_rgb(file)
            void = ~np.isin(
                read_map(str(folder / "truth" / file.name)), [id_ for id_, _, _ in drawing.CLASSES]
            )
            plan = plan_blend((base.shape[0], base.shape[1]), cutouts, preset, seed=0, key=file.stem)
            made = blend(base, plan.placed(cutouts), plan, void)
            cells.append(Cell(plan.objects[0].name, made.image, made.labels))
        rows.append(Row(preset, "objects drawn by code, with their labels", tuple(cells)))
    put(page, stress_page(study, rows).encode("utf-8", "xmlcharrefreplace"))
    return sum(len(row.cells) for row in rows)


def refuse_other_folders(root: Path, scenes: int) -> None:
    """Raise StudyError for a folder in which a demo of so many scenes cannot be made or resumed."""
    if root.is_file():
        raise StudyError(f"{root} is a file; give a folder")
    if root.exists() and any(root.iterdir()) and not (root / "demo").is_dir():
        raise StudyError(f"{root} exists and was not made by the demo; give another folder")
    if scenes < 2:
        raise StudyError(f"the demo needs at least 2 scenes; got {scenes}")
    drawn = len([*(root / "demo" / "images").glob("*.png")])
    collected = (root / "corpus.parquet").exists()
    held = max(drawn, Study(root).image_count if collected else 0)
    if held > scenes or (collected and held != scenes):
        raise StudyError(f"{root} has a demo of {held} scenes; give another folder for {scenes} scenes")


def scene_classes() -> Classes:
    """Return the classes of the drawn scenes."""
    return Classes(
        tuple(name for _, name, _ in drawing.CLASSES),
        tuple(id_ for id_, _, _ in drawing.CLASSES),
        tuple(colour for _, _, colour in drawing.CLASSES),
    )
