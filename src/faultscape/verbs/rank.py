"""rank: rank the models from the labels there are, with intervals."""

from __future__ import annotations

from faultscape.arguments import Place, needed_text, place_text, several
from faultscape.choices import Population
from faultscape.errors import OptionError
from faultscape.stages.rank.options import RankOptions
from faultscape.stages.rank.result import Ranked


def rank(
    study: Place,
    *,
    selection: str = "main",
    truth: str | None = None,
    against: list[str] | None = None,
    benchmark: Place | None = None,
    epsilon: float | None = None,
    laplace: float | None = None,
    resamples: int = 1000,
    seed: int = 0,
    all_labels: bool = False,
    population: Population = "pool",
    ranking: list[str] | None = None,
    where: list[str] | None = None,
    output: Place | None = None,
    engine: str = "processes",
) -> Ranked:
    """Rank the models of a selection from the labels of its images, and write standings.json.

    Of duels: aggressiveness and resistance (S0 eq. 3-6), of classifiers Perron's rank and its kin (S2 eq. 5);
    of images drawn for all models unbiased scores; and always two in which each labelled image scores every
    model (mean, Bradley-Terry). All have intervals. Missing labels are left out and counted. With --where
    only the standings on a part of the images are made and printed, and standings.json stays.

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
        A CSV file (model, score) of a closed benchmark, larger being better, to set the ranks beside (S0
        Table 3).
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
        What intervals of drawn images speak of: this pool, or future: data to come, of which the pool's
        images, or their groups (`collect --group`), are a sample.
    ranking
        file.py:name, a ranking of your own beside the others: a function of scores (J, I) and weights (B, I)
        that gives scores (B, J), or a faultscape Ranking. Repeat it for more.
    where
        KEY=VALUE: rank on the images of a tag, a group, a set or a condition, for example tag=night. Repeat
        it for images of which all hold.
    output
        With --where: a JSON file for these standings.
    engine
        local, processes, ray or ray://HOST:PORT, for counts against the truth that are still missing.
    """
    from faultscape.stages.rank.table import make_standings

    options = RankOptions(
        selection=selection,
        truth=truth,
        against=several(against),
        benchmark=place_text(benchmark, "benchmark"),
        epsilon=epsilon,
        laplace=laplace,
        resamples=resamples,
        seed=seed,
        all_labels=all_labels,
        population=population,
        ranking=several(ranking),
        where=several(where),
        output=place_text(output, "output"),
        engine=engine,
    )
    for name, value in {"epsilon": epsilon, "laplace": laplace, "resamples": resamples, "seed": seed}.items():
        if value is not None and value < 0:
            raise OptionError(f"{name} cannot be negative; got {value}")
    return make_standings(needed_text(study, "study"), options)
