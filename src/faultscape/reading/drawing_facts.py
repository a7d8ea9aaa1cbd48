"""The facts about images that selectors need to draw them for all models at once: a few numbers per image,
computed from the models' predictions alone.

Conventions: ``complete`` (I,) marks the images for which every model has a prediction; the others have no
facts. ``dispute`` (I,) is how far models differ, ``expected`` (J, I) the expected loss of each,
``discrepancy`` (P, I) that of each pair, ``entropy`` (I,) that of their votes, ``labels`` (J, I) for
classifiers, ``agreement`` (J, J, I) for label maps: their concordances. For label maps a discrepancy is 1 -
concordance, the mean of both directions if it has two. The order is that of the images given.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from faultscape.classes.class_lists import allowed, table
from faultscape.comparison.concordance import concordances
from faultscape.comparison.distance_definitions import distances_of
from faultscape.comparison.semantic_distances import pair_distances
from faultscape.maps.votes import vote_entropy
from faultscape.nouns import Definition
from faultscape.reading.answers import read_predictions
from faultscape.reading.pairs import read_block
from faultscape.reading.stored_maps import StoredMaps
from faultscape.selection import proposals
from faultscape.study.settings import Settings
from faultscape.study.tables import label_maps
from faultscape.ties import equal_to_zero

if TYPE_CHECKING:
    import pyarrow as pa

    from faultscape.study.tables.corpus import Image

Facts = dict[str, np.ndarray]


def of_classes(
    root: Path,
    settings: Settings,
    images: Sequence[str] | pa.Array,
    models: Sequence[str],
    define: Definition,
    needs: Sequence[str],
    trust: np.ndarray | None,
) -> Facts:
    """Return ``complete`` and the facts about classifiers' answers to all images at once, with the distances
    that ``define`` names; ``trust`` (J,) weighs their votes.
    """
    labels = read_predictions(root, settings, models, images).labels
    complete = np.asarray((labels >= 0).all(0))
    out: Facts = {"complete": complete}
    first, second = np.triu_indices(len(models), 1)
    if "dispute" in needs:
        out["dispute"] = np.where(complete, (labels != labels[0]).any(0).astype(float), 0.0)
    if "expected" in needs:
        out["expected"] = proposals.expected_of_labels(labels, trust)
    if "entropy" in needs:
        out["entropy"] = proposals.entropy_of_labels(labels)
    if "labels" in needs:
        out["labels"] = labels
    if "discrepancy" in needs:
        _, distances = distances_of(settings.class_list, define.get("distance"), define.get("hierarchy"))
        out["discrepancy"] = np.nan_to_num(pair_distances(distances, labels[first], labels[second]))
    return out


def of_shard(
    root: Path,
    settings: Settings,
    images: Sequence[Any],
    models: Sequence[str],
    define: Definition,
    needs: Sequence[str],
    trust: np.ndarray | None,
) -> Facts:
    """Return ``complete`` and the facts about label maps, for one shard's images; StudyError if pairs are
    missing.
    """
    j, i = len(models), len(images)
    first, second = np.triu_indices(j, 1)
    shapes = {
        "dispute": (i,),
        "expected": (j, i),
        "discrepancy": (len(first), i),
        "entropy": (i,),
        "agreement": (j, j, i),
    }
    if not i:
        return {"complete": np.zeros(0, bool), **{name: np.zeros(shapes[name]) for name in needs}}
    both = concordances(
        read_block(root, settings, images, models), define["concordance"], over=define["over"]
    )
    apart = equal_to_zero(1 - (both[first, second] + both[second, first]) / 2)
    complete = np.asarray(~np.isnan(apart).any(0))
    out = {"complete": complete, **{name: np.zeros(shapes[name]) for name in needs}}
    if "dispute" in out:
        out["dispute"][complete] = np.maximum(apart[:, complete].mean(0), 0)
    if "discrepancy" in out:
        out["discrepancy"][:, complete] = np.maximum(apart[:, complete], 0)
    if "expected" in out and complete.any():
        out["expected"][:, complete] = proposals.expected_of_concordances(both[..., complete], trust)
    if "agreement" in out:
        out["agreement"] = both.astype(np.float32)
    if "entropy" in out:
        out["entropy"] = _entropies(root, settings, images, models, complete)
    return out


def _entropies(
    root: Path, settings: Settings, images: Sequence[Image], models: Sequence[str], complete: np.ndarray
) -> np.ndarray:
    """Return the mean vote entropy over the pixels of each complete image."""
    classes, shard = settings.class_list, images[0].shard
    labels = {m: settings.models[m].labels for m in models}
    sources = [
        StoredMaps(
            label_maps.predictions(root, m), shard, table(classes, labels[m]), allowed(classes, labels[m])
        )
        for m in models
    ]
    out = np.zeros(len(images))
    for k in np.flatnonzero(complete).tolist():
        size = settings.working_size or (images[k].width, images[k].height)
        maps = [source.read(images[k].id, size) for source in sources]
        out[k] = vote_entropy([m for m in maps if m is not None], len(classes) + 1)
    return out
