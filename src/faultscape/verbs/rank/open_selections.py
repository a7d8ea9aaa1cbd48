"""Which drawn selections leave open which model is best, although every image is labelled and ranked."""

from __future__ import annotations

import math
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

from faultscape.reading.study import Study
from faultscape.selection.definitions import ROUND, learns
from faultscape.standings import (
    FEW,
    ModelRanking,
    Standings,
    could_be_best,
    indifference_of,
    labels_to_tell,
    not_worth_going_on,
    of_both,
)
from faultscape.verbs.label import artefact as labels
from faultscape.verbs.rank.artefact import STANDINGS, is_by_chance
from faultscape.verbs.select import artefact as selection

if TYPE_CHECKING:
    from faultscape.ranking.planning.point_needs import PointNeed

# images drawn for the best model, after which its order is asked by draws that can say how sure it is
_ENOUGH_FOR_BEST = 5 * ROUND


def open_selections(study: Study) -> list[str]:
    """Return the selections of images drawn for all current models whose labels, all of them in and ranked,
    do not decide which model is best, while the pool has more images. Those that judged a round of `loop` are
    what they are.
    """
    return [name for name in study.selections if _is_open(study, name)]


def open_points(study: Study) -> list[str]:
    """Return the selections of points whose answers, all of them in and ranked, do not decide which model is
    best, while more would.
    """
    return [name for name, made in study.selections.items() if made.slots.points and _asks_more(study, name)]


def _asks_more(study: Study, name: str) -> bool:
    if selection.is_replaced(study, name) or not selection.SELECTION.is_done(study, name):
        return False
    if not labels.LABELS_OF_SELECTION.exists(study, name):
        return False
    if labels.is_short(study, name):
        return True  # all are answered, and they are too few
    if not STANDINGS.is_done(study, name):
        return False
    held = STANDINGS.table(study, name)
    need = None if held is None else points_needed(held)
    return need is not None and not need.hopeless


def points_needed(held: Standings) -> PointNeed | None:
    """Return how many points the leader and each model that could be better are expected to need until they
    are told apart; None if nothing is open, or a map answers every pixel.
    """
    # rankings load scipy
    from faultscape.ranking.planning.point_needs import points_to_tell

    leader, *rivals = candidates(held) or [""]
    pool, _ = of_both(held, next(iter(held.rankings)))
    asked = [gap for gap in pool.gaps if gap.model == leader and gap.other in rivals]
    return max((points_to_tell(gap, held.labels["points"], len(held.models)) for gap in asked), default=None)


def _is_open(study: Study, name: str) -> bool:
    slots = study.selections[name].slots
    if not slots.draws or selection.is_replaced(study, name) or not selection.SELECTION.is_done(study, name):
        return False
    if not labels.LABELS_OF_SELECTION.is_done(study, name) or not STANDINGS.is_done(study, name):
        return False
    if _has_no_intervals(study, name):
        return False
    if name in selection.judges_of_rounds(study):
        return False
    if learns(slots.definition) and len(slots.rows) >= _ENOUGH_FOR_BEST and not says_how_sure(study, name):
        return False
    if _is_not_worth_it(study, name):
        return False
    return not is_decided(study, name) and left(study, name) > 0


def _is_not_worth_it(study: Study, name: str) -> bool:
    """Whether standings show that models differ by less than is worth more labels (`--indifference`)."""
    held = STANDINGS.table(study, name)
    if held is None or not indifference_of(held):
        return False
    from faultscape.reporting.competition.standing_tables import recommended

    pool, later = of_both(held, recommended(held))
    return not_worth_going_on(later if later is not None and later.gaps else pool, indifference_of(held))


def _has_no_intervals(study: Study, name: str) -> bool:
    """Whether a selection was ranked with `--resamples 0`: then no label decides anything."""
    return STANDINGS.options(study, name).get("resamples") == 0


def is_decided(study: Study, name: str) -> bool:
    """Whether standings have one best model of the pool, and no label of it would tell of images to come."""
    held = STANDINGS.table(study, name)
    if held is None or held.labels.get("used", 0) < FEW:
        return False
    return len(candidates(held)) == 1 and math.isinf(labels_for_images_to_come(held))


def says_how_sure(study: Study, name: str) -> bool:
    """Whether the standings of a selection, if there are any, claim something beyond the labelled images."""
    from faultscape.reporting.competition.standing_tables import claiming, descriptive

    held = STANDINGS.table(study, name)
    found = {} if held is None else claiming(held)
    return not found or not all(map(descriptive, found.values()))


def left(study: Study, name: str) -> int:
    """Return how many images the draws have not taken yet; a draw records the size of its pool."""
    rows = study.selections[name].slots.draws
    return rows[0].pool - len(rows) if rows else 0


def of_pool(held: Standings) -> ModelRanking:
    """Return the recommended ranking of the pool, of standings that have one."""
    # rankings load scipy
    from faultscape.reporting.competition.standing_tables import recommended

    return of_both(held, recommended(held))[0]


def open_pairs(study: Study, name: str) -> list[tuple[str, str]]:
    """Return the models of a drawn selection that its standings do not tell apart, two by two, as far as that
    answers what it was drawn for: the leader and others, or neighbors in order; every two models before there
    are standings with intervals, and none where nothing was drawn at random.
    """
    if not is_by_chance(study, name):
        return []
    slots = study.selections[name].now
    held = STANDINGS.table(study, name)
    gaps = [] if held is None or held.models != slots.models else of_pool(held).gaps
    if held is None or not gaps:
        return [*combinations(sorted(slots.models), 2)]
    order = of_pool(held).order
    wanted = [(order[0], other) for other in order[1:]]
    if slots.definition.get("goal") != "best":
        wanted = [*pairwise(order)]
    return [(gap.model, gap.other) for gap in gaps if not gap.settled and (gap.model, gap.other) in wanted]


def candidates(held: Standings) -> list[str]:
    """Return the models that could be the best by the recommended ranking."""
    # rankings load scipy
    from faultscape.reporting.competition.standing_tables import recommended

    name = recommended(held)
    return could_be_best(of_both(held, name)[0]) if name in held.rankings else []


def labels_for_images_to_come(held: Standings) -> float:
    """Return how many labels in all would tell which model is best for images to come; inf if no number of
    this pool's would, or if it is known.
    """
    from faultscape.reporting.competition.standing_tables import recommended

    pool, later = of_both(held, recommended(held))
    if later is None:
        return math.inf
    labels = held.labels
    return labels_to_tell(pool, later, labels.get("used", 0), labels.get("pool", 0))
