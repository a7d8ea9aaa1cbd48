"""Each metric of label maps as a function of maps: `miou(truth, prediction, classes=21)`, made from its entry
of the catalogue, so that name, definition and options are written once.

Conventions: those of `measure_maps`, whose values these are. scripts/metric_functions.py writes the same
signatures and docstrings into of_maps.pyi, for editors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from faultscape.metrics.batches.measure import Measure
from faultscape.metrics.catalogue import METRICS
from faultscape.metrics.functions.texts import docstring, finished, named_functions, refuse_others
from faultscape.metrics.metric import Metric

MAPS = {
    "truth, prediction": (
        "(I, H, W) maps of class ids, lists of (H, W), or one map (H, W): arrays or torch tensors."
    ),
    "classes": "Classes, a built-in name, names or a number.",
}
RULES = {
    "background": "The id that forms no regions, for classes given as a number.",
    "void": "The void id or ids, for classes given as a number or as names.",
    "divisor": "With regions='given': class = id // divisor; None: the id is the class.",
}
VOID_RULE = "cut or bridge, as in `define`; or the void id or ids, for classes given as a number or as names."


def signature_of(metric: Metric) -> str:
    """Return the parameters of a metric's function, as they are written.

    >>> from faultscape.metrics.catalogue import named
    >>> signature_of(named()["boundary_f"])
    'truth: Maps, prediction: Maps, classes: ClassList, *, background: int | None = None, void: int |
    tuple[int, ...] = (), preset: Preset | None = None, tolerance: float = 0.0075'
    """
    words = ["truth: Maps", "prediction: Maps", "classes: ClassList", "*", "background: int | None = None"]
    words.append(
        'void: VoidRule | int | tuple[int, ...] = "cut"'
        if "void" in metric.options
        else "void: int | tuple[int, ...] = ()"
    )
    if "regions" in metric.options:
        words.append("divisor: int | None = None")
    return ", ".join([*words, *finished(metric, leave_out=("void",))])


def text_of(metric: Metric) -> str:
    """Return the docstring of a metric's function."""
    rules = dict(RULES)
    if "void" in metric.options:
        rules["void"] = VOID_RULE
    if "regions" not in metric.options:
        del rules["divisor"]
    return docstring(
        metric,
        "predicted maps against true ones",
        MAPS | rules,
        "LabelMapError for maps that do not fit each other or the classes.",
        leave_out=("void",),
    )


def _made(metric: Metric) -> Callable[..., float]:
    allowed = {"background", "void", "preset", *metric.options}
    allowed |= {"divisor"} if "regions" in metric.options else set()

    def of_maps(truth: Any, prediction: Any, classes: Any, **options: Any) -> float:
        refuse_others(metric, options, allowed)
        measure = Measure(classes, [metric.name], **options)
        measure.update(truth, prediction)
        return measure.compute()[metric.name].value

    return of_maps


FUNCTIONS = {metric.name: (_made(metric), metric) for metric in METRICS if not metric.of_scores}
globals().update(named_functions(FUNCTIONS, signature_of, text_of, __name__))
