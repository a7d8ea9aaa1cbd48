"""Predict one shard of one model into its spool. Finished images are not repeated, and an image that crashes
its worker is found and left out.

Conventions: batches lie on a grid over the shard's rows, so results do not depend on where a run was
interrupted. After two worker deaths in a row without progress, the next batch is done image by image, under a
watch that finds the fatal one (study/watch.py); a batch begun that way is finished that way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from faultscape.prediction import devices
from faultscape.prediction.batches import Batch, Row, record, unrecord
from faultscape.prediction.source import OpenModel, Part
from faultscape.study.spool import Spool
from faultscape.study.tables.corpus import Image
from faultscape.study.watch import Watch

DEADLY = (
    "the worker crashed on this image every time (out of memory, or a native crash); all other images of its"
    " shard were done"
)
# deaths in a row before a batch is done image by image; after one, often just a lost node, the batch
# is repeated whole, so that sums stay the same
_SPLIT = 2


def fill(
    spool: Spool,
    model: OpenModel,
    images: Sequence[Image],
    part: Part,
    tick: Callable[[int], None],
    attempt: int = 0,
) -> None:
    """Predict the missing images of a shard, in order, one record per batch."""
    watch = Watch(spool.path.parent, spool.path.name, attempt)
    done = {row.id for code in spool for row in unrecord(code).rows}
    tick(len(done))
    size = model.batch_size(len(images))
    grid = [images[first : first + size] for first in range(0, len(images), size)]
    todo = [left for batch in grid if (left := [image for image in batch if image.id not in done])]
    with devices.fixed_threads(model.threads):
        if todo and (attempt >= _SPLIT or len(done) % size):
            _one_by_one(spool, model, todo.pop(0), part, watch, tick)
        for batch in model.batches(todo, part):
            spool.append(record(batch))
            tick(len(batch.rows))
    watch.end()


def _one_by_one(
    spool: Spool,
    model: OpenModel,
    images: Sequence[Image],
    part: Part,
    watch: Watch,
    tick: Callable[[int], None],
) -> None:
    for image in images:
        dead = Batch([Row(image.id, None, problem=DEADLY)])
        for batch in model.batches([[image]], part) if watch.begin(image.id) else [dead]:
            spool.append(record(batch))
            tick(1)
