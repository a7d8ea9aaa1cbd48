"""A small picture of what each metric counts: SVG that follows the page's colours, light and dark.

Conventions: maps of 14 x 8 cells; the truth is outlined, what is predicted is filled. What a metric rewards
is blue (``hit``), what it counts as an error is orange (``miss``), what it leaves out is grey. Numbers below a
picture are computed by the package from the very arrays that are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

CELL, WIDE, TALL = 14, 14, 8
Boxes = Sequence[tuple[int, int, int, int]]  # y, x, height, width


def mask(boxes: Boxes) -> np.ndarray:
    """Return (8, 14) of bool with boxes filled."""
    out = np.zeros((TALL, WIDE), bool)
    for y, x, h, w in boxes:
        out[y : y + h, x : x + w] = True
    return out


# truth and prediction of one class, by what they show
PAIRS = {
    "overlap": ([(1, 2, 5, 7)], [(2, 4, 5, 8)]),
    "torn": ([(1, 1, 6, 12)], [(1, 1, 6, 3), (1, 5, 6, 4), (1, 10, 6, 3)]),
    "merged": ([(1, 1, 6, 3), (1, 5, 6, 4), (1, 10, 6, 3)], [(1, 1, 6, 12)]),
    "missed": ([(1, 1, 3, 4), (4, 8, 3, 5)], [(1, 1, 3, 4)]),
    "invented": ([(1, 1, 3, 4)], [(1, 1, 3, 4), (4, 8, 3, 5)]),
    "matches": ([(1, 1, 3, 5), (5, 1, 2, 3), (1, 9, 3, 4)], [(1, 2, 3, 5), (1, 9, 3, 4), (5, 9, 2, 4)]),
    "sizes": ([(1, 1, 1, 1), (1, 4, 2, 2), (1, 8, 3, 5), (4, 1, 3, 6)], [(1, 8, 3, 5), (4, 1, 3, 6)]),
    "line": ([(3, 1, 2, 12)], [(3, 1, 2, 5), (2, 8, 2, 5)]),
    "parts": ([(0, 0, 8, 7)], [(0, 0, 8, 4)]),
}


def svg(body: str, about: str, width: int = WIDE * CELL, height: int = TALL * CELL) -> str:
    """Return an SVG with a text for people who cannot see it."""
    return (
        f'<svg class="counted" viewBox="-2 -2 {width + 4} {height + 4}" width="{width + 4}"'
        f' height="{height + 4}" role="img" aria-label="{about}">{body}</svg>'
    )


def cells(where: np.ndarray, kind: str) -> str:
    """Return the squares of a mask, runs of a row joined."""
    out = []
    for y, row in enumerate(where):
        edges = np.flatnonzero(np.diff(np.r_[0, row.astype(np.int8), 0]))
        out += [
            f'<rect class="{kind}" x="{a * CELL}" y="{y * CELL}" width="{(b - a) * CELL}" height="{CELL}"/>'
            for a, b in zip(edges[::2], edges[1::2], strict=True)
        ]
    return "".join(out)


def outline(boxes: Boxes, kind: str = "truth") -> str:
    """Return the outlines of boxes."""
    return "".join(
        f'<rect class="{kind}" x="{x * CELL}" y="{y * CELL}" width="{w * CELL}" height="{h * CELL}"/>'
        for y, x, h, w in boxes
    )


def frame(width: int = WIDE * CELL, height: int = TALL * CELL) -> str:
    """Return the edge of a picture."""
    return f'<rect class="sheet" width="{width}" height="{height}"/>'


def pixels(pair: str) -> str:
    """Return truth and prediction with pixels that both have, and that one has."""
    truth, prediction = (mask(boxes) for boxes in PAIRS[pair])
    body = frame() + cells(truth & prediction, "hit") + cells(truth ^ prediction, "miss")
    return svg(
        body + outline(PAIRS[pair][0]), "pixels that truth and prediction share, and that only one has"
    )


def regions(pair: str, right: Sequence[int] = ()) -> str:
    """Return true regions in outline and predicted regions filled, those that are right in blue."""
    truth, prediction = PAIRS[pair]
    body = frame() + "".join(
        cells(mask([box]), "hit" if k in right else "miss") for k, box in enumerate(prediction)
    )
    return svg(body + outline(truth), "true regions outlined, predicted regions filled")


def bands() -> str:
    """Return the bands inside the edges of truth and prediction."""
    ring = {}
    for name, boxes in zip(("truth", "prediction"), PAIRS["overlap"], strict=True):
        whole = mask(boxes)
        inner = mask([(y + 1, x + 1, h - 2, w - 2) for y, x, h, w in boxes])
        ring[name] = whole & ~inner
    both = ring["truth"] & ring["prediction"]
    body = frame() + cells(both, "hit") + cells((ring["truth"] | ring["prediction"]) & ~both, "miss")
    return svg(body + outline(PAIRS["overlap"][0]), "bands along the edges of truth and prediction")


def centrelines(of: str) -> str:
    """Return the pieces of a class with the centreline that is looked at."""
    truth, prediction = PAIRS["line"]
    body = frame() + cells(mask(prediction), "faint")
    line = ""
    if of in {"prediction", "both"}:
        line += '<path class="hitline" d="M14 56H84"/><path class="missline" d="M112 42H182"/>'
    if of in {"truth", "both"}:
        line += '<path class="hitline" d="M14 60H84"/><path class="missline" d="M84 60H182"/>'
    return svg(body + outline(truth) + line, "centrelines on and off the other map's class")


def partition() -> str:
    """Return two divisions of an image into parts."""
    cut = '<path class="truthline" d="M98 0V112"/>'
    wrong = mask([(0, 4, 8, 3)])
    return svg(frame() + cells(wrong, "miss") + cut, "two divisions of an image, and the pixels between")


@cache
def populations() -> tuple[np.ndarray, np.ndarray]:
    """Return scores and labels of a few pixels: label 1 to be found."""
    rng = np.random.default_rng(3)
    known, found = rng.normal(0.35, 0.13, 600), rng.normal(0.62, 0.15, 120)
    score = np.clip(np.r_[known, found], 0, 1)
    return score, np.r_[np.zeros(600, int), np.ones(120, int)]


def histogram(threshold: bool = True) -> str:
    """Return how scores of pixels to be found and of others lie, with the threshold of a recall of .95."""
    score, label = populations()
    width, height = WIDE * CELL, TALL * CELL
    body = frame()
    cut = float(np.quantile(score[label == 1], 0.05))
    for of, kind in ((0, "faint"), (1, "hit")):
        counts, _ = np.histogram(score[label == of], 28, (0, 1))
        tall = counts / counts.max() * (height - 10)
        for k, h in enumerate(tall):
            beyond = of == 0 and threshold and (k + 0.5) / 28 >= cut
            body += (
                f'<rect class="{"miss" if beyond else kind} half" x="{k * width / 28:.1f}"'
                f' y="{height - h:.1f}" width="{width / 28:.1f}" height="{h:.1f}"/>'
            )
    line = f'<path class="truthline" d="M{cut * width:.1f} 0V{height}"/>' if threshold else ""
    return svg(body + line, "scores of pixels to be found, and of the others")


def curve(xs: np.ndarray, ys: np.ndarray, about: str, most: float = 1.0) -> str:
    """Return a curve with the area below it."""
    width, height = WIDE * CELL, TALL * CELL
    at = " ".join(
        f"{x * width:.1f},{height - min(y / most, 1) * height:.1f}" for x, y in zip(xs, ys, strict=True)
    )
    area = f'<polygon class="hit half" points="{xs[0] * width:.1f},{height} {at} {xs[-1] * width:.1f},{height}"/>'
    return svg(f'{frame()}{area}<polyline class="curve" points="{at}"/>', about)


def precision_recall() -> str:
    """Return precision against recall."""
    score, label = populations()
    ordered = label[np.argsort(-score, kind="stable")]
    true = np.cumsum(ordered)
    keep = np.r_[np.arange(0, len(true), 6), len(true) - 1]
    return curve(
        true[keep] / true[-1], (true / np.arange(1, len(true) + 1))[keep], "precision against recall"
    )


def roc(limit: float = 1.0) -> str:
    """Return true against false positive rate, up to a limit."""
    score, label = populations()
    ordered = label[np.argsort(-score, kind="stable")]
    true, false = np.cumsum(ordered), np.cumsum(1 - ordered)
    keep = np.r_[np.arange(0, len(true), 6), len(true) - 1]
    keep = keep[false[keep] / false[-1] <= limit]
    return curve(false[keep] / false[-1], true[keep] / true[-1], "true against false positive rate")


def risk(of_all: bool) -> str:
    """Return errors among the surest pixels against their share."""
    score, label = populations()
    errors = np.cumsum(label[np.argsort(score, kind="stable")])
    n = len(errors)
    keep = np.arange(5, n, 6)
    ys = errors[keep] / (n if of_all else keep + 1)
    return curve(
        (keep + 1) / n, ys, "errors among the surest pixels against their share", most=float(ys.max())
    )


def reliability(largest: bool = False, uneven: bool = False) -> str:
    """Return bars of accuracy in bins of confidence, with the gaps to the diagonal."""
    width, height = WIDE * CELL, TALL * CELL
    right = np.array([0.12, 0.2, 0.42, 0.5, 0.52, 0.68, 0.78])
    edges = np.array([0, 0.3, 0.5, 0.65, 0.77, 0.86, 0.94, 1]) if uneven else np.linspace(0, 1, 8)
    middle = (edges[1:] + edges[:-1]) / 2
    gap = np.abs(right - middle)
    body = frame()
    for k in range(7):
        low, high = sorted((right[k], middle[k]))
        x, w = edges[k] * width, (edges[k + 1] - edges[k]) * width - 1
        body += f'<rect class="hit half" x="{x:.1f}" y="{height - low * height:.1f}" width="{w:.1f}" height="{low * height:.1f}"/>'
        if not largest or gap[k] == gap.max():
            body += f'<rect class="miss" x="{x:.1f}" y="{height - high * height:.1f}" width="{w:.1f}" height="{(high - low) * height:.1f}"/>'
    body += f'<path class="truthline" d="M0 {height}L{width} 0"/>'
    return svg(body, "accuracy in bins of confidence, and the gaps to the diagonal")


def windows(kind: str) -> str:
    """Return windows that are accurate or not, certain or not, those that count in blue."""
    words = (
        ("accurate, certain", "ac"),
        ("accurate, uncertain", "au"),
        ("inaccurate, certain", "ic"),
        ("inaccurate, uncertain", "iu"),
    )
    hits = {"pavpu": {"ac", "iu"}, "certain": {"ac"}, "inaccurate": {"iu"}}[kind]
    out = {"pavpu": set(), "certain": {"au", "iu"}, "inaccurate": {"ac", "au"}}[kind]
    body = ""
    for k, (word, short) in enumerate(words):
        x, y = k % 2 * 98, k // 2 * 56
        shade = "hit" if short in hits else "faint" if short in out else "miss"
        first, second = word.split(", ")
        body += (
            f'<rect class="{shade} half" x="{x}" y="{y}" width="97" height="55"/>'
            f'<text x="{x + 49}" y="{y + 24}">{first}</text><text x="{x + 49}" y="{y + 40}">{second}</text>'
        )
    return svg(body, "windows by accuracy and certainty")


def probabilities(of_true: bool) -> str:
    """Return the probabilities of three classes beside what is true."""
    body = frame()
    for k, (p, y) in enumerate(((0.6, 1.0), (0.3, 0.0), (0.1, 0.0))):
        x, high = 14 + k * 60, TALL * CELL
        low, top = min(p, y) * 108, max(p, y) * 108
        body += f'<rect class="hit half" x="{x}" y="{high - p * 108:.1f}" width="46" height="{p * 108:.1f}"/>'
        if not of_true or y:
            body += (
                f'<rect class="miss half" x="{x}" y="{high - top:.1f}" width="46" height="{top - low:.1f}"/>'
            )
    return svg(body, "probabilities of three classes, and how far each lies from the truth")


def _picture(make: Callable[..., str], *arguments: object) -> Callable[[], str]:
    return lambda: make(*arguments)


PICTURES: dict[str, Callable[[], str]] = {  # of metrics that need another one than their group's
    **dict.fromkeys(("rom", "ror", "pe_os"), _picture(regions, "torn")),
    **dict.fromkeys(("rum", "rur", "pe_us"), _picture(regions, "merged")),
    "missed": _picture(regions, "missed", (0,)),
    "invented": _picture(regions, "invented", (0,)),
    **dict.fromkeys(
        [
            f"{of}recall_{size}"
            for of in ("", "object_")
            for size in ("smallest", "small", "large", "largest")
        ],
        _picture(regions, "sizes", (0, 1)),
    ),
    "topology_precision": _picture(centrelines, "prediction"),
    "topology_sensitivity": _picture(centrelines, "truth"),
    **dict.fromkeys(("average_precision", "misclassification_ap", "correct_ap"), precision_recall),
    **dict.fromkeys(("auroc", "calibration_auroc"), roc),
    "misclassification_fpr95": histogram,
    "aupro": _picture(roc, 0.3),
    **dict.fromkeys(("component_siou", "component_precision", "component_f1"), _picture(pixels, "matches")),
    "augrc": _picture(risk, True),
    "pavpu": _picture(windows, "pavpu"),
    "p_accurate_certain": _picture(windows, "certain"),
    "p_uncertain_inaccurate": _picture(windows, "inaccurate"),
    "brier": _picture(probabilities, False),
    **dict.fromkeys(("nll", "brier_top"), _picture(probabilities, True)),
    "mce": _picture(reliability, True),
    "ece_equal_mass": _picture(reliability, False, True),
}
OF_GROUPS: dict[str, Callable[[], str]] = {
    "pixels": _picture(pixels, "overlap"),
    "regions": _picture(regions, "matches", (0, 1)),
    "partitions": partition,
    "boundaries": bands,
    "centrelines": _picture(centrelines, "both"),
    "anomaly scores": histogram,
    "confidence": _picture(risk, False),
    "calibration": reliability,
}


def picture_of(name: str, group: str) -> str:
    """Return the picture of a metric."""
    return PICTURES.get(name, OF_GROUPS[group])()
