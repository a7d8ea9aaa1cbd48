"""What a definition is worth: the numbers of docs/reference/definitions.md, each metric under the conventions in use,
on real maps.

Conventions: ``python benchmarks/definitions.py`` prints rows (metric, convention, number); camvid-zoo (ten
networks, 233 maps of 11 classes) and anomaly (67 masks with a score made here, every fourth pixel) are
needed. A map metric is the mean over the networks, and the number of network pairs (of 45) that it orders
otherwise than the first row of its kind. Peers' conventions are written out here from what they document;
nothing of theirs is imported.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import combinations

import cv2
import numpy as np
from run import DATA

from faultscape.maps.regions import Overlaps
from faultscape.metrics import boundary, pixel, skeletons
from faultscape.metrics.image_statistics import confusion
from faultscape.metrics.overlaps import over_under, partition, recall_by_size, region_counts, regions
from faultscape.metrics.overlaps.components import component_counts, component_metrics
from faultscape.metrics.scores.curves import frame_bins, quantile_curve
from faultscape.metrics.scores.detection import detection
from faultscape.metrics.scores.region_overlap import aupro

C = 11
ZOO = DATA / "camvid-zoo"
Values = dict[str, np.ndarray]
Row = tuple[str, str, str]


def read(path: object) -> np.ndarray:
    return cv2.imread(str(path), cv2.IMREAD_UNCHANGED)


def zoo() -> tuple[list[str], list[str]]:
    names = sorted(p.name for p in ZOO.iterdir() if (p / "labels").is_dir())
    return names, sorted(p.name for p in (ZOO / names[0] / "labels").iterdir())


def mean(values: np.ndarray, axis: int) -> np.ndarray:
    return regions.mean(np.asarray(values, float), axis)


def network(name: str, images: list[str]) -> tuple[Values, Values]:
    """Return every map metric of one network: pixel metrics and region metrics, by convention."""
    cells, rows = [], []
    for image in images:
        truth, prediction = read(DATA / "camvid" / "testannot" / image), read(ZOO / name / "labels" / image)
        tables = {
            8: regions.connected(truth, prediction, C, 8, "cut"),
            4: regions.connected(truth, prediction, C, 4, "cut"),
        }
        bridged = regions.connected(truth, prediction, C, 8, "bridge")
        matrix = confusion(tables[8][0], C)
        cells.append(matrix)
        rows.append(region_row(tables, bridged, matrix) | boundary_row(truth, prediction))
    stacked = {key: np.stack([row[key] for row in rows]) for key in rows[0]}
    return pixel_values(np.stack(cells)), region_values(stacked)


def pixel_values(cells: np.ndarray) -> Values:
    """Return mIoU under seven ways to average, and two other metrics, from (I, C + 1, C + 1)."""

    def counts(of: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return np.diagonal(of, axis1=-2, axis2=-1)[..., :-1], of.sum(-1), of.sum(-2)

    pooled, each = counts(cells.sum(0)), counts(cells)
    iou = pixel.iou_of_classes(*each)
    return {
        "pooled over the data set, union (default)": pixel.miou(*pooled),
        "mean over images, classes of either map": mean(pixel.miou(*each), 0),
        "mean over images, classes of the truth": mean(pixel.miou(*each, over="truth"), 0),
        "mean over images, absent = 0 (S0 eq. 7 as printed)": mean(pixel.miou(*each, over="all"), 0),
        "mean over all cells (image, class)": np.nanmean(iou),
        "mean over images, absent = 1": np.nan_to_num(iou, nan=1.0).mean(),
        "per class over images, then classes": mean(mean(iou, 0), 0),
        "Dice, pooled": pixel.dice(*pooled),
        "FWIoU, pooled": pixel.fwiou(*pooled),
    }


def region_row(tables: dict[int, list], bridged: list, matrix: np.ndarray) -> Values:
    count = region_counts.count_regions
    row: Values = {f"8 {k}": v for k, v in regions.count(tables[8], C, "iou").items()}
    row |= {f"dice {k}": v for k, v in region_counts.count_matches(tables[8][0], C, match="dice").items()}
    row |= {f"4 {k}": v for k, v in count(tables[4][0], C).items()} | {
        f"bridge {k}": v for k, v in count(bridged[0], C).items()
    }
    segments = tables[8][0].truth, tables[8][0].prediction, tables[8][0].pixels
    row |= {f"segments {k}": np.float64(v) for k, v in partition.partition_errors(*segments).items()}
    row |= {
        f"classes {k}": np.float64(v)
        for k, v in partition.partition_errors(*partition.confusion_table(matrix)).items()
    }
    row["all pairs"] = np.float64(partition.adapted_rand(*segments, pairs="all"))
    there = matrix.sum(1)[:-1] + matrix.sum(0)[:-1] > 0
    row["sizes"] = recall_by_size.size_counts(tables[8][0], C)
    row["gce binary"] = mean(
        np.where(there, partition.gce_cells(partition.binary_cells(matrix[:-1])), np.nan), 0
    )
    return row


def boundary_row(truth: np.ndarray, prediction: np.ndarray) -> Values:
    row = {f"f {t}": boundary.boundary_counts(truth, prediction, C, tolerance=t) for t in (0.0075, 0.003)}
    row["skeletons"] = skeletons.skeleton_counts(truth, prediction, C)
    return row | {"no frame": boundary.boundary_counts(truth, prediction, C, frame=False)}


def region_values(rows: Values) -> Values:
    """Return the region metrics under their conventions: unless it says otherwise, means over images of means
    over classes.
    """

    def cut(prefix: str) -> Values:
        return {k.removeprefix(f"{prefix} "): v for k, v in rows.items() if k.startswith(f"{prefix} ")}

    def both(values: np.ndarray) -> np.ndarray:
        return mean(mean(values, 1), 0)

    eight, dice = cut("8"), cut("8") | cut("dice")
    precision, summed = over_under.average_precision_of_regions, {k: v.sum(0) for k, v in eight.items()}
    out = {}
    for name, measure in (("ROM", over_under.rom), ("RUM", over_under.rum)):
        out |= {
            f"{name}: mean over images of the mean over classes (default)": both(measure(eight)),
            f"{name}: per class over images, then classes": mean(mean(measure(eight), 0), 0),
            f"{name}: 4-connectivity": both(measure(cut("4"))),
            f"{name}: void = bridge": both(measure(cut("bridge"))),
            f"{name}: absent = zero": both(measure(eight, absent="zero")),
            f"{name}: scale = none": both(measure(eight, scale="none")),
        }
    out |= {f"AP50: match = {m}": both(precision(c, 0.5)) for m, c in (("iou", eight), ("dice", dice))}
    out |= {f"AP75: match = {m}": both(precision(c, 0.75)) for m, c in (("iou", eight), ("dice", dice))}
    out |= {f"PE-OS: per = {per}": both(over_under.pe_os(eight, per=per)) for per in over_under.PER}
    out |= {f"PE-US: per = {per}": both(over_under.pe_us(eight, per=per)) for per in over_under.PER}
    out |= {
        "PQ: pooled (default)": mean(over_under.panoptic_quality(summed), 0),
        "PQ: mean over images": both(over_under.panoptic_quality(eight)),
    }
    out |= {
        "GCE: classes (default)": rows["classes gce"].mean(),
        "GCE: binary, mean over classes": mean(rows["gce binary"], 0),
    }
    out |= {"GCE: connected regions": rows["segments gce"].mean(), "LCE: classes": rows["classes lce"].mean()}
    for name in ("partition_distance", "variation_of_information", "adapted_rand"):
        out |= {
            f"{name}: {of}": rows[f"{'segments' if of != 'classes' else of} {name}"].mean()
            for of in ("connected regions", "classes")
        }
    out["adapted_rand: connected regions, pairs = all"] = rows["all pairs"].mean()
    out |= {
        f"boundary F: {t:g} of the diagonal": both(boundary.boundary_f(rows[f"f {t}"]))
        for t in (0.0075, 0.003)
    }
    out["boundary F: pooled"] = mean(boundary.boundary_f(rows["f 0.0075"].sum(0)), 0)
    out["clDice: mean over images of the mean over classes (default)"] = both(
        skeletons.cldice(rows["skeletons"])
    )
    out["clDice: pooled"] = mean(skeletons.cldice(rows["skeletons"].sum(0)), 0)
    for k, quarter in enumerate(("smallest (default)", "second", "third", "largest")):
        out[f"recall of a quarter: {quarter}"] = mean(
            recall_by_size.recall_of_quarter(rows["sizes"].sum(0), k), 0
        )
    for what, key in (("with the frame (default)", "f 0.0075"), ("without the frame", "no frame")):
        out[f"boundary IoU: {what}"] = mean(boundary.boundary_iou(rows[key].sum(0)), 0)
    return out


def maps_table() -> Iterator[Row]:
    names, images = zoo()
    found = [network(name, images) for name in names]
    for part in (0, 1):
        table = {key: np.array([float(f[part][key]) for f in found]) for key in found[0][part]}
        first: dict[str, np.ndarray] = {}
        for key, values in table.items():
            kind = key.split(":")[0] if part else "mIoU"
            other = otherwise(first.setdefault(kind, values), values)
            yield kind, key, f"{values.mean():.4f} ({values.min():.3f} to {values.max():.3f}), {other} pairs"


def otherwise(first: np.ndarray, values: np.ndarray) -> int:
    """Return how many pairs of networks two metrics order differently."""
    return sum(
        (first[a] - first[b]) * (values[a] - values[b]) < 0 for a, b in combinations(range(len(first)), 2)
    )


def panoptic_void() -> Iterator[Row]:
    """PQ of two networks when pixels below a confidence are called void: by the reference rule, and with
    predicted void treated as true void is.
    """
    keys = ("pq_found", "pq_missed", "pq_invented", "pq_iou_sum")
    for name in ("fcn", "unet-drop"):
        frames = sorted(p.name for p in (ZOO / name / "confidence").iterdir())
        for threshold in (0.0, 0.5, 0.7, 0.9):
            sums = np.zeros((2, 4, C))
            for frame in frames:
                truth, prediction = (
                    read(DATA / "camvid" / "testannot" / frame),
                    read(ZOO / name / "labels" / frame),
                )
                said = np.where(
                    read(ZOO / name / "confidence" / frame) < threshold * 255, np.uint8(C), prediction
                )
                table = regions.connected(truth, said, C, 8, "bridge")[0]
                counts = region_counts.count_quality(table, C)
                sums += np.stack([np.stack([counts[key] for key in keys]), forgiving(table)])
            values = [mean(over_under.panoptic_quality(dict(zip(keys, s, strict=True))), 0) for s in sums]
            yield (
                "PQ",
                f"{name}, pixels below {threshold} void",
                f"reference rule {values[0]:.4f}, torchmetrics' rule {values[1]:.4f}",
            )


def forgiving(table: Overlaps) -> np.ndarray:
    """Return (4, C) found, missed, invented, summed IoU by torchmetrics' rule: what the prediction calls void
    leaves the union and half-void misses.
    """
    label, same = table.prediction_label[table.prediction], table.truth_label[table.truth]
    unsaid = np.bincount(table.truth, np.where(label == C, table.pixels, 0), len(table.truth_area))
    either = (table.truth_area - unsaid)[table.truth] + table.prediction_area[table.prediction] - table.pixels
    hit = (label == same) & (same < C) & (2 * table.pixels > either)
    missed = np.setdiff1d(np.flatnonzero(2 * unsaid <= table.truth_area), table.truth[hit])
    judged = (2 * table.void_area <= table.prediction_area + table.void_area) & (table.prediction_label < C)
    invented = np.setdiff1d(np.flatnonzero(judged), table.prediction[hit])
    counts = [
        np.bincount(x, minlength=C)
        for x in (same[hit], table.truth_label[missed], table.prediction_label[invented])
    ]
    return np.stack([*counts, np.bincount(same[hit], table.pixels[hit] / either[hit], C)])


def frames() -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return a made float64 logit and the mask of each frame, one pixel in sixteen."""
    rng, logits, masks = np.random.default_rng(0), [], []
    for entry in json.loads((DATA / "anomaly" / "index.json").read_text()):
        mask = read(DATA / "anomaly" / entry["set"] / "masks" / f"{entry['id']:03d}.png")[::4, ::4]
        smooth = cv2.GaussianBlur(rng.standard_normal(mask.shape), (0, 0), 3)
        near = cv2.GaussianBlur((mask == 1).astype(float), (0, 0), 2)
        logit = (
            2.0 * smooth / smooth.std()
            + 0.3 * rng.standard_normal(mask.shape)
            + 5 * near
            - 7
            + rng.normal(0, 0.7)
        )
        logits.append(logit)
        masks.append(mask)
    return logits, masks


def curve(score: np.ndarray, label: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return true and false positives at each distinct score, the largest first."""
    values, place = np.unique(-score, return_inverse=True)
    return np.cumsum(np.bincount(place, label, len(values))), np.cumsum(
        np.bincount(place, 1 - label, len(values))
    )


def ranks(score: np.ndarray, label: np.ndarray) -> dict[str, float]:
    """Return areas and FPR95 by the rules in use."""
    tp, fp = curve(score, label)
    if not (label.any() and (1 - label).any()):
        return dict.fromkeys(("ap", "trapezoid", "eleven", "auroc", "first", "closest", "line"), np.nan)
    recall, fpr, precision = tp / tp[-1], fp / fp[-1], tp / (tp + fp)
    best, full = np.maximum.accumulate(precision[::-1])[::-1], np.searchsorted(tp, tp[-1])
    return {
        "ap": float((np.diff(recall, prepend=0) * precision).sum()),
        "trapezoid": float(np.trapezoid(np.r_[1, precision], np.r_[0, recall])),
        "eleven": float(np.mean([best[np.searchsorted(recall, r)] for r in np.linspace(0, 1, 11)])),
        "auroc": float(np.trapezoid(np.r_[0, recall], np.r_[0, fpr])),
        "first": float(fpr[np.searchsorted(recall, 0.95)]),
        "closest": float(fpr[full - np.abs(recall - 0.95)[full::-1].argmin()]),
        "line": float(np.interp(0.95, recall, fpr)),
    }


def two_hundred(score: np.ndarray, label: np.ndarray) -> float:
    """Return AUROC from 200 equal thresholds on 0..1."""
    edges = np.linspace(0, 1, 200)
    tp, fp = (
        np.sort(score[label == k]).size - np.sort(score[label == k]).searchsorted(edges) for k in (1, 0)
    )
    return float(np.trapezoid((tp / tp[0])[::-1], (fp / fp[0])[::-1]))


def presets_table() -> Iterator[Row]:
    """What the presets of scores change, pixels and components, and how far what they leave open reaches."""
    logits, masks = frames()
    judged = np.concatenate([m.ravel() for m in masks])
    for kind, stored in (
        ("float16", np.float16),
        ("8 bits", lambda x: (np.round(255 / (1 + np.exp(-x))) / 255).astype(np.float16)),
    ):
        kept = [stored(x) for x in logits]
        exact = detection(np.concatenate([s.ravel() for s in kept]), judged)
        bins = [frame_bins(s, m) for s, m in zip(kept, masks, strict=True)]
        theirs = quantile_curve(bins)
        shuffles = np.array(
            [
                quantile_curve([bins[k] for k in np.random.default_rng(r).permutation(len(bins))])
                for r in range(20)
            ]
        )
        yield (
            "presets",
            f"{kind}, exact",
            f"ap {exact.average_precision:.4f}; auroc {exact.auroc:.4f}; fpr95 {exact.fpr95:.4f}",
        )
        yield "presets", f"{kind}, smiyc", f"ap {theirs[0]:.4f}; auroc {theirs[1]:.4f}; fpr95 {theirs[2]:.4f}"
        yield (
            "presets",
            f"{kind}, smiyc, frames in 20 orders",
            f"spread of ap {np.ptp(shuffles[:, 0]):.1e}; threshold {np.ptp(shuffles[:, 3]):.1e}",
        )
        for track in ("anomaly", "obstacle"):
            for name, threshold in (
                ("best F1", np.nextafter(exact.f1_threshold, -9)),
                ("smiyc", theirs.threshold),
                ("looked up", theirs.looked_up),
            ):
                counts = [
                    component_counts(s, m, threshold, track=track) for s, m in zip(kept, masks, strict=True)
                ]
                found = component_metrics({key: sum(c[key] for c in counts) for key in counts[0]})
                said = "; ".join(
                    f"{key.removeprefix('component_')} {float(v):.4f}" for key, v in found.items()
                )
                yield "presets", f"{kind}, {track} track, threshold {name}", f"at {threshold:.4f}: {said}"
    for rule in ("first", "closest"):
        one = [detection(s, m, fpr_rule=rule) for s, m in zip(logits, masks, strict=True)]
        mean = np.nanmean([d.fpr95 for d in one if d.positives and d.negatives])
        yield "presets", f"float64, mean over frames, {rule}", f"fpr95 {mean:.4f}"


def scores_table() -> Iterator[Row]:
    planes, masks = frames()
    logits = [plane[mask != 255] for plane, mask in zip(planes, masks, strict=True)]
    labels = [(mask[mask != 255] == 1).astype(np.int64) for mask in masks]
    truth = np.concatenate(labels)
    kinds: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "float64 logit": lambda x: x,
        "1 - p in float32": (
            lambda x: (np.float32(1) - (1 / (1 + np.exp(x))).astype(np.float32)).astype(float)
        ),
        "probability in 8 bits": lambda x: np.round(255 / (1 + np.exp(-x))) / 255,
    }
    for kind, change in kinds.items():
        score = change(np.concatenate(logits))
        all_ = ranks(score, truth)
        each = [ranks(change(x), y) for x, y in zip(logits, labels, strict=True)]
        yield (
            "anomaly",
            kind,
            "; ".join(f"{k} {v:.4f}" for k, v in all_.items()) + f"; zero {np.mean(score == 0):.3f}",
        )
        means = {k: np.nanmean([e[k] for e in each]) for k in all_}
        yield "anomaly", f"{kind}, mean over frames", "; ".join(f"{k} {v:.4f}" for k, v in means.items())
    for of, connectivity, limit in (
        ("default", 8, 0.3),
        ("connectivity=4", 4, 0.3),
        ("fpr_limit=0.05", 8, 0.05),
        ("fpr_limit=1", 8, 1.0),
    ):
        yield "anomaly", f"AUPRO, {of}", f"{aupro(planes, masks, connectivity=connectivity, limit=limit):.4f}"
    each = [aupro(plane, mask) for plane, mask in zip(planes, masks, strict=True)]
    yield "anomaly", "AUPRO, mean over frames", f"{np.nanmean(each):.4f}"
    eight = [np.round(255 / (1 + np.exp(-plane))) / 255 for plane in planes]
    yield "anomaly", "AUPRO, probability in 8 bits", f"{aupro(eight, masks):.4f}"
    probability = 1 / (1 + np.exp(-np.concatenate(logits)))
    yield "anomaly", "200 thresholds on 0..1", f"auroc {two_hundred(probability, truth):.4f}"
    constant = ranks(np.zeros(len(truth)), truth)
    yield (
        "anomaly",
        "constant score",
        f"{', '.join(f'{k} {v:.4f}' for k, v in constant.items())}; share {truth.mean():.4f}",
    )


def calibration_table() -> Iterator[Row]:
    """The conventions of calibration on the two networks with a confidence (8 bits, 59 frames)."""
    for name in ("fcn", "unet-drop"):
        sure, right = [], []
        for path in sorted((ZOO / name / "confidence").iterdir()):
            truth = read(DATA / "camvid" / "testannot" / path.name)
            sure.append(read(path)[truth < C] / 255)
            right.append((read(ZOO / name / "labels" / path.name) == truth)[truth < C])
        p, ok = np.concatenate(sure), np.concatenate(right)
        found = {
            f"ECE, {n} equal bins": gap(np.minimum((p * n).astype(int), n - 1), p, ok) for n in (10, 15, 100)
        }
        order = np.searchsorted(np.sort(p), p, "left") + np.searchsorted(np.sort(p), p, "right")
        found["ECE, 15 bins of equal mass"] = gap((order / 2 / len(p) * 15 * (1 - 1e-12)).astype(int), p, ok)
        wrong, correct = ranks(1 - p, (~ok).astype(np.int64)), ranks(p, ok.astype(np.int64))
        found |= {"accuracy": ok.mean(), "AUROC incorrect": wrong["auroc"], "AUROC correct": correct["auroc"]}
        found |= {
            "AP incorrect": wrong["ap"],
            "AP correct": correct["ap"],
            "AUROC 200 thresholds": two_hundred(1 - p, (~ok).astype(np.int64)),
        }
        yield "calibration", name, "; ".join(f"{k} {float(v):.4f}" for k, v in found.items())


def gap(place: np.ndarray, p: np.ndarray, ok: np.ndarray) -> float:
    return float(np.abs(np.bincount(place, p) - np.bincount(place, ok)).sum() / len(p))


if __name__ == "__main__":
    for table in (maps_table, panoptic_void, scores_table, presets_table, calibration_table):
        for metric, convention, measured in table():
            print(f"{metric:<26} {convention:<62} {measured}", flush=True)
