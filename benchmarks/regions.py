"""Region metrics against named peers: ratios in one run on one core, for the table that ``make bench``
writes.

Conventions: pairs of a true and a predicted map, (H, W) uint8 of 21 classes, made by made_maps. Ours is
``measured``: of each pair the table of overlaps from runs and its counts, GCE and LCE of the regions, then
ROR, ROM, RUR, RUM, PE-OS, PE-US, AP, PQ, SQ, RQ of every class from the counts of all images at once, as
`measure` does it. Peers do less: what each does stands in its row. One that is not installed is said to be
so; ``pairwise_loop`` is our own plain writing of a public algorithm and needs only scipy. Every peer's
numbers are held equal to ours before anything is timed. Times are processor seconds of this thread, the least
of several, for one pair.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec

import cv2
import numpy as np
from clock import in_turns
from made_maps import maps
from scipy.ndimage import label as components

from faultscape.maps.regions import overlaps
from faultscape.metrics import boundary
from faultscape.metrics.overlaps import partition
from faultscape.metrics.overlaps import regions as region_set

Row = tuple[str, str, str]
Pairs = Sequence[tuple[np.ndarray, np.ndarray]]
C = 21
GOES = (5, 2)  # of ours and of the peer
EIGHT = np.ones((3, 3), int)


def measured(pairs: Pairs) -> tuple[dict[str, np.ndarray], list[tuple[float, float]]]:
    """Ours: {metric: (I, C)} of all region metrics, and GCE and LCE of each image."""
    tables = [overlaps(truth, prediction, C) for truth, prediction in pairs]
    counts = [region_set.count([table, table], C, "iou") for table in tables]
    errors = [partition.consistency_errors(table.truth, table.prediction, table.pixels) for table in tables]
    return region_set.measure({name: np.stack([c[name] for c in counts]) for name in counts[0]}), errors


def pairwise_loop(truth: np.ndarray, prediction: np.ndarray) -> tuple[list[float], list[float]]:
    """An own copy of the algorithm of haruishi43/rom_rum, class by class: ROM and RUM (0 where a side has no
    region).

    Each measure labels both masks anew and tests every true region against every predicted one with masks of
    the whole image. Published with the reference of this project: 217 ms on easy maps and 151 on web-like
    ones, of the original with scikit-image.
    """

    def labelled(mask: np.ndarray) -> tuple[np.ndarray, int]:
        if find_spec("skimage"):
            from skimage.measure import label

            regions = label(mask, connectivity=2)
            return regions, int(regions.max())
        return components(mask, EIGHT)  # pyright: ignore[reportReturnType]

    def torn(whole: np.ndarray, pieces: np.ndarray) -> float:
        (some, n), (others, m) = labelled(whole), labelled(pieces)
        touched: set[int] = set()
        split = extra = 0
        for i in range(1, n + 1):
            region = some == i
            hit = [j for j in range(1, m + 1) if np.sum(region & (others == j)) > 0]
            if len(hit) > 1:
                split += 1
                extra += len(hit) - 1
                touched.update(hit)
        return math.tanh(split * len(touched) / (n * m) * extra) if n and m else 0.0

    masks = [(truth == c, prediction == c) for c in range(C)]
    return [torn(t, p) for t, p in masks], [torn(p, t) for t, p in masks]


def components_table(truth: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    """cc3d's components of all classes at once, twice, and np.bincount of pairs: (N, M) shared pixels, and no
    metric yet.
    """
    import cc3d

    # cc3d leaves 0 out, so classes go up by one
    (one, n), (other, m) = (
        cc3d.connected_components(x + 1, connectivity=8, return_N=True) for x in (truth, prediction)
    )
    pair = one.ravel().astype(np.int64) * (m + 1) + other.ravel()
    return np.bincount(pair, minlength=(n + 1) * (m + 1)).reshape(n + 1, m + 1)[1:, 1:]


def torch_quality(truth: np.ndarray, prediction: np.ndarray) -> Callable[[], np.ndarray]:
    """Of torchmetrics, PanopticQuality of every class from (class, region) maps; the maps are made outside
    the timing.
    """
    import torch
    from torchmetrics.functional.detection import panoptic_quality

    def pairs(label_map: np.ndarray) -> torch.Tensor:
        instances = np.zeros(label_map.shape, np.int64)
        for c in range(C):
            numbered, _ = components(label_map == c, EIGHT)  # pyright: ignore[reportGeneralTypeIssues]
            instances += numbered
        return torch.from_numpy(np.stack([label_map.astype(np.int64), instances], -1))[None]

    true, predicted = pairs(truth), pairs(prediction)

    def work() -> np.ndarray:
        return panoptic_quality(
            predicted, true, things=set(range(C)), stuffs=set(), return_per_class=True
        ).numpy()[0]

    return work


def image_measures(truth: np.ndarray, prediction: np.ndarray) -> tuple[float, float]:
    """scikit-image's variation of information and adapted Rand error, its own components of all classes
    first.
    """
    from skimage.measure import label
    from skimage.metrics import adapted_rand_error, variation_of_information

    one, other = (
        label(x, connectivity=2, background=-1) for x in (truth.astype(np.int32), prediction.astype(np.int32))
    )
    return sum(variation_of_information(one, other)), adapted_rand_error(one, other, ignore_labels=())[0]


def class_by_class(truth: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    """OpenCV's erosions and exact distances, class by class, as boundary metrics are usually written: the
    counts of `boundary.boundary_counts`.
    """
    diagonal = math.hypot(*truth.shape)
    within = 0.0075 * diagonal
    thick = max(1, round(0.02 * diagonal))
    cross = cv2.getStructuringElement(cv2.MORPH_CROSS, (3, 3))
    square = np.ones((3, 3), np.uint8)
    out = np.empty((C, 6), np.int64)
    for c in range(C):
        masks = [(label_map == c).astype(np.uint8) for label_map in (prediction, truth)]
        lines = [mask - cv2.erode(mask, cross) for mask in masks]
        near = [
            cv2.distanceTransform(1 - line, cv2.DIST_L2, cv2.DIST_MASK_PRECISE) <= within for line in lines
        ]
        padded = [cv2.copyMakeBorder(mask, 1, 1, 1, 1, cv2.BORDER_CONSTANT, value=0) for mask in masks]
        bands = [one & ~cv2.erode(one, square, iterations=thick) for one in padded]
        for k in (0, 1):
            out[c, 2 * k] = np.count_nonzero(lines[k] & near[1 - k])
            out[c, 2 * k + 1] = np.count_nonzero(lines[k])
        out[c, 4] = np.count_nonzero(bands[0] & bands[1])
        out[c, 5] = np.count_nonzero(bands[0] | bands[1])
    return out


def check(truth: np.ndarray, prediction: np.ndarray) -> None:
    """Hold every peer's numbers equal to ours."""
    cells = {name: values[0] for name, values in measured([(truth, prediction)])[0].items()}
    rom, rum = pairwise_loop(truth, prediction)
    assert np.allclose(np.nan_to_num(cells["rom"]), rom)
    assert np.allclose(np.nan_to_num(cells["rum"]), rum)
    table = overlaps(truth, prediction, C)
    if find_spec("cc3d"):
        sizes = components_table(truth, prediction)
        assert sizes.shape == (len(table.truth_area), len(table.prediction_area))
        assert sorted(sizes[sizes > 0].tolist()) == sorted(table.pixels.tolist())
    if find_spec("torchmetrics"):
        known = ~np.isnan(cells["pq"])
        assert np.allclose(torch_quality(truth, prediction)()[known], cells["pq"][known], atol=1e-6)
    if find_spec("skimage"):
        pairs = (table.truth, table.prediction, table.pixels)
        ours = partition.variation_of_information(*pairs), partition.adapted_rand(*pairs)
        assert np.allclose(image_measures(truth, prediction), ours)


def rows() -> Iterator[Row]:
    """Yield rows (what, measured, target)."""
    for kind, images, targets in (
        ("web", 8, (">= 300x", ">= 5x", ">= 1000x", "reported")),
        ("easy", 8, ("reported", "reported")),  # the first two peers
        ("hard", 1, ("reported",) * 4),
    ):
        pairs = [(stack[0], stack[1]) for stack in (maps(kind, 2, seed=s) for s in range(images))]
        check(*pairs[0])
        for (module, what, prepare), target in zip(peers(), targets, strict=False):
            line = f"region metrics, {kind}: times {what}"
            if module and not find_spec(module):
                yield line, f"{module} is not installed", target
                continue
            works = [prepare(*pair) for pair in pairs]
            few = 1 if kind == "hard" or module == "torchmetrics" else 3
            seconds, slow = in_turns(
                lambda p=pairs: measured(p), lambda w=works: [work() for work in w], few + 1, GOES
            )
            yield (
                line,
                f"{slow / seconds:.{0 if slow > 99 * seconds else 1}f}x ({seconds / images * 1e3:.2f} ms)",
                target,
            )
        yield from table_alone(kind, pairs)
    yield from sizes()


def table_alone(kind: str, pairs: Pairs) -> Iterator[Row]:
    """Yield a row of the table of regions and overlaps without a metric, beside what makes the same table."""
    line = f"table of regions and overlaps, {kind}: times cc3d twice and np.bincount"
    target = ">= 8x" if kind == "web" else "reported"
    if not find_spec("cc3d"):
        yield line, "cc3d is not installed", target
        return
    seconds, slow = in_turns(
        lambda: [overlaps(truth, prediction, C) for truth, prediction in pairs],
        lambda: [components_table(truth, prediction) for truth, prediction in pairs],
        5,
        GOES,
    )
    yield line, f"{slow / seconds:.1f}x ({seconds / len(pairs) * 1e3:.2f} ms)", target


def peers() -> list[tuple[str, str, Callable[[np.ndarray, np.ndarray], Callable[[], object]]]]:
    """Return (module it needs, what it does, from two maps the work to be timed) of each peer."""
    return [
        ("", "rom_rum's algorithm (own copy; ROM and RUM only)", lambda t, p: lambda: pairwise_loop(t, p)),
        (
            "cc3d",
            "cc3d twice and np.bincount (a table, no metric)",
            lambda t, p: lambda: components_table(t, p),
        ),
        ("torchmetrics", "torchmetrics' PanopticQuality (PQ only, regions given)", torch_quality),
        (
            "skimage",
            "scikit-image's VI and adapted Rand (these two only)",
            lambda t, p: lambda: image_measures(t, p),
        ),
    ]


def sizes() -> Iterator[Row]:
    """Yield rows of how ours grows with the image, and of what needs an assignment or looks at boundaries."""
    truth, prediction = maps("web", 2)
    wide = [(np.tile(truth, (2, 4)), np.tile(prediction, (2, 4)))]
    small, large = in_turns(lambda: measured([(truth, prediction)]), lambda: measured(wide), 5, GOES)
    yield (
        "region metrics, 1024 x 2048 (web, tiled): times 512 x 512",
        f"{large / small:.1f}x ({large * 1e3:.2f} ms)",
        "<= 8x",
    )
    table = overlaps(truth, prediction, C)
    pairs = (table.truth, table.prediction, table.pixels)
    alone, all_five = in_turns(
        lambda: partition.partition_distance(*pairs), lambda: partition.partition_errors(*pairs), 5, GOES
    )
    yield "partition distance, web, from the table: ms", f"{alone * 1e3:.2f}", "reported"
    yield "all five partition errors, web, from the table: ms", f"{all_five * 1e3:.2f}", "reported"
    many = crowded(500, 60)
    most, edges = in_turns(
        lambda: partition.partition_distance(*many),
        lambda: boundary.boundary_counts(truth, prediction, C),
        5,
        GOES,
    )
    yield "partition distance, 500 x 60 regions, 19,000 overlaps: ms", f"{most * 1e3:.1f}", "< 50"
    yield "boundary F-score and boundary IoU, web, 21 classes: ms", f"{edges * 1e3:.1f}", "reported"
    yield from boundaries()


def boundaries() -> Iterator[Row]:
    """Yield rows of boundary metrics, beside what looks class by class."""
    cv2.setNumThreads(1)  # else what its other threads do is not counted
    for kind in ("web", "easy", "hard"):
        truth, prediction = maps(kind, 2)
        assert (class_by_class(truth, prediction) == boundary.boundary_counts(truth, prediction, C)).all()
        seconds, slow = in_turns(
            lambda t=truth, p=prediction: boundary.boundary_counts(t, p, C),
            lambda t=truth, p=prediction: class_by_class(t, p),
            5,
            GOES,
        )
        yield (
            f"boundary F-score and boundary IoU, {kind}: times OpenCV's erosions and distances, class by class",
            f"{slow / seconds:.1f}x ({seconds * 1e3:.1f} ms)",
            ">= 10x",
        )


def crowded(true: int, predicted: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a table in which hardly any pair is forced: most regions overlap most others."""
    rng = np.random.default_rng(seed)
    cells = rng.integers(1, 900, (true, predicted)) * (rng.random((true, predicted)) < 0.64)
    return partition.confusion_table(cells)


if __name__ == "__main__":
    for line, value, target in rows():
        print(f"{line:<96} {value:<24} {target}", flush=True)
