"""Describe in one sentence what a model loses most by, if the numbers show it.

Conventions: a gap is a model's error of one kind for the regions of one class, minus that of the best model
(by mIoU). It counts only if its whole interval is above 0; without intervals there is no sentence. Its share
is of everything that the model's regions lose to the best model, over classes and kinds. Class names are as
in the class list.
Source: Zhang et al. 2021, section V (explaining where a model's error comes from).
"""

from __future__ import annotations

from collections.abc import Sequence

from faultscape.reporting.measure.document import GapRow, SetDocument

WAYS = {
    "over": "splitting {} regions",
    "under": "merging neighbouring {} regions",
    "missed": "missing {} regions",
    "invented": "predicting {} regions where there are none",
}


def sentence(document: SetDocument, model: str) -> str:
    """Return one sentence on what a model loses most by; '' if nothing was compared, without intervals, or
    for images that were chosen because models differ.

    >>> gap = {
    ...     "model": "unet",
    ...     "best": "psp",
    ...     "class": "pole",
    ...     "kind": "under",
    ...     "gap": 0.2,
    ...     "low": 0.1,
    ...     "high": 0.3,
    ...     "share": 0.34,
    ... }
    >>> sentence({"models": {"unet": {}, "psp": {}}, "gaps": [gap]}, "unet")
    'unet loses most by merging neighbouring pole regions: 34 % of what its regions lose to psp.'
    """
    gaps = document.get("gaps") or []
    if document.get("chosen") or all(gap.get("low") is None for gap in gaps):
        return ""
    mine = [gap for gap in gaps if gap["model"] == model]
    if not mine:
        leads = model in {gap["best"] for gap in gaps}
        return f"{model} has the highest mIoU; the others are compared to it." if leads else ""
    best = mine[0]["best"]
    sure = standing_out(mine)
    if not sure:
        return f"{model}: no single kind of error stands out against {best}."
    first, *others = sure
    tail = f"; then by {way(others[0])} ({share(others[0])})" if others else ""
    return f"{model} loses most by {way(first)}: {share(first)} of what its regions lose to {best}{tail}."


def standing_out(gaps: Sequence[GapRow]) -> list[GapRow]:
    """Return the gaps whose interval is above 0, the largest first."""
    sure = [gap for gap in gaps if (gap.get("low") or 0) > 0 and gap.get("share") is not None]
    return sorted(sure, key=lambda gap: -gap["gap"])


def way(gap: GapRow) -> str:
    """Return a kind of error of a class as a phrase for what the model does.

    >>> way({"kind": "missed", "class": "pole"})
    'missing pole regions'
    """
    return WAYS[gap["kind"]].replace("{}", gap["class"])


def share(gap: GapRow) -> str:
    """Return a gap's share in per cent."""
    return f"{100 * (gap['share'] or 0):.0f} %"
