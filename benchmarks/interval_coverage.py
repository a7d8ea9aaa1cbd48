"""How often the 95 % intervals of `measure` hold the truth: 10, 30 or 100 images, or groups, drawn from those of real networks, which are taken as all there are.

Conventions: ``python benchmarks/interval_coverage.py FOLDER [--repeats 1000] [--kinds maps,groups,scores] [--sizes 10,30,100]`` adds to FOLDER/coverage.json what is
missing there, a cell (kind, size) at a time, and prints the table of docs/benchmarks-intervals.md. FOLDER keeps what measure counted. The population of maps are the
233 test images of the CamVid zoo with ten networks, that of groups its runs of eight consecutive frames, that of scores the 59 frames of two networks with confidence; each
repeat draws with replacement and takes two networks, whose intervals and whose difference's interval are looked at. Scores are counted in 1,024 steps.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import faultscape as fs
from faultscape.comparison import measure_lists, score_jobs, scoring
from faultscape.metrics import calibration, score_bootstrap, selective, summary
from faultscape.metrics.definitions import Definitions
from faultscape.metrics.evidence import Drawn, Evidence
from faultscape.metrics.summary import weighed
from faultscape.metrics.units import Draws, draw_units, units_of
from faultscape.study import measures

DATA = Path(os.environ.get("FAULTSCAPE_DATA", "../shared/data"))
ZOO = DATA / "camvid-zoo"
CONFIDENT = ("fcn", "unet-drop")
OF_MAPS = ("rom", "rum", "ap", "pe_us", "gce", "miou", "pq", "sq", "pixel_accuracy")
RESAMPLES = 400
RUN = 8  # consecutive frames of a group
Found = dict[str, Evidence]


def measured(folder: Path, names: list[str], **more: Any) -> Any:
    """Measure networks of the zoo into a folder; what is there is not made again."""
    models = {name: str(ZOO / name) for name in names}
    return fs.measure(
        str(DATA / "camvid" / "testannot"), models, classes=str(ZOO / "classes.json"), output=str(folder), boundaries=False, resamples=0, worst=0, engine="local", **more,
    )  # fmt: skip


def of_maps(folder: Path) -> tuple[list[dict[str, np.ndarray]], int]:
    """Return the statistics of each network, and how many images there are."""
    names = sorted(path.name for path in ZOO.iterdir() if path.is_dir())
    measured(folder, names)
    ids = sorted(path.stem for path in (DATA / "camvid" / "testannot").glob("*.png"))
    kept = [measures.Statistics(measures.folder(folder, "data", name), ids) for name in names]
    return [{key: stats[key] for key in stats if not key.startswith("curve_")} for stats in kept], len(ids)


def maps_evidence(stats: dict[str, np.ndarray], places: np.ndarray) -> Found:
    """Return what the metrics of maps come from, of some images."""
    drawn = {key: values[places] for key, values in stats.items()}
    found = summary.summarise(drawn, Definitions(), range(11), np.ones(len(places), bool))
    return {metric: found[metric].evidence for metric in OF_MAPS}


def of_scores(folder: Path) -> tuple[list[dict[str, Any]], int]:
    """Return of each network with confidence its frames' histograms, and what calibration adds up."""
    sure = {name: str(ZOO / name / "confidence") for name in CONFIDENT}
    measured(folder, list(CONFIDENT), confidence=sure)
    models = tuple(f"{name}={ZOO / name}" for name in CONFIDENT)
    about = dict.fromkeys(("images", "pattern", "background", "group", "block")) | {"ignore": (), "regions": "connected"}
    data = measure_lists.of_words(
        str(DATA / "camvid" / "testannot"), models, {"confidence": sure}, str(ZOO / "classes.json"), None, about, lambda _: None
    )
    options = {"boundaries": False, "divisor": None, "score_scale": None, "resize_maps": False}
    out = []
    for found in score_jobs.scores(folder, data, Definitions(), options).found.values():
        images = [image for image in scoring.sparse_images(found, len(data.ids)) if len(image.places)]
        rows = {key.removeprefix("row_"): values for key, values in found.items() if key.startswith("row_bin")}
        out.append({"images": [coarser(image) for image in images], **rows})
    return out, len(out[0]["images"])


def coarser(image: score_bootstrap.SparseHistogram) -> score_bootstrap.SparseHistogram:
    """Return a histogram in 1,024 steps instead of 65,536."""
    places, inverse = np.unique(image.places // 64, return_inverse=True)
    known, anomalous = (np.bincount(inverse, values).astype(np.int64) for values in (image.known, image.anomalous))
    return score_bootstrap.SparseHistogram(places, known, anomalous)


def scores_evidence(one: dict[str, Any], places: np.ndarray, draws: Draws) -> Found:
    """Return what the metrics of scores come from, of some frames."""
    images = [one["images"][k] for k in places.tolist()]
    ranks = score_bootstrap.replicates(images, draws.weights)
    values: dict[str, np.ndarray] = dict(
        zip(("misclassification_ap", "calibration_auroc", "misclassification_fpr95"), ranks.T, strict=True)
    )
    values["aurc"] = np.concatenate([selective.aurc(*pair) for pair in score_bootstrap.grouped(images, draws.weights)])
    sums = {key: weighed(draws.weights, one[key][places]) for key in one if key.startswith("bin")}
    errors = {"ece": np.asarray(calibration.ece(sums)), "mce": np.asarray(calibration.mce(sums))}
    used = np.ones(len(places), bool)
    shapes = dict.fromkeys(errors, "bent") | {"misclassification_fpr95": "stepped"}
    return {metric: Drawn(*draws.split(found), used, shapes.get(metric, "smooth")) for metric, found in (values | errors).items()}


def cell(kind: str, size: int, repeats: int, folder: Path) -> dict[str, list[float]]:
    """Return {metric: [share of intervals that hold the truth, of differences, mean width]} of one kind and size."""
    models, images = of_scores(folder / "scores") if kind == "scores" else of_maps(folder / "maps")
    runs = np.array_split(np.arange(images), round(images / RUN)) if kind == "groups" else [np.array([k]) for k in range(images)]
    everything = np.arange(images)
    once = draw_units(units_of(images), 0, 0)
    make: Callable[[Any, np.ndarray, Draws], Found]
    make = scores_evidence if kind == "scores" else lambda stats, places, _: maps_evidence(stats, places)
    true = [make(one, everything, once) for one in models]
    held: Counter[tuple[str, str]] = Counter()
    width: dict[str, float] = {}
    for repeat in range(repeats):
        rng = np.random.default_rng([size, repeat])
        chosen = [runs[k] for k in rng.integers(0, len(runs), size)]
        places = np.concatenate(chosen)
        units = units_of([str(k) for k, run in enumerate(chosen) for _ in run])
        draws = draw_units(units, RESAMPLES if kind == "scores" else 0, repeat, leave_out=kind == "scores")
        one, other = rng.permutation(len(models))[:2].tolist()
        mine, theirs = make(models[one], places, draws), make(models[other], places, draws)
        for metric, found in mine.items():
            low, high = found.interval(units)
            width[metric] = width.get(metric, 0.0) + float(high - low)
            held[metric, "own"] += bool(low <= true[one][metric].value <= high)
            gap, whole = (a.common(b) for a, b in ((found, theirs[metric]), (true[one][metric], true[other][metric])))  # type: ignore[arg-type]
            low, high = gap.interval(units)
            held[metric, "gap"] += bool(low <= whole.value <= high)
    return {metric: [held[metric, "own"] / repeats, held[metric, "gap"] / repeats, width[metric] / repeats] for metric in width}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--kinds", default="maps,groups,scores")
    parser.add_argument("--sizes", default="10,30,100")
    asked = parser.parse_args()
    path = asked.folder / "coverage.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    for kind in asked.kinds.split(","):
        for size in asked.sizes.split(","):
            key = f"{kind} {size} {asked.repeats}"
            if key not in found:
                found[key] = cell(kind, int(size), asked.repeats, asked.folder)
                path.write_text(json.dumps(found, indent=1))
    for key, rows in found.items():
        for metric, (own, gap, width) in rows.items():
            print(f"| {key} | {metric} | {own:.3f} | {gap:.3f} | {width:.4f} |")


if __name__ == "__main__":
    main()
