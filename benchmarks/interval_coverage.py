"""How often the 95 % intervals of `measure` hold the truth: 10, 30 or 100 images, or groups, drawn from those
of real networks, which are taken as all there are.

Conventions: ``python benchmarks/interval_coverage.py FOLDER [--repeats 1000] [--kinds KIND,...] [--sizes
10,30,100]`` adds to FOLDER/coverage.json what is missing there, a cell (kind, size) at a time, and prints the
rows of docs/benchmarks/intervals.md. FOLDER keeps what measure counted. The population of maps are the 233
test images of the CamVid zoo with ten networks, that of groups its runs of eight consecutive frames, that of
scores the 59 frames of two networks with confidence (every fourth, in groups of two), that of probabilities
the votes of four ensembles of the ten networks, that of anomaly 67 road scenes with four scores; each repeat
draws with replacement and takes two networks (or scores), whose intervals and whose difference's interval are
looked at. Scores are counted in 1,024 steps.
Source: Reed and Yu 1990 (rarity of colour); Achanta et al. 2009 (saliency).
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np

import faultscape as fs
from faultscape.metrics import calibration, selective, summary
from faultscape.metrics.definitions import Definitions
from faultscape.metrics.intervals.evidence import Drawn, Evidence, Ratios
from faultscape.metrics.intervals.units import Draws, draw_units, units_of
from faultscape.metrics.scores import bootstrap
from faultscape.metrics.scores.detection import detection
from faultscape.metrics.scores.rank_slopes import rank_images
from faultscape.metrics.summary import weighed
from faultscape.study.tables import measures
from faultscape.verbs.measure import lists
from faultscape.verbs.measure.measurement import Measurement
from faultscape.verbs.measure.scores import jobs as score_jobs
from faultscape.verbs.measure.scores import model_scores as scoring
from faultscape.verbs.options import MeasureOptions
from faultscape.verbs.verb import group_options

DATA = Path(os.environ.get("FAULTSCAPE_DATA", "../shared/data"))
ZOO = DATA / "camvid-zoo"
CONFIDENT = ("fcn", "unet-drop")
OF_MAPS = ("rom", "rum", "ap", "pe_us", "gce", "miou", "pq", "sq", "pixel_accuracy")
RESAMPLES = 400
# of the ten networks: ensembles of five and seven
VOTERS = (slice(0, None, 2), slice(1, None, 2), slice(0, 7), slice(3, None))
CLASSES = 11
TITLES = {
    "rom": "ROM",
    "rum": "RUM",
    "ap": "AP of regions",
    "pe_us": "PE-US",
    "gce": "GCE",
    "miou": "mIoU",
    "pq": "PQ",
    "sq": "SQ",
    "pixel_accuracy": "pixel accuracy",
    "misclassification_ap": "AP, incorrect",
    "calibration_auroc": "CalibrationAUC",
    "misclassification_fpr95": "FPR95, incorrect",
    "aurc": "AURC",
    "ece": "ECE",
    "mce": "MCE",
    "ece_classwise": "ECE, class-wise",
    "average_precision": "AP, anomalous",
    "auroc": "AUROC, anomalous",
    "fpr95": "FPR95, anomalous",
    "card_average_precision": "AP",
    "card_auroc": "AUROC",
    "card_fpr95": "FPR95",
}
Found = dict[str, Evidence]


def measured(folder: Path, names: list[str], **more: Any) -> Any:
    """Measure networks of the zoo into a folder; what is there is not made again."""
    models = {name: str(ZOO / name) for name in names}
    return fs.measure(
        str(DATA / "camvid" / "testannot"),
        models,
        classes=str(ZOO / "classes.json"),
        output=str(folder),
        resamples=0,
        worst=0,
        engine="local",
        **group_options(fs.measure, {"boundaries": False, **more}),
    )


def of_maps(folder: Path) -> tuple[list[dict[str, np.ndarray]], int]:
    """Return the statistics of each network, and how many images there are."""
    names = sorted(path.name for path in ZOO.iterdir() if path.is_dir())
    measured(folder, names)
    ids = sorted(path.stem for path in (DATA / "camvid" / "testannot").glob("*.png"))
    kept = [measures.Statistics(measures.folder(folder, "data", name), ids) for name in names]
    return [{key: stats[key] for key in stats if not key.startswith("curve_")} for stats in kept], len(ids)


def maps_evidence(stats: dict[str, np.ndarray], places: np.ndarray, _: Draws, __: np.ndarray) -> Found:
    """Return what the metrics of maps come from, of some images."""
    drawn = {key: values[places] for key, values in stats.items()}
    found = summary.summarise(drawn, Definitions(), range(11), np.ones(len(places), bool))
    return {metric: found[metric].evidence for metric in OF_MAPS}


def of_scores(folder: Path) -> tuple[list[dict[str, Any]], int]:
    """Return of each network with confidence its frames' histograms, and what calibration adds up."""
    sure = {name: str(ZOO / name / "confidence") for name in CONFIDENT}
    measured(folder, list(CONFIDENT), confidence=sure)
    models = tuple(f"{name}={ZOO / name}" for name in CONFIDENT)
    options = MeasureOptions(
        source=str(DATA / "camvid" / "testannot"),
        models=models,
        scores=fs.options.ScoreFolders(confidence=sure),
        classes=str(ZOO / "classes.json"),
        definitions=fs.options.Definitions(boundaries=False),
    )
    asked = Measurement(options, Definitions(), folder)
    (data,) = lists.of_line(asked, [], lambda _: None)
    out = []
    for found in score_jobs.scores(asked, data).found.values():
        images = [image for image in scoring.sparse_images(found, len(data.ids)) if len(image.places)]
        rows = {
            key.removeprefix("row_"): values for key, values in found.items() if key.startswith("row_bin")
        }
        out.append({"images": [coarser(image) for image in images], **rows})
    return out, len(out[0]["images"])


def coarser(image: bootstrap.SparseHistogram) -> bootstrap.SparseHistogram:
    """Return a histogram in 1,024 steps instead of 65,536."""
    places, inverse = np.unique(image.places // 64, return_inverse=True)
    known, anomalous = (
        np.bincount(inverse, values).astype(np.int64) for values in (image.known, image.anomalous)
    )
    return bootstrap.SparseHistogram(places, known, anomalous)


def scores_evidence(one: dict[str, Any], places: np.ndarray, draws: Draws, _: np.ndarray) -> Found:
    """Return what the metrics of scores come from, of some frames."""
    images = [one["images"][k] for k in places.tolist()]
    ranks = bootstrap.replicates(images, draws.weights)
    values: dict[str, np.ndarray] = dict(
        zip(("misclassification_ap", "calibration_auroc", "misclassification_fpr95"), ranks.T, strict=True)
    )
    values["aurc"] = np.concatenate(
        [selective.aurc(*pair) for pair in bootstrap.grouped(images, draws.weights)]
    )
    sums = {key: weighed(draws.weights, one[key][places]) for key in one if key.startswith("bin")}
    errors = {"ece": np.asarray(calibration.ece(sums)), "mce": np.asarray(calibration.mce(sums))}
    used = np.ones(len(places), bool)
    shapes = dict.fromkeys(errors, "bent") | {"misclassification_fpr95": "stepped"}
    return {
        metric: Drawn(*draws.split(found), used, shapes.get(metric, "smooth"))
        for metric, found in (values | errors).items()
    }


def of_probabilities(_: Path) -> tuple[list[dict[str, np.ndarray]], int]:
    """Return of each ensemble what class-wise calibration adds up, an image a row: its probabilities are
    shares of votes, with half a vote more for every class.
    """
    names = sorted(path.name for path in ZOO.iterdir() if path.is_dir())
    files = sorted((DATA / "camvid" / "testannot").glob("*.png"))
    counted: list[list[dict[str, np.ndarray]]] = [[] for _ in VOTERS]
    for file in files:
        truth = read(file)[::2, ::2]
        votes = np.stack([read(ZOO / name / "labels" / file.name)[::2, ::2] for name in names])
        said = votes[:, None] == np.arange(CLASSES)[:, None, None]
        for own, voters in zip(counted, VOTERS, strict=True):
            shares = (said[voters].sum(0) + 0.5) / (len(votes[voters]) + 0.5 * CLASSES)
            own.append(calibration.probability_counts(shares, truth, truth < CLASSES))
    kept = ("class_count", "class_right", "class_confidence")
    return [{key: np.stack([image[key] for image in own]) for key in kept} for own in counted], len(files)


def probabilities_evidence(
    one: dict[str, np.ndarray], places: np.ndarray, draws: Draws, _: np.ndarray
) -> Found:
    """Return what class-wise calibration comes from, of some images."""
    values = np.asarray(
        calibration.ece_classwise({key: weighed(draws.weights, of[places]) for key, of in one.items()})
    )
    return {"ece_classwise": Drawn(*draws.split(values), np.ones(len(places), bool), "bent")}


def of_anomaly(_: Path) -> tuple[list[dict[str, Any]], int]:
    """Return the frames' histograms of two scores that look at the photo alone, and of two made ones that
    know the mask, one pixel in sixteen.
    """
    rng = np.random.default_rng(0)
    scores: dict[str, list[np.ndarray]] = {}
    masks = []
    for entry in json.loads((DATA / "anomaly" / "index.json").read_text()):
        folder, number = DATA / "anomaly" / entry["set"], f"{entry['id']:03d}"
        mask = read(folder / "masks" / f"{number}.png")[::4, ::4]
        photo = cv2.GaussianBlur(read(folder / "images" / f"{number}.jpg"), (0, 0), 2)[::4, ::4]
        colour = cv2.cvtColor(photo, cv2.COLOR_BGR2LAB).astype(float)
        away = colour - colour.mean((0, 1))
        inverse = np.linalg.inv(np.cov(away.reshape(-1, 3).T) + np.eye(3))
        smooth = cv2.GaussianBlur(rng.standard_normal(mask.shape), (0, 0), 3)
        near = cv2.GaussianBlur((mask == 1).astype(float), (0, 0), 2)
        noise = 2 * smooth / smooth.std() + rng.normal(0, 0.7)  # some frames are harder than others
        found = {
            "rarity": ((away @ inverse) * away).sum(-1),
            "saliency": (away**2).sum(-1),
            "good": noise + 5 * near,
            "fair": noise + 3 * near,
        }
        for name, score in found.items():
            scores.setdefault(name, []).append(score)
        masks.append(mask)
    out = []
    for of in scores.values():
        how = bootstrap.coarse_of(
            detection(*(np.concatenate([x.ravel() for x in all_]) for all_ in (of, masks)))
        )
        out.append(
            {
                "images": [
                    coarser(bootstrap.sparse_histogram(s, m, how)) for s, m in zip(of, masks, strict=True)
                ]
            }
        )
    return out, len(masks)


def anomaly_evidence(one: dict[str, Any], places: np.ndarray, draws: Draws, _: np.ndarray) -> Found:
    """Return what the metrics of anomaly scores come from, of some frames whose pixels are pooled."""
    ranks = bootstrap.replicates([one["images"][k] for k in places.tolist()], draws.weights)
    shapes = {"average_precision": "smooth", "auroc": "smooth", "fpr95": "stepped"}
    used = np.ones(len(places), bool)
    return {
        metric: Drawn(*draws.split(ranks[:, k]), used, shape)
        for k, (metric, shape) in enumerate(shapes.items())
    }


def card_evidence(one: dict[str, Any], places: np.ndarray, draws: Draws, of: np.ndarray) -> Found:
    """Return what the card's AP, AUROC and FPR95 come from, of some frames; ``draws`` are of units."""
    found = rank_images([one["images"][k] for k in places.tolist()], of, draws)
    ranks = Ratios(found.average_precision, None), Ratios(found.auroc, None), found.fpr
    return dict(zip(("card_average_precision", "card_auroc", "card_fpr95"), ranks, strict=True))


def read(path: Path) -> np.ndarray:
    """Return a picture as it is in its file."""
    return np.asarray(cv2.imread(str(path), cv2.IMREAD_UNCHANGED))


KINDS: dict[str, tuple[Callable[[Path], Any], Callable[[Any, np.ndarray, Draws, np.ndarray], Found], int]] = {
    # population, what its metrics come from, how many consecutive images are a group
    "maps": (lambda folder: of_maps(folder / "maps"), maps_evidence, 1),
    "groups": (lambda folder: of_maps(folder / "maps"), maps_evidence, 8),
    "scores": (lambda folder: of_scores(folder / "scores"), scores_evidence, 1),
    "groups of scores": (lambda folder: of_scores(folder / "scores"), scores_evidence, 2),
    "probabilities": (of_probabilities, probabilities_evidence, 1),
    "groups of probabilities": (of_probabilities, probabilities_evidence, 8),
    "anomaly": (of_anomaly, anomaly_evidence, 1),
    "card: anomaly": (of_anomaly, card_evidence, 1),
    "card: errors": (lambda folder: of_scores(folder / "scores"), card_evidence, 1),
    "card: groups of errors": (lambda folder: of_scores(folder / "scores"), card_evidence, 2),
}


def cell(kind: str, size: int, repeats: int, folder: Path) -> dict[str, list[float]]:
    """Return {metric: [share of intervals that hold the truth, of differences, mean width]} of one kind and
    size.
    """
    population, make, run = KINDS[kind]
    models, images = population(folder)
    runs = np.array_split(np.arange(images), round(images / run))
    drawn, whole_units = make is not maps_evidence, units_of(images)
    true = [make(one, np.arange(images), draw_units(whole_units, 0, 0), whole_units.of) for one in models]
    held: Counter[tuple[str, str]] = Counter()
    width: dict[str, float] = {}
    for repeat in range(repeats):
        rng = np.random.default_rng([size, repeat])
        chosen = [runs[k] for k in rng.integers(0, len(runs), size)]
        places = np.concatenate(chosen)
        units = units_of([str(k) for k, run in enumerate(chosen) for _ in run])
        of = units.of
        if make is card_evidence:  # whose numbers are by unit
            units = units_of(units.count)
        draws = draw_units(units, RESAMPLES if drawn else 0, repeat, leave_out=drawn)
        one, other = rng.permutation(len(models))[:2].tolist()
        mine, theirs = make(models[one], places, draws, of), make(models[other], places, draws, of)
        for metric, found in mine.items():
            low, high = found.interval(units)
            width[metric] = width.get(metric, 0.0) + float(high - low)
            held[metric, "own"] += bool(low <= true[one][metric].value <= high)
            gap, whole = (
                a.common(b) for a, b in ((found, theirs[metric]), (true[one][metric], true[other][metric]))
            )  # type: ignore[arg-type]
            low, high = gap.interval(units)
            held[metric, "gap"] += bool(low <= whole.value <= high)
    return {
        metric: [held[metric, "own"] / repeats, held[metric, "gap"] / repeats, width[metric] / repeats]
        for metric in width
    }


def rows(found: dict[str, dict[str, list[float]]]) -> list[str]:
    """Return the rows of the page: a metric's share at each size, and its difference's; of several repeats
    the most.
    """
    cells: dict[tuple[str, str], dict[int, list[float]]] = {}
    for key in sorted(found, key=lambda key: int(key.rsplit(" ", 1)[1])):
        kind, size, _ = key.rsplit(" ", 2)
        for metric, of in found[key].items():
            cells.setdefault((kind, metric), {})[int(size)] = of
    out = []
    for (kind, metric), of in cells.items():
        shares = [share for size in sorted(of) for share in of[size][:2]]
        said = [
            (
                f"{share:.3f}".lstrip("0")
                if 0.92 <= round(share, 3) <= 0.98
                else f"**{share:.3f}**".replace("*0.", "*.")
            )
            for share in shares
        ]
        out.append(f"| {kind} | {TITLES[metric]} | {' | '.join(said)} |")
    return out


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--sizes", default="10,30,100")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    path = asked.folder / "coverage.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    for kind in asked.kinds.split(","):
        for size in asked.sizes.split(","):
            key = f"{kind} {size} {asked.repeats}"
            if key not in found:
                found[key] = cell(kind, int(size), asked.repeats, asked.folder)
                path.write_text(json.dumps(found, indent=1))
    print("\n".join(rows(found)))


if __name__ == "__main__":
    main()
