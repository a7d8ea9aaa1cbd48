"""A made measure.json with every part filled in and hostile names, and a reader of the page that is made of
it.
"""

from __future__ import annotations

import itertools
from html.parser import HTMLParser
from typing import Any

import numpy as np

HOSTILE = "<script>alert('x')</script>\"&amp;{}"
LOW = {
    "rom",
    "rum",
    "ror",
    "rur",
    "missed",
    "invented",
    "pe_os",
    "pe_us",
    "gce",
    "lce",
    "fpr95",
    "ece",
    "aurc",
    "brier",
    "misclassification_fpr95",
}
METRICS = (
    "miou",
    "dice",
    "pixel_accuracy",
    "rom",
    "rum",
    "ror",
    "rur",
    "missed",
    "pe_os",
    "pe_us",
    "ap",
    "pq",
    "gce",
    "lce",
    "boundary_f",
    "boundary_iou",
)
CLASSES = ("sky", "pole", HOSTILE)


def document(
    models: int = 3,
    *,
    intervals: bool = True,
    seed: int = 0,
    scores: bool = False,
    metrics: tuple[str, ...] = METRICS,
) -> dict[str, Any]:
    """A made measure.json: every part filled in, the second model's name hostile."""
    rng = np.random.default_rng(seed)
    names = ["unet", HOSTILE, *(f"model {k}" for k in range(2, models))][:models]
    wanted = (*metrics, *(("calibration_auroc", "misclassification_fpr95", "ece", "aurc") if scores else ()))
    values = {m: rng.uniform(0.2, 0.8, models).round(4).tolist() for m in wanted}
    found: dict[str, Any] = {name: {} for name in names}
    for m, (k, name) in itertools.product(wanted, enumerate(names)):
        x = values[m][k]
        found[name][m] = {
            "value": x,
            "low": x - 0.05 if intervals else None,
            "high": x + 0.05 if intervals else None,
            "undefined": 3 * (m == "rom"),
        }
        found[name][m] |= {"better": "low" if m in LOW else "high", "definition": f"what {m} is"}
        if m in ("miou", "rom", "rum"):
            found[name][m]["per_class"] = dict(
                zip(CLASSES, [*rng.uniform(0, 1, 2).tolist(), None], strict=True)
            )
    paired = []
    for (i, first), (j, second) in itertools.combinations(enumerate(names), 2):
        for m in wanted:
            d = values[m][i] - values[m][j]
            low, high = (d - 0.1, d + 0.1) if intervals else (None, None)
            paired.append(
                {
                    "metric": m,
                    "first": first,
                    "second": second,
                    "difference": d,
                    "low": low,
                    "high": high,
                    "images": 9,
                }
            )
    gaps = []
    if models > 1:
        gaps = [
            gap(names[0], names[1], "pole", "under", 0.2, 0.34),
            gap(names[0], names[1], HOSTILE, "missed", 0.1, 0.2),
        ]
    t = np.linspace(0, 1, 11)
    one = {
        "confidence": {
            "threshold": t.tolist(),
            "rom": (0.3 - 0.3 * t).tolist(),
            "rum": (0.2 * t).tolist(),
            "iou": [None, *(1 - t[1:]).tolist()],
            "area": 0.03,
            "frames": 59,
            "without": 174,
        },
        "precision_recall": {"recall": t.tolist(), "precision": (1 - t / 2).tolist()},
        "roc": {"fpr": t.tolist(), "tpr": np.sqrt(t).tolist()},
        "reliability": {"confidence": t.tolist(), "accuracy": (t**2).tolist(), "count": list(range(11))},
    }
    confusion = [[50, 3, 0, 0], [2, 7, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    return {
        "models": found,
        "images": dict.fromkeys(names, 9),
        "classes": list(CLASSES),
        "confusion": dict.fromkeys(names, confusion),
        "paired": paired,
        "gaps": gaps,
        "curves": {names[0]: one} if scores else {},
        "notes": [f"a note on {HOSTILE}"],
        "failures": 2,
        "provenance": {
            "faultscape": "0",
            "definitions": {"regions": "connected", "pooling": "pooled"},
            "resamples": 1000,
            "inputs": {"truth": {HOSTILE: 1}},
        },
    }


def gap(
    model: str, best: str, class_: str, kind: str, size: float, share: float, low: float = 0.05
) -> dict[str, Any]:
    return {
        "model": model,
        "best": best,
        "class": class_,
        "kind": kind,
        "gap": size,
        "low": low,
        "high": size + 0.1,
        "share": share,
    }


class Page(HTMLParser):
    """The tags and texts of a page; an end tag that fits no open one is an error."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.script = ""
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "img", "br"):
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open
        assert self._open.pop() == tag, (tag, self._open, self.getpos())

    def handle_data(self, data: str) -> None:
        if "script" in self._open:
            self.script += data
        elif "style" not in self._open:
            self.text += data

    def ids(self) -> set[str]:
        return {str(attrs["id"]) for _, attrs in self.tags if "id" in attrs}
