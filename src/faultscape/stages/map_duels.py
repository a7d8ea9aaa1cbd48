"""Duels of label maps over a study's pool (S0): of every ordered pair and class the images of lowest concordance, found shard by shard.

Conventions: what a shard finds lies in a temporary file of the study until it is merged.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from faultscape import engine as engines
from faultscape import ties
from faultscape.classes.class_lists import resolve
from faultscape.nouns import Slots
from faultscape.progress import progress
from faultscape.selection import duel
from faultscape.selection.best import Best
from faultscape.selection.quartiles import from_json
from faultscape.stages import pairs
from faultscape.study.folder import TEMPORARY, put
from faultscape.study.settings import read_settings
from faultscape.study.tables.corpus import part_name, pool, read_corpus, shard_sizes
from faultscape.study.tables.pool import read_pool


def search(root: Path, models: tuple[str, ...], define: dict[str, Any], *, title: str, engine: str, workers: int | None) -> Slots:
    """Return the slots that a definition asks for over the whole pool; StudyError where pairs are missing, SelectionError where every cell is empty."""
    best = duel.empty(models, define)
    drawn = read_pool(root, keep_duplicates=define["keep_duplicates"], seed=ties.tie_seed(define))
    calls = [{"study": str(root), "number": n, "models": list(models), "define": define} for n in sorted(shard_sizes(root))]
    with progress(title, len(drawn.ids)) as tick:
        for number, file in engines.run("faultscape.stages.map_duels:shard", calls, engine=engine, workers=workers, tick=tick):
            found = Best.of_bytes((root / file).read_bytes())
            (root / file).unlink()
            found.renumber(int(np.searchsorted(drawn.shards, calls[number]["number"])), drawn.ranks, drawn.families)
            best.merge(found)
    return duel.slots(best, models, define, drawn.names(np.unique(best.images[best.images >= 0])))


def shard(study: str, number: int, models: list[str], define: dict[str, Any], tick: Any) -> str:
    """Find the best candidates of one shard, numbered within it, and return the name of a temporary file in the study that holds them."""
    root = Path(study)
    settings, rows = read_settings(root), pool(read_corpus(root, number))
    best = duel.empty(models, define)
    if rows:
        classes = resolve(settings.class_list)
        scale = from_json({"classes": define["scale"]}, classes, f"{study}: the scale") if define["scale"] else None
        places = np.arange(len(rows))
        ranks = ties.tie_ranks([image.key for image in rows], ties.tie_seed(define), [image.id for image in rows])
        groups: dict[str, int] = {}
        families = np.array([groups.setdefault(image.near_duplicate_of, len(groups)) for image in rows])
        counts = pairs.read_block(root, settings, rows, tuple(models))
        duel.take(best, counts, define, scale, places, ranks, places if define["keep_duplicates"] else families)
    tick(len(rows))
    file = f"{TEMPORARY}select-{part_name(number)}"
    put(root / file, best.to_bytes())
    return file
