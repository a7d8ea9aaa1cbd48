"""What boxes say about ten networks, against masks: ``python benchmarks/boxes.py`` writes boxes.csv.

Conventions: boxes are made from CamVid's test masks, one around each connected piece of a class; void pixels
count as no class, for boxes and masks alike. A pair is settled by masks if the 95 % interval of its IoU
difference (images left out one by one) excludes 0, by boxes if the interval of bounds does. ``fill`` is none,
half, or what the masks' classes really cover of their boxes, the most that anybody could assume.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
from PIL import Image
from scipy.stats import spearmanr

from faultscape.maps.boxes import boxes_of_mask
from faultscape.metrics.boxes.bounds import BOX_METRICS, box_bounds, difference_bounds
from faultscape.metrics.boxes.counts import box_counts, stacked
from faultscape.metrics.boxes.intervals import interval_of_bounds, left_out_errors

DATA = Path(os.environ.get("FAULTSCAPE_DATA", "shared/data"))
OUT = Path(__file__).parents[1] / "docs" / "benchmarks" / "data" / "boxes.csv"
NAMES = (
    "sky", "building", "pole", "road", "pavement", "tree", "sign", "fence", "car", "pedestrian", "bicyclist",
)  # fmt: skip


def maps() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the truth (H, W) and the networks' maps (J, H, W) of each image."""
    models = sorted(path for path in (DATA / "camvid-zoo").iterdir() if path.is_dir())
    for path in sorted((DATA / "camvid" / "testannot").glob("*.png")):
        found = [np.asarray(Image.open(model / "labels" / path.name)) for model in models]
        yield np.asarray(Image.open(path)), np.stack(found)


def of_masks(cells: np.ndarray) -> dict[str, np.ndarray]:
    """Return the metrics (..., J) of true positives, predicted and true pixels (..., J, 3)."""
    hit, said, there = np.moveaxis(cells.astype(float), -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return {"precision": hit / said, "recall": hit / there, "iou": hit / (said + there - hit)}


def main() -> None:
    """Count all images, and write a row for each class, metric and fill."""
    counts, cells = [], []
    for truth, found in maps():
        rows, mine = [], []
        for place in range(len(NAMES)):
            there = truth == place
            rows.append(box_counts(found, boxes_of_mask(there), place))
            said = found == place
            mine.append([((one & there).sum(), one.sum(), there.sum()) for one in said])
        counts.append(stacked(rows))
        cells.append(mine)
    boxed, held = stacked(counts), np.array(cells)  # (I, C, ...), (I, C, J, 3)
    everything, left_out = boxed.summed(), boxed.without(np.arange(len(counts)))
    total, without = held.sum(0), held.sum(0) - held
    real = total[:, 0, 2] / everything.covered
    out = []
    for metric in BOX_METRICS:
        value, others = of_masks(total)[metric], of_masks(without)[metric]
        gap = value[:, :, None] - value[:, None]
        error = left_out_errors(others[..., :, None] - others[..., None, :])
        by_masks = np.abs(gap) > 1.96 * error
        for word, fill in (("none", 0.0), ("half", 0.5), ("real", real)):
            bounds = box_bounds(everything, metric, fill)
            ends = difference_bounds(everything, metric, fill)
            spread = left_out_errors(difference_bounds(left_out, metric, fill))
            interval = interval_of_bounds(ends, spread)
            by_boxes = (interval[..., 0] > 0) | (interval[..., 1] < 0)
            pairs = tuple(zip(*combinations(range(value.shape[1]), 2), strict=True))
            for k, name in enumerate(NAMES):
                wrong = by_boxes[k] & (np.sign(ends[k, ..., 0]) != np.sign(gap[k]))
                holds = (bounds[k, :, 0] <= value[k] + 1e-9) & (value[k] <= bounds[k, :, 1] + 1e-9)
                known = ~np.isnan(value[k])
                assert holds[known].all() or word == "half", (name, metric)
                out.append(
                    {
                        "class": name,
                        "metric": metric,
                        "fill": word,
                        "boxes": int(everything.boxes[k]),
                        "real_fill": round(float(real[k]), 3),
                        "value": round(float(np.nanmean(value[k])), 3),
                        "low": round(float(np.nanmean(bounds[k, :, 0])), 3),
                        "high": round(float(np.nanmean(bounds[k, :, 1])), 3),
                        "order": round(
                            float(np.asarray(spearmanr(bounds[k, known, 1], value[k, known]))[0]), 2
                        ),
                        "pairs_masks": int(by_masks[k][pairs].sum()),
                        "pairs_boxes": int(by_boxes[k][pairs].sum()),
                        "pairs_wrong": int(wrong[pairs].sum()),
                    }
                )
    with OUT.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(out[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(out)


if __name__ == "__main__":
    main()
