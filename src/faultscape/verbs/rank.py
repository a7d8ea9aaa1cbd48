"""rank: who wins, with intervals, from the labels there are."""

from __future__ import annotations

import json
from dataclasses import replace

from faultscape.errors import OptionError
from faultscape.nouns import Standings
from faultscape.stages import evidence


def rank(
    study: str,
    *,
    selection: str = "main",
    truth: str | None = None,
    against: list[str] | None = None,
    benchmark: str | None = None,
    epsilon: float | None = None,
    laplace: float | None = None,
    resamples: int = 1000,
    seed: int = 0,
    all_labels: bool = False,
    population: str = "pool",
    engine: str = "processes",
) -> Standings:
    """Rank the models of a selection from the labels of its images, and write standings.json.

    Of duels: aggressiveness and resistance (S0 eq. 3-6), of classifiers Perron's rank and its kin (S2 eq. 5); of images drawn for all models unbiased scores; and always two
    in which each labelled image scores every model (mean, Bradley-Terry). All have intervals. Missing labels are left out and counted.

    Parameters
    ----------
    study
        The study folder.
    selection
        Which selection's images count.
    truth
        Which labels count; default: labels, or the only ones.
    against
        Other selections to compare the rankings with (S0 Table 4).
    benchmark
        A CSV file (model, score) of a closed benchmark, larger being better, to set the ranks beside (S0 Table 3).
    epsilon
        Of label maps: added to both sides of the ratios of S0 eq. 3 and 5 (default 0.01).
    laplace
        Of classifiers: added to right and wrong answers of each pair, (c + x) / (n + 2 x) (default 1).
    resamples
        Bootstrap replicates.
    seed
        Seed of the bootstrap.
    all_labels
        Let labelled images outside the selection count in the re-use rankings.
    population
        What intervals of drawn images speak of: this pool, or future: data to come, of which the pool's images, or their groups (`collect --group`), are a sample.
    engine
        local, processes, ray or ray://HOST:PORT, for counts against the truth that are still missing.
    """
    from faultscape.ranking import recommended
    from faultscape.ranking.agreement import compare_selections
    from faultscape.ranking.drawn.rankings import check_population
    from faultscape.ranking.standing import to_json
    from faultscape.stages.count import count
    from faultscape.stages.rank.standings import read_benchmark, standings_of
    from faultscape.study.folder import existing, put
    from faultscape.study.lock import writing
    from faultscape.study.settings import read_settings
    from faultscape.study.tables import selections
    from faultscape.study.tables.logs import log

    root = existing(study)
    classifies = read_settings(root).classifies
    if (epsilon if classifies else laplace) is not None:
        raise OptionError(
            f"--{'epsilon' if classifies else 'laplace'} does not apply to {'classifiers' if classifies else 'label maps'}"
        )
    own = {"laplace": 1.0 if laplace is None else laplace} if classifies else {"epsilon": 0.01 if epsilon is None else epsilon}
    for name, value in {**own, "resamples": resamples, "seed": seed}.items():
        if value < 0:
            raise OptionError(f"{name} cannot be negative; got {value}")
    known = evidence.truths(root)
    truth = evidence.choose_truth(root, truth)
    slots, _ = selections.read_selection(root, selection)
    check_population(population, recommended.chosen_by(slots.rows) == recommended.CHANCE)
    for other in against or []:
        selections.read_selection(root, other)
    closed = read_benchmark(benchmark) if benchmark else None
    with writing(root):
        if not classifies:
            count(root, known, engine=engine)
        settings = {**own, "resamples": resamples, "seed": seed, "all_labels": all_labels, "population": population}
        standings, images = standings_of(root, selection, truth, closed, settings)
        compared = {}
        notes = list(standings.notes)
        for other in against or []:
            theirs, other_images = standings_of(root, other, truth, None, {**settings, "resamples": 0, "population": "pool"})
            compared[other] = compare_selections(standings, theirs, images, other_images)
            missing = theirs.labels["missing"]
            notes.append(f"against {other}: {len(other_images) - missing} of its {len(other_images)} chosen images are labelled")
        standings = replace(standings, against=compared, notes=tuple(notes))
        target = selections.path(root, selection, "json", stem="standings")
        put(target, (json.dumps(to_json(standings), indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode())
        log(root, "rank", selection=selection, truth=truth, **settings)
    return standings


def told(standings: Standings) -> str:
    """Return what a person reads after `rank`: who leads, or that nobody does, then all rankings."""
    from faultscape.reporting.competition.standing_tables import best_at_once, verdict

    head, words = verdict(standings)
    return "\n".join([f"{head}. {words}", *filter(None, [best_at_once(standings)]), "", repr(standings)])
