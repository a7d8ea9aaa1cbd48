"""Compare the models of a study: count the missing pairs, and measure how far the models agree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from faultscape.errors import ModelError
from faultscape.reading.study import opened
from faultscape.study.array_jobs import share
from faultscape.study.lock import changing
from faultscape.study.tables.logs import log
from faultscape.verbs.compare.agreement import agreement
from faultscape.verbs.compare.count import count
from faultscape.verbs.compare.result import Compared

if TYPE_CHECKING:
    from faultscape.verbs.options import CompareOptions


def compare_study(options: CompareOptions) -> Compared:
    """Count what is missing or stale for every pair; for classifiers, nothing is counted.

    Errors: ModelError for fewer than two models, StudyError if maps are outdated.
    """
    study = opened(options.study)
    mine = share(options.shard)
    with study.writing(array="compare" if options.shard else ""):
        j = len(study.models)
        if j < 2:
            have = ", ".join(study.models) or "none"
            raise ModelError(
                f"comparing needs two models; the study has {have}; add more with `faultscape predict"
                f" {options.study} NAME=SOURCE`"
            )
        pairs = j * (j - 1) // 2
        if study.classifies:
            return Compared(options.study, j, pairs, (), 0, 0, classifies=True, agreement=agreement(study))
        known = study.label_folders
        shards, parts = count(study, known, engine=options.engine, workers=options.workers, mine=mine)
        with changing(study.root):
            log(study.root, "compare", engine=options.engine, shard=options.shard)
        agreed = None if options.shard else agreement(study)
    return Compared(options.study, j, pairs, tuple(known), shards, parts, agreement=agreed)
