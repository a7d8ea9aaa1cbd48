"""The page of a study's files: what lies where, each table with its columns and types.

Conventions: types are read off the files of a small study that the build makes, fields of study.toml and
sets.json off their models, tables of answers off the database's schema. What a column means stands in
`COLUMNS`; one that it lacks stops the build, so that no column is without a sentence.
"""

from __future__ import annotations

import ast
import io
import tempfile
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path

import docstring_sections as docstrings
import numpy as np
import public_names as public
from docstring_sections import blocks, plain

HEADINGS = {
    "study.toml": "settings.py",
    "corpus.parquet": "tables/corpus.py",
    "removed.parquet": "tables/removed_images.py",
    "predictions/MODEL, truth/NAME": "tables/label_maps.py",
    "predictions/MODEL/KIND": "tables/outputs.py",
    "pairs/MODEL": "tables/pairs.py",
    "manifest.json": "parts.py",
    "selection.csv, selection.json": "tables/selections.py",
    "answers": "answers/schema.py",
    "measures/statistics": "tables/measures.py",
    "measures/per_image.parquet": "tables/measures.py",
    "reliability/counts": "tables/pixel_counts.py",
    "sets.json": "tables/stress_sets.py",
    "timings.parquet, failures.csv, log.jsonl": "tables/logs.py",
    "queries.csv, web": "tables/web_pictures.py",
}
COLUMNS = {
    "id": "The image: its path without extension.",
    "source": "Where the image lies: a path, an address of a store, or `FILE.parquet#ROW`.",
    "set": "The set that the image belongs to; empty for the images given without one.",
    "role": "What the set is for: pool, train, calibration or test.",
    "condition": "What models are judged under: the name of a condition, for example a corruption and severity.",
    "parent": "The image that this one was made of; empty for one that was collected.",
    "width": "Pixels across.",
    "height": "Pixels down.",
    "digest": "SHA-256 of the file's bytes, or what its store says about them (`etag:...`).",
    "dhash": "64 bits that near-duplicates share, as a signed number; null where the image was not looked at.",
    "near_duplicate_of": "The first image of its near-duplicate group; empty for one without duplicates.",
    "shard": "The shard that the image is in; it never changes.",
    "group": "The drive, city or patient that the image belongs to.",
    "runs": "The label map, or a classifier's answer, as runs.",
    "photo": "SHA-256 of the bytes that the map was made from, where the corpus knows a tag alone.",
    "counts": "Packed sparse counts of pixels by the two models' classes.",
    "data_set": "The data set or truth that was measured against.",
    "model": "The model's name.",
    "stage": "The verb's stage that ran.",
    "name": "What it ran over: a model, a selection, a truth.",
    "items": "Images in the shard that it ran over.",
    "seconds": "Seconds of the whole shard.",
    "load": "Seconds spent on reading images.",
    "score": "Seconds spent on labels and scores.",
    "write": "Seconds spent on writing.",
    "fitted": "Seconds spent on fitted methods.",
    "methods": "Seconds that each fitted method takes alone, with its parts.",
    "warm": "Whether the network had run before.",
    "device": "Where it ran: cpu, or a GPU's name.",
}
STATISTICS = {
    "image": "The image: its path without extension.",
    "both": "Pixels that truth and prediction call alike, a number a class.",
    "boundary": "Counts of boundary pixels and bands, six a class (see `fs.metrics.boundary_counts`).",
    "truth_pixels": "Pixels of the truth, a number a class, void last.",
    "predicted_pixels": "Pixels of the prediction, a number a class, void last.",
    "truth_regions": "Regions of the truth, a number a class.",
    "predicted_regions": "Regions of the prediction, a number a class.",
    "torn_truth": "True regions that more than one prediction touches.",
    "tearing_predictions": "Predicted regions that touch such a region.",
    "extra_pieces": "Pieces beyond the first, summed over true regions.",
    "merged_truth": "True regions that share their prediction with another.",
    "merging_predictions": "Predicted regions that touch more than one true region.",
    "extra_merges": "True regions beyond the first, summed over predicted regions.",
    "missed_truth": "True regions that no prediction of their class touches.",
    "invented_predictions": "Predicted regions that touch no true region of their class.",
    "gce_of_classes": "GCE of each class against all else.",
    "lce_of_classes": "LCE of each class against all else.",
    "pe_os_sum": "PE-OS, summed over true regions.",
    "pe_us_sum": "PE-US, summed over true regions.",
    "pe_os_sum_of_predictions": "PE-OS, summed over predicted regions.",
    "pe_us_sum_of_predictions": "PE-US, summed over predicted regions.",
    "pixels": "Pixels that count: those that are not void in the truth.",
    "pq_found": "Matched regions of panoptic quality.",
    "pq_invented": "Predicted regions without a match.",
    "pq_missed": "True regions without a match.",
    "pq_iou_sum": "IoU, summed over matched regions.",
    **{f"matched_{k}": f"Regions matched at an overlap of .{k}." for k in range(50, 100, 5)},
    "with_confidence": "Pixels that have a confidence.",
}
TIMED = {"model": "Seconds of the forward pass."}  # where a table means another thing by a word
SAMPLED = {
    "corpus.parquet": "corpus.parquet",
    "predictions/MODEL, truth/NAME": "predictions/*/*.parquet",
    "pairs/MODEL": "pairs/*/*.parquet",
    "timings.parquet, failures.csv, log.jsonl": "timings.parquet",
    "measures/statistics": "measures/statistics/*/*/*.parquet",
    "measures/per_image.parquet": "measures/per_image.parquet",
}


def make_study(root: Path) -> Path:
    """Make a small study of drawn streets and two made models, with standings and measures."""
    import faultscape as fs
    from faultscape.formats import png
    from faultscape.nouns import Classes
    from faultscape.scenes.street import CLASSES

    rng = np.random.default_rng(0)
    for index in range(6):
        drawn = fs.scenes.scene(index, size=(64, 40))
        maps = {"images": drawn.image, "truth": drawn.truth}
        for model, wrong in {"one": 6, "two": 16}.items():
            maps[model] = drawn.truth.copy()
            y, x = rng.integers(0, 24, 2)
            maps[model][y : y + wrong, x : x + wrong] = 2
        for folder, pixels in maps.items():
            where = root / folder
            where.mkdir(exist_ok=True)
            (where / f"{index}.png").write_bytes(png.encode_pixels(pixels))
    study = str(root / "study")
    ids, names, colours = zip(*CLASSES, strict=True)
    fs.collect(study, str(root / "images"), classes=Classes(names, ids, colours))
    fs.predict(study, f"one={root / 'one'}", f"two={root / 'two'}", engine="local")
    fs.compare(study, engine="local")
    fs.select(study)
    fs.label.import_(study, str(root / "truth"))
    fs.rank(study, resamples=50, engine="local")
    fs.measure(study, resamples=50, engine="local")
    return root / "study"


@cache
def schemas() -> dict[str, list[tuple[str, str]]]:
    """Return {heading: (column, type)} of the tables of a small study; LookupError for a column of which
    nothing is said.
    """
    import pyarrow.parquet as pq

    with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
        root = make_study(Path(folder))
        found = {}
        for title, pattern in SAMPLED.items():
            path = next(iter(sorted(root.glob(pattern))), None)
            if path is None:
                raise LookupError(f"a small study holds no {pattern}")
            found[title] = [(c.name, str(c.type)) for c in pq.read_schema(path)]
    said = COLUMNS.keys() | statistics().keys() | STATISTICS.keys()
    for title, columns in found.items():
        lacking = [name for name, _ in columns if name not in said]
        if lacking:
            raise LookupError(
                f"docs/_ext/study_files.py: COLUMNS says nothing of {title}: {', '.join(lacking)}"
            )
    return found


@cache
def statistics() -> dict[str, str]:
    """Return what is said about columns that catalogues name: metrics, and the statistics that they read."""
    from faultscape.metrics.catalogue import METRICS

    read: dict[str, list[str]] = {}
    for metric in METRICS:
        read.setdefault(metric.reads, []).append(f"`{metric.name}`")
    said = {name: f"What {', '.join(of)} are made of." for name, of in read.items()}
    return said | {m.name: f"{m.called[:1].upper()}{m.called[1:]} of that image." for m in METRICS}


def fields_of(file: str, name: str) -> list[tuple[str, str, str, str]]:
    """Return (field, type, default, meaning) of a model of settings as its file writes them; a meaning is the
    comment behind a field, or what the file says about it at its top.
    """
    path = public.PACKAGE / "study" / file
    lines, whole = path.read_text(encoding="utf-8").splitlines(), public.tree(path)
    about = ast.get_docstring(whole) or ""
    constants = {
        n.targets[0].id: n.value
        for n in whole.body
        if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)
    }
    (node,) = (n for n in whole.body if isinstance(n, ast.ClassDef) and n.name == name)
    found = []
    for n in node.body:
        if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name):
            value = n.value
            if isinstance(value, ast.Call) and value.args:  # a field with bounds
                value = value.args[0]
            if isinstance(value, ast.Name):
                value = constants.get(value.id, value)
            _, mark, comment = lines[n.lineno - 1].partition("  # ")
            said = comment if mark else " ".join(docstrings.clauses(about, n.target.id))
            default = ast.unparse(value) if value else "required"
            found.append((n.target.id, ast.unparse(n.annotation), default, plain(said)))
    return found


def about(text: str) -> list[str]:
    """Return the first paragraph of a file's docstring, and the others folded."""
    head, *rest = blocks(text)
    inner = "\n\n".join(rest).replace("\n", "\n   ")
    return [head, f".. dropdown:: Conventions\n\n   {inner}"] if rest else [head]


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a table of reStructuredText."""
    widths = {2: "40 60", 3: "25 20 55", 4: "18 24 18 40"}[len(head)]
    lines = [".. list-table::", "   :header-rows: 1", f"   :widths: {widths}", "   :class: fields", ""]
    for row in [head, *rows]:
        lines += [f"   {'* -' if k == 0 else '  -'} {cell}" for k, cell in enumerate(row)]
    return "\n".join(lines)


def page() -> str:
    """Return the page as reStructuredText."""
    parts = [
        "Files of a study\n================",
        (
            "A study is a folder. Tables are Parquet, CSV or JSON and can be read with any tool; change nothing but"
            " ``study.toml`` by hand. Files that a verb has not made yet are not there."
        ),
    ]
    made = schemas()
    for title, file in HEADINGS.items():
        text = ast.get_docstring(public.tree(public.PACKAGE / "study" / file)) or ""
        parts += [f"{title}\n{'-' * len(title)}", *about(text)]
        if title in made:
            known = statistics() | COLUMNS | STATISTICS | (TIMED if "timings" in title else {})
            rows = [(f"``{n}``", f"``{kind}``", plain(known[n])) for n, kind in made[title]]
            parts.append(table(("column", "type", "meaning"), rows))
        parts += models(title)
    return "\n\n".join(parts)


def models(title: str) -> list[str]:
    """Return the tables of what stands in a file that is not a Parquet."""
    listed = {
        "study.toml": [
            ("settings.py", "Settings", "Keys at the top"),
            ("settings.py", "ClassSettings", "``[classes]``"),
            ("settings.py", "ModelSettings", "``[models.NAME]``"),
            ("settings.py", "ModelOptions", "``[models.NAME.options]``"),
            ("settings.py", "AnswerSettings", "``[answers]``"),
        ],
        "sets.json": [
            ("tables/stress_sets.py", "StressSets", "Keys at the top"),
            ("tables/stress_sets.py", "StressSet", "A set that was made"),
            ("tables/stress_sets.py", "DataSource", "A set of a known layout"),
        ],
        "queries.csv, web": [
            ("tables/web_pictures.py", "Term", "``queries.csv``"),
            ("tables/web_pictures.py", "WebPicture", "``web/pictures.csv``"),
        ],
    }.get(title, [])
    out = []
    for file, name, caption in listed:
        found = fields_of(file, name)
        optional = name == "ModelOptions"
        rows = [
            (f"``{n}``", f"``{kind}``", "optional" if optional else given(default), said)
            for n, kind, default, said in found
        ]
        out += [f".. rubric:: {caption}", table(("key", "type", "default", "meaning"), rows)]
    if title == "answers":
        from faultscape.study.answers.schema import tables

        for name, held in tables().items():
            rows = [(f"``{c.name}``", f"``{str(c.type).lower()}``") for c in held.columns]
            out += [f".. rubric:: ``{name}``", table(("column", "type"), rows)]
    return out


def given(default: str) -> str:
    """Return a default as a cell."""
    return default if default == "required" else f"``{default}``"
