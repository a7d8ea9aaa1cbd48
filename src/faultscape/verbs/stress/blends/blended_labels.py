"""Make the labels and facts of blended sets from the images' recipes, one part per shard.

Conventions: semantic labels are in stress/SET, in the truth's original ids (an anomaly is void, a known
object has the id of its class); anomaly labels (0 known, 1 anomalous, 255 void) are in stress/SET/anomaly;
stress/SET/pasted marks pasted known objects (1); stress/SET/facts has one row per image: totals of pixels,
the digest of the image, what each step did, and flags of objects. `manifest.csv` next to them is for people.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from faultscape.classes.class_lists import table
from faultscape.corpus.photos import read_parent
from faultscape.corpus.stress.files import read_depth
from faultscape.corpus.stress.recipes import PlanStep, blended, recipe_of
from faultscape.errors import FaultscapeError, StudyError, counted
from faultscape.maps import runs
from faultscape.maps.resize import nearest
from faultscape.nouns import Classes
from faultscape.reading.fill import task
from faultscape.reading.study import Study
from faultscape.stressors.anomaly_labels import ANOMALY, KNOWN
from faultscape.stressors.blend_plans import plan_of_text
from faultscape.stressors.overlay import pixel_digest
from faultscape.study.folder import put
from faultscape.study.parts import key_of, put_part, read_part, write_manifest
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image, part_name, read_corpus
from faultscape.study.tables.label_maps import StoredMap
from faultscape.study.tables.stress_sets import labels_folder
from faultscape.verbs.stress.own_labels import SetJob, fill_labels, jobs_of

ANOMALIES = "anomaly"
FACTS = "facts"
PASTED = "pasted"
_MANIFEST = "manifest.csv"
_COLUMNS = ("id", "anomalous", "known", "void", "image", "steps", "flags")


@dataclass(frozen=True)
class BlendJob(SetJob):
    """The labels of one shard: (id, digest, shard and id of the base's label) of its images."""

    images: tuple[tuple[str, str, int, str], ...]
    classes: str


@dataclass(frozen=True)
class BlendedPart:
    """The four written parts of one shard."""

    labels: str
    anomaly: str
    pasted: str
    facts: str
    rows: int


def fill_blended(
    study: Study, sets: Sequence[str], truth: str, *, engine: str, workers: int | None
) -> dict[str, tuple[int, int, int]]:
    """Make the missing or stale labels and facts of sets, write their manifests, and return {set: (anomalous,
    known, void pixels)}.
    """
    classes = key_of(study.settings.classes.counted)
    jobs = jobs_of(study, sets, truth, BlendJob, _row, classes=classes)
    fill_labels(
        study,
        "faultscape.verbs.stress.blends.blended_labels:label_shard",
        jobs,
        BlendedPart,
        {"anomaly": ANOMALIES, "pasted": PASTED, "facts": FACTS, "labels": ""},
        title="blend",
        engine=engine,
        workers=workers,
    )
    totals = {}
    for name in sets:
        _forget_others(study, name, {part_name(job.number) for job in jobs if job.set == name})
        facts = read_facts(study, name)
        totals[name] = tuple(
            sum(int(row[column]) for row in facts.values()) for column in ("anomalous", "known", "void")
        )
        text = manifest_text(study.image_rows, name, facts)
        put(labels_folder(study.root, name) / _MANIFEST, text.encode())
    return totals


def _row(image: Image, base: Image) -> tuple[str, str, int, str]:
    return image.id, image.digest, base.shard, base.id


@task(BlendJob)
def label_shard(job: BlendJob, tick: Callable[[int], None]) -> BlendedPart:
    """Make and write the labels of one shard. StudyError names an image that cannot be made."""
    root = Path(job.study)
    classes = Study(root).classes
    images = {image.id: image for image in read_corpus(root, job.number)}
    held = {
        shard: label_maps.read_maps(label_maps.truth(root, job.truth), shard)
        for shard in sorted({shard for _, _, shard, _ in job.images})
    }
    semantic = []
    anomaly = []
    pasted = []
    facts = []
    for id_, _, shard, base in job.images:
        image = images[id_]
        try:
            own = nearest(runs.decode(held[shard][base]), (image.width, image.height))
            labels, flags, known, fact = labels_of(image, own, classes)
        except FaultscapeError as error:
            raise StudyError(f"{id_} cannot be made: {error}") from None
        semantic.append(StoredMap(id_, runs.encode(labels)))
        anomaly.append(StoredMap(id_, runs.encode(flags)))
        pasted.append(StoredMap(id_, runs.encode(known)))
        facts.append((id_, *fact))
        tick(1)
    where = labels_folder(root, job.set)
    columns = list(zip(*facts, strict=True))
    types = [pa.string(), pa.int64(), pa.int64(), pa.int64(), pa.string(), pa.string(), pa.string()]
    rows = pa.table(
        {
            name: pa.array(list(column), kind)
            for name, column, kind in zip(_COLUMNS, columns, types, strict=True)
        }
    )
    return BlendedPart(
        label_maps.put_maps(where, job.number, semantic),
        label_maps.put_maps(where / ANOMALIES, job.number, anomaly),
        label_maps.put_maps(where / PASTED, job.number, pasted),
        put_part(where / FACTS, part_name(job.number), rows),
        len(facts),
    )


def labels_of(
    image: Image, own: np.ndarray, classes: Classes
) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[int, int, int, str, str, str]]:
    """Return the semantic labels (H, W) of a blended image, in the ids of its base's labels (H, W), its
    anomaly labels, where known objects are (1), and (pixels of each, digest, what each step did, flags).
    """
    recipe = recipe_of(image.source)
    assert recipe is not None
    step = recipe.step
    assert isinstance(step, PlanStep)
    base = read_parent(image)
    places = table(classes)
    void = places[own] == len(classes)
    depth = read_depth(step.depth, step.depth_digest, base.shape[:2]) if step.depth else None
    made = blended(step, base, depth, void)
    plan = plan_of_text(step.plan)
    empty = classes.void[0]
    labels = own.astype(np.uint16) if max(*classes.ids, empty) > 255 else own.copy()
    labels[made.objects == ANOMALY] = empty
    known = made.objects == KNOWN
    names = {placed.class_ for placed in plan.objects if placed.use == "known"}
    of_class = next(iter(names), "")  # with known objects of different classes, the pixels are void
    labels[known] = (
        classes.ids[classes.names.index(of_class)] if len(names) == 1 and of_class in classes.names else empty
    )
    did, flags = (
        json.dumps([asdict(one) for one in of], separators=(",", ":")) for of in (made.steps, made.flags)
    )
    facts = (*made.pixels, pixel_digest(made.image), did, flags)
    return labels, made.labels, known.astype(np.uint8), facts


def read_facts(study: Study, name: str) -> dict[str, dict[str, str | int]]:
    """Return {image id: its row of facts} of a blended set."""
    where = labels_folder(study.root, name) / FACTS
    found = {}
    for part, entry in sorted(study.manifest(where).items()):
        for row in read_part(where, part, entry).to_pylist():
            found[row["id"]] = row
    return found


def manifest_text(
    images: Mapping[str, Image], name: str, facts: Mapping[str, Mapping[str, str | int]]
) -> str:
    """Return manifest.csv of a set of these images, {id: image}: one row per image, with its base, plan,
    totals of pixels and digests.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        [
            "id",
            "base",
            "base_digest",
            "object",
            "class",
            "use",
            "x",
            "y",
            "width",
            "height",
            "anomalous",
            "known",
            "void",
            "image_digest",
            "plan",
            "steps",
            "flags",
        ]
    )
    mine = (image for image in images.values() if image.set == name)
    for image in sorted(mine, key=lambda image: image.id):
        recipe = recipe_of(image.source)
        if recipe is None or not isinstance(recipe.step, PlanStep):
            continue
        plan = plan_of_text(recipe.step.plan)
        fact = facts[image.id]
        objects = [
            [getattr(placed, field) for placed in plan.objects]
            for field in ("name", "class_", "use", "x", "y", "width", "height")
        ]
        cells = [" | ".join(map(str, values)) for values in objects]
        writer.writerow(
            [
                image.id,
                image.parent,
                images[image.parent].digest,
                *cells,
                fact["anomalous"],
                fact["known"],
                fact["void"],
                fact["image"],
                recipe.step.plan,
                fact["steps"],
                fact.get("flags", ""),  # parts of earlier versions have none
            ]
        )
    return out.getvalue()


def notes_of(study: Study, name: str) -> list[str]:
    """Return notes about a blended set: how many objects nearly vanish or fell into pieces, and where motion
    changed nothing.
    """
    facts = read_facts(study, name).values()
    flags = [one["flag"] for row in facts for one in json.loads(str(row.get("flags") or "[]"))]
    did = [one for row in facts for one in json.loads(str(row["steps"])) if one["step"] == "motion"]
    still = sum(one["value"] == 0 for one in did)
    notes = []
    if faint := flags.count("faint"):
        notes.append(f"{counted(faint, 'object')} can hardly be seen against the image")
    if pieces := flags.count("pieces"):
        notes.append(f"{counted(pieces, 'object')} fell into pieces")
    held = (
        [f"note: {name}: {' and '.join(notes)}; the column flags of {_MANIFEST} says which"] if notes else []
    )
    if still:
        held.append(f"note: {name}: motion changed nothing in {still} of {counted(len(did), 'object')}")
    return held


def _forget_others(study: Study, name: str, wanted: set[str]) -> None:
    where = labels_folder(study.root, name)
    for folder in (where, where / ANOMALIES, where / PASTED, where / FACTS):
        held = study.manifest(folder)
        if held.keys() - wanted:
            write_manifest(folder, {part: entry for part, entry in held.items() if part in wanted})
            study.reread()
