"""How far the models of a study agree before any label, stored in STUDY/agreement.json.

Conventions: compare, select and report read it. It describes the pool, and is recomputed when models, maps,
classes or the pool change.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from faultscape.comparison import agreement_words
from faultscape.comparison.agreement import mean_agreement
from faultscape.nouns import Agreement, Pairs
from faultscape.reading.answers import read_predictions
from faultscape.reading.pairs import read_block
from faultscape.reading.study import Study
from faultscape.study.folder import put
from faultscape.study.tables.corpus import pool
from faultscape.study.tables.pool import pool_size, read_pool
from faultscape.verbs.compare import agreement_sample
from faultscape.verbs.compare.artefact import AGREEMENT, agreement_key


def agreement(study: Study, *, keep: bool = True) -> Agreement | None:
    """Return how far a study's models agree, from its file while that is fresh; ``keep`` writes it. None
    without a pool or a second model; StudyError if pairs are missing.
    """
    if len(study.models) < 2:
        return None
    key = agreement_key(study.drawn_from(study.models))
    try:
        held = json.loads((study.root / AGREEMENT).read_text(encoding="utf-8"))
        if held["key"] == key:
            return _of_json(held)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass  # missing or damaged: it can be computed again from the study
    found = _found(study)
    if found is None:
        return None
    held = {"key": key, **_to_json(found)}
    if keep:
        put(study.root / AGREEMENT, json.dumps(held, ensure_ascii=False, indent=1).encode())
    return _of_json(held)


def warning_lines(found: Agreement | None) -> list[str]:
    """Return the warnings as lines to print."""
    return [f"warning: {words}" for words in found.warnings] if found is not None else []


def tell_warnings(study: Study) -> None:
    """Print warnings about the models of a study that no other process is writing to."""
    with study.writing():
        found = agreement(study)
    for line in warning_lines(found):
        print(line)


def _found(study: Study) -> Agreement | None:
    """Compute the agreement from the answers, or the counts, of the pool."""
    models = study.models
    number = pool_size(study.corpus)
    if not number:
        return None
    seen = np.ones(len(study.classes), bool)
    if study.classifies:
        said = read_predictions(study, models, read_pool(study.corpus).ids, top=False)
        found = mean_agreement(said)
        misplaced = agreement_sample.misplaced_classifiers(said)
    else:
        rows = (pool(images) for _, images in study.corpus.each_shard())
        seen = np.zeros(len(study.classes), bool)
        blocks = (read_block(study, images, models) for images in rows if images)
        found = mean_agreement(_noting(blocks, seen))
        misplaced = agreement_sample.misplaced_maps(study, models, number)
    words = agreement_words.warnings(found, misplaced, study.classes)
    words += agreement_words.unseen_words(study.classes.names, seen.tolist(), number)
    return replace(found, warnings=tuple(words))


def _noting(blocks: Iterable[Pairs], seen: np.ndarray) -> Iterator[Pairs]:
    """Yield blocks of counts, and note in ``seen`` (C,) which classes any map of any model has."""
    for block in blocks:
        seen |= block.totals[..., :-1].any((0, 1))
        yield block


def _to_json(found: Agreement) -> dict[str, Any]:
    mean = [[None if np.isnan(v) else float(f"{v:.12g}") for v in row] for row in found.mean.tolist()]
    numbers = {"mean": mean, "images": found.images.tolist(), "alike": found.alike.tolist()}
    return {
        "models": list(found.models),
        "concordance": found.concordance,
        **numbers,
        "warnings": list(found.warnings),
    }


def _of_json(held: dict[str, Any]) -> Agreement:
    mean = np.array([[np.nan if v is None else v for v in row] for row in held["mean"]], float)
    images, alike = (np.array(held[name], np.int64) for name in ("images", "alike"))
    return Agreement(
        tuple(held["models"]),
        str(held["concordance"]),
        mean,
        images,
        alike,
        tuple(map(str, held["warnings"])),
    )
