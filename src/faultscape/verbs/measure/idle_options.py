"""Find the options of `measure` that have no effect on the given data.

Conventions: an option affects maps (of classes or of given regions; from folders, or from a study, which has
its own classes and sizes), anomaly scores, or doubt of any kind. Messages show its command-line spelling,
with dashes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from faultscape.metrics.catalogue import METRICS
from faultscape.metrics.definitions import PRESETS, Definitions
from faultscape.verbs.measure.sets import DataSet

_DOUBT = frozenset(["doubt", "confidence", "probabilities"])
_MAPS = frozenset(["connected", "given"])
_FOLDERS = frozenset(["folders"])
_OF_DEFINITIONS = {
    name: frozenset().union(*(metric.needs for metric in METRICS if name in metric.options))
    for name in dict.fromkeys(name for metric in METRICS for name in metric.options)
}
_NEEDS: dict[str, frozenset[str]] = _OF_DEFINITIONS | {
    "classes": _FOLDERS,
    "ignore": _FOLDERS | {"anomaly"},
    "background": frozenset(["folders with classes"]),
    "labels": frozenset(["folders with classes", "anomaly"]),
    "all_unknown": frozenset(["confidence"]),
    "resize_maps": _FOLDERS,
    "images": _FOLDERS | {"anomaly"},
    "worst": _MAPS | {"anomaly"},
    "pattern": _FOLDERS | {"anomaly"},
    "connectivity": frozenset(["connected", "anomaly"]),
    "void": frozenset(["connected"]),
    "no_boundaries": frozenset(["connected"]),
    "divisor": frozenset(["given, with classes"]),
    "score_scale": _DOUBT | {"anomaly"},
    "seed": _DOUBT | {"anomaly"},
}
_WORDS = {
    "folders": "folders of maps",
    "connected": "maps of classes",
    "folders with classes": "folders of maps with --classes",
    "given": "--regions given",
    "given, with classes": "--regions given with --classes",
    "boundaries": "boundary metrics",
    "anomaly": "--anomaly",
    "doubt": "--doubt",
    "confidence": "--confidence",
    "probabilities": "--probabilities",
}


def idle(asked: Mapping[str, Any], sets: Sequence[DataSet], definitions: Definitions) -> list[str]:
    """Return a line for each option in ``asked`` that was set (None, False and empty are not) and has no
    effect on these data sets.

    >>> idle({"track": "anomaly", "bins": None}, [], Definitions())
    ['note: --track has no effect: it applies to --anomaly']
    """
    sources = [(data, source) for data in sets for source in data.models.values()]
    present = {kind for _, source in sources for kind in _DOUBT | {"anomaly"} if kind in source.scores}
    if any(source.has_maps for _, source in sources):
        present |= {definitions.regions}
        present |= (
            {"boundaries"} if definitions.regions == "connected" and not asked.get("no_boundaries") else set()
        )
    for data, source in sources:
        if source.files is not None:
            present |= {"folders"}
            present |= (
                {"folders with classes", f"{definitions.regions} with classes"}
                if data.with_classes
                else set()
            )
    lines = []
    for name, value in asked.items():
        if value is None or value is False or value in ([], ()):
            continue
        if name == "preset":
            said = PRESETS[value]  # what it changes, or, if nothing, the metrics it names
            own = [_NEEDS.get(key, present) for key in said if said[key] != getattr(Definitions(), key)]
            own = own or [_NEEDS.get(key, present) for key in said]
            if not any(needs & present for needs in own):
                lines.append(
                    f"note: --preset {value} has no effect: none of its metrics are computed; they apply to"
                    f" {_of(frozenset().union(*own))}"
                )
            continue
        needs = _NEEDS.get(name)
        if needs is None or needs & present:
            continue
        lines.append(f"note: --{name.replace('_', '-')} has no effect: it applies to {_of(needs)}")
    return lines


def _of(needs: frozenset[str]) -> str:
    return "maps" if needs >= _MAPS else " or ".join(_WORDS[need] for need in _WORDS if need in needs)
