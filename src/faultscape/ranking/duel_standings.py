"""Who wins, from the labels of a selection: four rankings of one set of models, with intervals, and what they
are based on.

Conventions: two *faithful* rankings (aggressiveness, resistance: Yan et al. 2021, eq. 3-6) use each labelled
image only for the duels that chose it; two *re-use* rankings (mean concordance, Bradley-Terry) let each
labelled image score every model, on the images that every ranked model has. The bootstrap resamples images;
images outside the selection (``all_labels``) are drawn as a separate stratum, so that they do not affect the
faithful intervals. A pair of models compared in one direction only is left out of eq. 6: a lone ratio would
always favour its row model.

``accuracy`` (J, I) is the concordance of each model with the truth, NaN where there is no label.
``class_names`` are the names of the classes. ``parents`` hold the names of the classes of each group.

Source: Yan et al. 2021, section 3.1.3, Tables 1 and 3; the re-use of labels is ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from faultscape.comparison.concordance import accuracies
from faultscape.errors import RankingError, closest, counted
from faultscape.metrics.intervals.units import LEVEL
from faultscape.nouns import JsonObject, Pairs, Slot, Slots
from faultscape.ranking import replicates
from faultscape.ranking.agreement import compare_benchmark
from faultscape.ranking.catalogue import Ranking, words_of
from faultscape.ranking.choice_shares import Shares, choice_games
from faultscape.ranking.drawn.populations import group_numbers
from faultscape.ranking.replicates import INTERVAL
from faultscape.ranking.standings_json import from_json, to_json
from faultscape.ranking.tables import duels, table
from faultscape.standings import ParentStandings, Standings

__all__ = ["from_json", "rank_accuracies", "standings", "to_json"]

INVERSE = (
    "resistance and aggressiveness come from the same numbers (r_ij = 1 / a_ji), so that they agree"
    " confirms nothing; they differ only through the fit of Yan et al. 2021, eq. 6"
)


def standings(
    slots: Slots,
    pairs: Pairs,
    *,
    epsilon: float = 0.01,
    resamples: int = 1000,
    seed: int = 0,
    truth: str | None = None,
    all_labels: bool = False,
    benchmark: dict[str, float] | None = None,
    discarded: int = 0,
    keys: Sequence[str] | None = None,
) -> Standings:
    """Return the standings of a selection's models from counts against a truth, with the selection's own
    concordance.

    ``truth`` names one of ``pairs.truths``, the only one by default; images without it count as not labelled.
    ``benchmark`` is {model: score}, larger is better. ``keys`` (I,) identify images independently of their
    names, such as the SHA-256 of the file (ids by default): the bootstrap draws images in the order of the
    keys, so that names change no interval. Errors: RankingError if nothing is labelled, a model is not in
    ``pairs`` or the benchmark lacks one.
    """
    for model in slots.models:
        if model not in pairs.models:
            raise RankingError(
                f"the selection ranks {model!r}, the pairs hold"
                f" {', '.join(pairs.models)}.{closest(model, pairs.models)}"
            )
    definition = slots.definition
    accuracy = accuracies(
        pairs, definition.get("concordance", "miou"), over=definition.get("over", "union"), truth=truth
    )
    seen = list(dict.fromkeys(row.class_ for row in slots.duels))
    return rank_accuracies(
        slots.models,
        slots.duels,
        accuracy[[pairs.models.index(model) for model in slots.models]],
        pairs.images,
        class_names=definition.get("groups", seen),
        parents=pairs.classes.parents,
        epsilon=epsilon,
        resamples=resamples,
        seed=seed,
        all_labels=all_labels,
        benchmark=benchmark,
        discarded=discarded,
        definitions=cast("JsonObject", {key: value for key, value in definition.items() if key != "scale"}),
        keys=keys,
    )


def rank_accuracies(
    models: Sequence[str],
    rows: Sequence[Slot],
    accuracy: ArrayLike,
    images: Sequence[str],
    *,
    class_names: Sequence[str],
    parents: Mapping[str, Sequence[str]] | None = None,
    epsilon: float = 0.01,
    resamples: int = 1000,
    seed: int = 0,
    all_labels: bool = False,
    benchmark: Mapping[str, float] | None = None,
    discarded: int = 0,
    definitions: JsonObject | None = None,
    groups: Mapping[str, str] | None = None,
    keys: Sequence[str] | None = None,
    extra: Sequence[Ranking] = (),
    choices: Shares | None = None,
) -> Standings:
    """Return the standings from (J, I) concordances of the models with the truth on ``images``, NaN where
    unknown.

    ``rows`` are the chosen slots; a column without any number is an image without a label; labelled images
    that no row chose are used only by the re-use rankings, and only with ``all_labels``. ``benchmark`` is
    {model: score}, larger is better; ``groups`` {image: group} are drawn whole, ``keys`` as in `standings`;
    ``extra`` are rankings of your own (`find_ranking`). ``choices`` are what people chose between two models
    (`choice_shares`): for an image without a label (a column of NaN) they say what both sides of its slots
    are worth. Errors: RankingError for slots, shapes or a benchmark that do not fit, or no label at all;
    OptionError for options out of range.

    >>> cells = [("unet", "fcn", "x"), ("fcn", "unet", "y")]
    >>> rows = [Slot("mad", 1, 1, d, a, "car", 1, image, 0.1, 1.0, 9) for d, a, image in cells]
    >>> table = rank_accuracies(
    ...     ["unet", "fcn"], rows, [[0.8, 0.6], [0.4, 0.5]], ["x", "y"], class_names=["car"], resamples=0
    ... )
    >>> table.rankings["resistance"].order, round(table.matrices["resistance"][0][1], 3)  # .81 / .41
    (['unet', 'fcn'], 1.976)
    """
    class_names = list(class_names)
    models, images, accuracy = replicates.checked(
        models, images, accuracy, resamples, "concordances", keys=keys
    )
    labelled = np.array(~np.isnan(accuracy).all(0))
    places = duels(models, rows, images, class_names, choices).among(labelled)
    games = choice_games(models, images, choices) if choices else None
    chosen = np.zeros(len(images), bool)
    chosen[places.image[places.image >= 0]] = True
    n_chosen = len({row.image for row in rows})
    if not chosen.any():
        raise RankingError(f"none of the {n_chosen} chosen images has a label; label them, then rank")
    by_choice = chosen & ~labelled

    options = {"epsilon": epsilon, "resamples": resamples, "seed": seed}
    used = np.flatnonzero(chosen | (all_labels & labelled))
    together = group_numbers(images, groups)
    of = None if together is None else together[used]
    whole = table(
        models,
        places.at(used),
        accuracy[:, used],
        chosen[used],
        groups=len(class_names),
        together=of,
        extra=extra,
        games=None if games is None else games[used],
        **options,
    )
    notes = (
        [f"{int((chosen & labelled).sum())} of {n_chosen} chosen images are labelled"]
        if labelled.any()
        else []
    )
    if games is not None:
        notes.append(
            _choices_text(
                int(games[used].sum()), int(by_choice.sum()), n_chosen, labels=bool((chosen & labelled).any())
            )
        )
    if besides := len(used) - int(chosen.sum()):
        outside = "labelled image outside the selection counts", "labelled images outside the selection count"
        notes.append(f"{counted(besides, *outside)} in the re-use rankings")
    by_parent: dict[str, ParentStandings] = {}
    for name, members in (parents or {}).items():
        named = [class_names.index(member) for member in members if member in class_names]
        inside = places.of(named)
        mine = np.unique(inside.image[inside.image >= 0])
        if len(mine):
            of = None if together is None else together[mine]
            every = np.ones(len(mine), bool)
            inside_games = None if games is None else games[mine]
            part = table(
                models,
                inside.at(mine),
                accuracy[:, mine],
                every,
                groups=len(named),
                together=of,
                games=inside_games,
                **options,
            )
            labels = {"used": len(mine), "slots": len(inside.image)}
            by_parent[name] = ParentStandings(labels, part.matrices, part.rankings, part.notes)
        elif len(inside.image):
            notes.append(
                f"parent group {name}: none of its {counted(len(inside.image), 'slot')} is labelled; it is"
                " not ranked"
            )
    own = options | {"all_labels": all_labels, "level": LEVEL, "interval": INTERVAL}
    own |= words_of(extra)
    own |= {
        "pseudo_count": replicates.PSEUDO_COUNT,
        "reuse_images": "those that every ranked model has",
        "image_overlap": "Jaccard index",
    }
    return Standings(
        models=models,
        labels={
            "used": len(used),
            "slots": len(rows),
            "discarded": discarded,
            "missing": n_chosen - int(chosen.sum()),
        }
        | (
            {"choices": int(games[used].sum()), "by_choice": int(by_choice.sum())}
            if games is not None
            else {}
        )
        | ({"of_selection": int(chosen.sum())} if besides else {}),
        matrices=whole.matrices,
        rankings=whole.rankings,
        definitions={**(definitions or {}), **own},
        benchmark=(
            None
            if benchmark is None
            else compare_benchmark(models, benchmark, whole.scores, whole.replicates)
        ),
        parents=by_parent,
        notes=(*notes, *whole.notes, INVERSE),
    )


def _choices_text(answers: int, images: int, chosen: int, *, labels: bool) -> str:
    """Return a note on people's choices: how many there are, and on which images they count, if some have
    ``labels``.

    >>> _choices_text(60, 30, 45, labels=False)
    '60 choices between two models decide 30 of 45 chosen images; intervals redraw images, not people'
    >>> _choices_text(39, 0, 12, labels=True)
    '39 choices between two models decide no chosen image: their images have labels, which take precedence'
    """
    said = f"{counted(answers, 'choice')} between two models decide{'s' if answers == 1 else ''}"
    if not images:
        return f"{said} no chosen image: their images have labels, which take precedence"
    which = f", which {'has' if images == 1 else 'have'} no label" if labels else ""
    return f"{said} {images} of {chosen} chosen images{which}; intervals redraw images, not people"
