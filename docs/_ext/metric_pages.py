"""A page a group of metrics: when to use it, and of each its formula, its definition by default, and a picture of what it counts.

Conventions: all but pictures is read off the catalogue.
"""

from __future__ import annotations

from docstring_sections import plain
from metric_pictures import picture_of

JOINS = {
    "pooled": "counts of all images are added, then divided",
    "cells": "mean over images of the mean over the classes that are defined there",
    "images": "mean over images",
}
NEEDS = {
    "connected": "label maps",
    "given": "maps of region ids",
    "boundaries": "label maps",
    "anomaly": "anomaly scores",
    "confidence": "confidence",
    "doubt": "doubt",
    "probabilities": "probabilities of all classes",
}
GROUPS = {
    "pixels": "Pixels: how many are right",
    "regions": "Regions: found, missed, torn apart, run together",
    "partitions": "Partitions: how alike two divisions of an image are, whatever the classes",
    "boundaries": "Boundaries: do edges lie where they should",
    "centrelines": "Centrelines: are thin things whole",
    "anomaly scores": "Anomaly scores: are unknown objects found",
    "confidence": "Confidence: does the model doubt where it is wrong",
    "calibration": "Calibration: is it right as often as it says",
}
LEADS = {  # what a group answers, and when to use it
    "pixels": (
        "How many pixels have the right class, over all images and class by class. Begin here: mIoU "
        "is the number that papers report, and the one to compare with theirs. Pixel accuracy and "
        "FWIoU follow the large classes; mIoU and MPA count every class alike."
    ),
    "regions": (
        "Which objects are found, missed, invented, torn apart or run together. Use these if you "
        "count or handle objects: two models with the same mIoU can differ in them."
    ),
    "partitions": (
        "How alike two divisions of an image into regions are, whatever the classes are called. Use "
        "these for maps of regions without classes, such as superpixels or instances, or beside the "
        "metrics of regions."
    ),
    "boundaries": (
        "Whether outlines lie where they should, within a few pixels. Use these if edges matter, for "
        "example for cutting out or measuring: mIoU hardly sees a wrong outline of a large object."
    ),
    "centrelines": (
        "Whether thin things such as roads, vessels and wires are connected along their length. Use "
        "these if a gap of a pixel is a serious error: mIoU hardly sees it."
    ),
    "anomaly scores": (
        "Whether a score per pixel finds what belongs to no class: unknown objects on the road, "
        "defects. Use these to compare detectors of the unknown; average precision is the first to "
        "read where unknown pixels are rare."
    ),
    "confidence": (
        "Whether a model doubts where it is wrong. Use these if doubtful pixels are left out or sent "
        "to a person: they rank pixels by doubt, and do not ask whether the probabilities themselves "
        "are right."
    ),
    "calibration": (
        "Whether a probability means what it says: of the pixels with a confidence of .8, 80 % should "
        "be right. Use these if probabilities are used as numbers, in a risk or a threshold; a "
        "temperature (`faultscape fit`) often mends what they show."
    ),
}
INDEX = r"""Metrics
=======

What :doc:`measure </reference/verbs/measure>` computes. Each metric has its formula, its definition by default
and a picture of what it counts. :math:`N_{ty}` are pixels of true class *t* and predicted class *y*, without
void of the truth; :math:`N_{t\cdot}` and :math:`N_{\cdot y}` their sums. *N* true and *M* predicted regions
belong to one image and class, *G* and *S* in formulas; *c* is confidence, *d* doubt, *s* an anomaly score."""


def part(metric: object) -> str:
    """Return what stands of one metric."""
    from faultscape.metrics.definitions import Definitions
    from faultscape.metrics.metric import Metric

    assert isinstance(metric, Metric)
    name, title = metric.name, metric.called[:1].upper() + metric.called[1:]
    needs = list(dict.fromkeys(NEEDS[need] for need in sorted(metric.needs)))
    facts = [
        ("Good is", "large; shown as its error, 1 minus it" if metric.better == "high" else "small"),
        ("Of several images", JOINS[metric.join]),
        ("Needs", " or ".join(needs)),
        ("Definition by default", plain(metric.text(Definitions()))),
        ("Options", ", ".join(f"``{option}``" for option in metric.options)),
        ("Source", plain(metric.source)),
        ("Computed", f"on request: ``--metric {name}``" if metric.on_request else ""),
    ]
    rows = "\n".join(f":{head}: {words}" for head, words in facts if words)
    heading = f"{plain(title)} ``{name}``"
    return (
        f".. _metric-{name}:\n\n{heading}\n{'-' * len(heading)}\n\n"
        f".. raw:: html\n\n   {picture_of(name, metric.group)}\n\n.. math::\n\n   {metric.formula}\n\n{rows}"
    )


def pages() -> dict[str, str]:
    """Return {path below metrics: text} of the pages of metrics."""
    from faultscape.metrics import catalogue

    found, rows = {}, []
    for group in catalogue.GROUPS:
        stem, title = group.replace(" ", "-"), GROUPS[group]
        metrics = [m for m in catalogue.METRICS if m.group == group]
        found[f"{stem}.rst"] = "\n\n".join(
            [
                f"{title}\n{'=' * len(title)}",
                plain(LEADS[group]),
                (
                    '.. raw:: html\n\n   <p class="key"><i class="hit"></i>counts for it <i class="miss"></i>'
                    'counts against it <i class="line"></i>truth, or a limit</p>'
                ),
                *map(part, metrics),
                (
                    "What each leaves out, its conventions, and how far others' numbers lie from it:"
                    " :doc:`every metric, defined </reference/definitions>`."
                ),
            ]
        )
        listed = ", ".join(f":ref:`{m.name} <metric-{m.name}>`" for m in metrics)
        rows.append(f"   * - :doc:`{title} <{stem}>`\n     - {listed}")
    table = ".. list-table::\n   :widths: 40 60\n\n" + "\n".join(rows)
    found["index.rst"] = f"{INDEX}\n\n{table}\n\n.. toctree::\n   :hidden:\n   :glob:\n\n   *"
    return found
