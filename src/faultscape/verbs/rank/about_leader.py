"""What standings say about the leading model beyond its rank: where it fails, and who leads by the labels of
other truths.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TypedDict, cast

import numpy as np

from faultscape.nouns import Definition
from faultscape.reading import evidence
from faultscape.reading.choices import EVERYBODY, Voices
from faultscape.reading.study import Study
from faultscape.reporting.competition.standing_tables import recommended
from faultscape.standings import Failing, OtherTruth, Standings
from faultscape.ties import DECIMALS, tie_order
from faultscape.verbs.rank.worst_class import failing


class AboutLeader(TypedDict):
    """Fields of `Standings`."""

    failing: Failing | None
    by_truth: dict[str, OtherTruth]


def about_leader(
    study: Study, standings: Standings, truth: str, images: Collection[str], voices: Voices = EVERYBODY
) -> AboutLeader:
    """Return where the first model of the recommended ranking fails on the labelled ones of some images, and
    which model leads by the labels of other truths; only answers of ``voices`` count.
    """
    order = standings.rankings[name].order if (name := recommended(standings)) else []
    if not order:
        return {"failing": None, "by_truth": {}}
    models = standings.models
    define = cast("Definition", standings.definitions)
    chosen = set(images)
    counted = chosen - study.discarded.keys()
    scores = {}
    for other in study.truths:
        labelled, values = evidence.scores(study, models, other, define, study.discarded, voices)
        known = np.asarray(~np.isnan(values).any(0))
        scores[other] = {
            image: values[:, k] for k, image in enumerate(labelled) if image in chosen and known[k]
        }
    there = study.corpus.images(counted)
    keys = study.corpus.tie_keys([image.id for image in there])
    there = [there[k] for k in tie_order(keys, ids=[image.id for image in there]).tolist()]
    by_truth = {}
    for other, held in scores.items():
        both = [image.id for image in there if image.id in held and image.id in scores.get(truth, {})]
        if other != truth and both:
            means = np.round(np.mean([held[image] for image in both], axis=0), DECIMALS)
            by_truth[other] = OtherTruth(models[int(np.argmax(means))], len(both))
    mine = [image for image in there if image.id in scores.get(truth, {})]
    return {
        "failing": failing(study, order[0], truth, mine, voices),
        "by_truth": by_truth,
    }
