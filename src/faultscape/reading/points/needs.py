"""How much single draws of points vary in a study before any answer, from a sample of its images.

Conventions: as ``tuples``; nothing is kept. Every s-th image of those given is read, so that a sample is the
same whatever engine runs; shares of tuples are all that counts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from faultscape.ranking.points.box_states import joined_states
from faultscape.ranking.points.pool import PointPool
from faultscape.reading.boxes.open_classes import boxes_as_text
from faultscape.reading.points.tuples import Block, Scope, counted_blocks
from faultscape.reading.study import Study
from faultscape.selection.points.foreseen import foreseen_covariance
from faultscape.selection.points.probabilities import PointGoal

LOOKED_AT = 300  # images


def sampled_covariance(
    study: Study, scope: Scope, images: Sequence[str], goal: PointGoal = "order"
) -> np.ndarray:
    """Return (J, J) the covariance of what one draw for a ``goal`` from these images, none of which has a map
    of the scope's truth, is expected to add to the scores of its models.
    """
    pool = sampled_pool(study, scope, images)
    return foreseen_covariance(pool, goal, void=bool(study.classes.void))


def sampled_pool(study: Study, scope: Scope, images: Sequence[str]) -> PointPool:
    """Return the pixels of a sample of images."""
    some = images[:: -(-len(images) // LOOKED_AT)]
    shard_of = study.corpus.shards_of(some)
    boxed = boxes_as_text(study, scope.truth)
    blocks: list[Block] = []
    for shard in sorted(set(shard_of.values())):
        mine = [image for image in some if shard_of[image] == shard]
        blocks += counted_blocks(study, scope, shard, mine, boxed)
    labels = np.concatenate([block.labels[:-1] for block in blocks], axis=1)
    pixels = np.concatenate([block.of_tuples() for block in blocks])
    classes = len(study.classes)
    boxes = joined_states(
        [block.boxes for block in blocks], [block.labels.shape[1] for block in blocks], classes
    )
    return PointPool(labels, pixels, classes, boxes=boxes)
