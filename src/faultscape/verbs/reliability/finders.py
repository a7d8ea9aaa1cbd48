"""Compare what finds a model's failures with the fewest labels: doubt, disagreement with the other models, or
chance. This links the card to a competition.

Conventions: a model's failures are the tenth of the labelled images (at least one) with its lowest mIoU, over
the classes that every holdout keeps. A finder orders images before any is labelled: by the mean doubt of the
image's pixels (the model's main scorer), or by 1 - the mean concordance with the other models' maps (the
selection criterion of Yan et al. 2021); ties follow the images' bytes. ``found`` is the share of failures
among the first tenth and fifth of the images. Below fifty images there are too few failures to compare.
``p_value`` is from a sign test of the two finders over units (images with everything made from them, or
groups): in how many units each has found more failures after a fifth of the labels. Made sets join if their
role is pool.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import numpy as np
from scipy.special import bdtr

from faultscape.comparison.concordance import concordances
from faultscape.errors import StudyError
from faultscape.metrics.scores.detection import detection
from faultscape.reading.pairs import read_block
from faultscape.reading.study import Study
from faultscape.reporting.measure.document import number
from faultscape.reporting.reliability.document import CardFinder
from faultscape.study.tables.corpus import Image
from faultscape.verbs.reliability.conditions import Condition, LabelledStudy, Units
from faultscape.verbs.reliability.numbers import ModelNumbers

FINDERS = ("doubt", "disagreement")
SHARES = (0.1, 0.2)
LEAST = 50  # images; with fewer, a tenth is less than five failures
_FAILING = 0.1


def finders(
    labelled: LabelledStudy, models: Sequence[ModelNumbers], conditions: Sequence[Condition], units: Units
) -> tuple[list[CardFinder], list[str]]:
    """Return the share of each model's failures that each finder has found after few labels, and a note if
    disagreement is unavailable.
    """
    study = labelled.study
    images = study.image_rows
    place = shlex.quote(str(study.root))
    asked = [
        id_
        for c in conditions
        if c.kind in ("clean", "corrupted")
        for id_ in c.images
        if c.kind == "clean" or images[id_].role == "pool"
    ]
    ids = sorted(set(asked), key=lambda id_: images[id_].key)
    together = (
        _disagreement(study, [model.name for model in models], [images[id_] for id_ in ids])
        if len(models) > 1
        else {}
    )
    notes = (
        []
        if together or len(models) < 2 or len(ids) < LEAST
        else [f"disagreement finds failures too; run `faultscape compare {place}` to add it"]
    )
    withheld = np.any([*labelled.withheld.values()], axis=0) if labelled.withheld else None
    out: list[CardFinder] = []
    for model in models:
        scorer, _ = model.own_scorer
        scored = model.mean_scores(scorer, ids) if scorer else {}
        there = model.image_miou(ids, withheld)
        known = [id_ for id_ in ids if id_ in there and not np.isnan(there[id_])]
        if len(known) < LEAST:
            continue
        quality = np.array([there[id_] for id_ in known])
        failing = np.zeros(len(known), bool)
        failing[np.argsort(quality, kind="stable")[: max(1, round(_FAILING * len(known)))]] = True
        of = np.array([units.of[id_] for id_ in known])
        hits = list[np.ndarray]()
        rows = list[CardFinder]()
        for finder, scores in zip(FINDERS, (scored, together.get(model.name, {})), strict=True):
            if all(id_ in scores for id_ in known):
                values = np.array([scores[id_] for id_ in known])
                first = np.argsort(-values, kind="stable")
                found = [
                    float(failing[first[: round(share * len(known))]].sum() / failing.sum())
                    for share in SHARES
                ]
                hit = np.zeros(len(known), bool)
                hit[first[: round(SHARES[-1] * len(known))]] = True
                hits.append(np.bincount(of, hit & failing, units.count))
                rows.append(
                    {
                        "model": model.name,
                        "finder": finder,
                        "images": len(known),
                        "failures": int(failing.sum()),
                        "found_tenth": number(found[0]),
                        "found_fifth": number(found[1]),
                        "auroc": number(detection(values, failing).auroc),
                    }
                )
        if len(hits) == len(FINDERS):
            ahead = np.sign(hits[0] - hits[1])
            decided = int((ahead != 0).sum())
            fewer = min(int((ahead > 0).sum()), int((ahead < 0).sum()))
            p_value = min(1.0, 2 * float(bdtr(fewer, decided, 0.5))) if decided else 1.0  # exact, two-sided
            rows = [
                row | {"p_value": number(p_value), "units_ahead": int((ahead == sign).sum())}
                for row, sign in zip(rows, (1, -1), strict=True)
            ]
        out += rows
    return out, notes


def _disagreement(study: Study, names: Sequence[str], images: Sequence[Image]) -> dict[str, dict[str, float]]:
    """Return {model: {image: 1 - its mean concordance with the other models}}; {} if pairs were not
    counted.
    """
    out: dict[str, dict[str, float]] = {name: {} for name in names}
    by_shard: dict[int, list[Image]] = {}
    for image in images:
        by_shard.setdefault(image.shard, []).append(image)
    try:
        for rows in by_shard.values():
            pairs = read_block(study, rows, list(names))
            values = concordances(pairs, "miou", over="union")
            for place, name in enumerate(names):
                others = np.delete(values[place], place, axis=0)  # NaN, and left out, if a model lacks a map
                out[name] |= {
                    id_: float(1 - of.mean())
                    for id_, of in zip(pairs.images, others.T, strict=True)
                    if not np.isnan(of).any()
                }
    except StudyError:
        return {}
    return out
