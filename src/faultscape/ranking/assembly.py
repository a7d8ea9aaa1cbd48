"""Standings of one panel and one kind of evidence: duels, pairs of classifiers, or draws.

Conventions: what kinds of evidence share is here and in ``panel`` and ``replicates``; each kind adds its own
rankings, notes and definitions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from faultscape.errors import counted
from faultscape.nouns import Json
from faultscape.ranking.agreement import compare_benchmark
from faultscape.ranking.panel import Panel, RankingOptions
from faultscape.ranking.replicates import Table
from faultscape.standings import ModelRanking, ParentStandings, Standings

# the order in which standings hold the numbers of labels
_LABELS = (
    "used",
    "slots",
    "discarded",
    "missing",
    "choices",
    "by_choice",
    "of_selection",
    "partly",
    "counted",
    "pool",
)


@dataclass(frozen=True, eq=False)
class Findings:
    """What a kind of evidence says: rankings of the images that count (``panel``), the ``matrices`` behind
    them, what it counts among ``labels`` beyond that panel, which images (I,) are decided ``partly``, and
    what it defines.

    ``labelled`` are notes on which images have labels, ``notes`` all others.
    """

    panel: Panel
    table: Table
    labelled: Sequence[str]
    notes: Sequence[str]
    definitions: Mapping[str, Json]
    matrices: Mapping[str, np.ndarray] = field(default_factory=dict)
    labels: Mapping[str, int] = field(default_factory=dict)
    partly: np.ndarray | None = None
    parents: dict[str, ParentStandings] = field(default_factory=dict)
    to_come: dict[str, ModelRanking] = field(default_factory=dict)
    of_pool: dict[str, ModelRanking] = field(default_factory=dict)


class Evidence(Protocol):
    """What labels say about models beyond the scores of a panel: which slots chose the images."""

    def findings(self, panel: Panel, options: RankingOptions) -> Findings:
        """Return the evidence about all images of a panel; RankingError if none of its images has a
        label.
        """
        ...


def assemble(panel: Panel, evidence: Evidence, options: RankingOptions) -> Standings:
    """Return the standings of a panel's models by one kind of evidence; RankingError for evidence or a
    benchmark that does not fit the panel, or without any label.
    """
    found = evidence.findings(panel, options)
    part = found.panel
    table = found.table
    selected = int(part.chosen.sum())
    labels = {
        "used": len(part.images),
        "slots": part.slots,
        "discarded": part.discarded,
        "missing": part.wanted - selected,
    }
    notes = [*found.labelled]
    if besides := len(part.images) - selected:
        outside = "labelled image outside the selection counts", "labelled images outside the selection count"
        notes.append(f"{counted(besides, *outside)} in the re-use rankings")
        labels["of_selection"] = selected
    if found.partly is not None and found.partly.any():
        labels["partly"] = int(found.partly.sum())
    labels |= found.labels
    return Standings(
        models=panel.models,
        labels={name: labels[name] for name in _LABELS if name in labels},
        matrices={name: matrix.tolist() for name, matrix in found.matrices.items()},
        rankings=table.rankings,
        definitions={**options.definitions, **found.definitions},
        benchmark=(
            None
            if options.benchmark is None
            else compare_benchmark(panel.models, options.benchmark, table.scores, table.replicates)
        ),
        parents=found.parents,
        to_come=found.to_come,
        of_pool=found.of_pool,
        notes=(*notes, *found.notes),
    )
