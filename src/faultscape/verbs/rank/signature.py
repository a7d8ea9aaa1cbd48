"""rank: rank the models from the labels so far, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from faultscape.arguments import Place
from faultscape.choices import Population
from faultscape.errors import OptionError
from faultscape.verbs.rank.options import Looks, NearMisses, OtherStudies, VoteRules
from faultscape.verbs.rank.result import Ranked
from faultscape.verbs.verb import verb

if TYPE_CHECKING:
    from faultscape.verbs.options import RankOptions


def _check(options: RankOptions) -> None:
    for name in ("epsilon", "laplace", "resamples", "seed"):
        value = getattr(options, name)
        if value is not None and value < 0:
            raise OptionError(f"{name} must be 0 or more; got {value}")
    if options.misses.distance == "01":
        raise OptionError(
            "--distance 01 is the same for all wrong answers; give wordnet, path, hops, or a file of"
            " distances"
        )
    looks = options.looks
    if looks.indifference is not None and not looks.anytime:
        raise OptionError(
            "--indifference is for --anytime: it says when more labels are not worth their cost"
        )
    if looks.indifference is not None and not 0 < looks.indifference < 100:
        raise OptionError(
            f"--indifference is a number of points between 0 and 100; got {looks.indifference:g}"
        )
    if options.output and not options.where:
        raise OptionError(
            "--output is for --where; standings of a whole selection are written to standings.json"
        )


@verb("faultscape.verbs.rank.table:rank_selection", changes_nothing=("engine", "output"), check=_check)
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
    votes: VoteRules = VoteRules(),
    looks: Looks = Looks(),
    misses: NearMisses = NearMisses(),
    others: OtherStudies = OtherStudies(),
    engine: str = "processes",
) -> Ranked:
    """Rank the models of a selection from the labels of its images, with intervals, and write standings.json.

    For duels: aggressiveness and resistance (Yan et al. 2021); for classifiers Perron's rank and related ones
    (Wang et al. 2020); for images drawn for all models, unbiased scores; and always two rankings in which
    each labelled image scores every model (mean, Bradley-Terry). Missing labels are left out and counted.
    With --where, only the standings on a part of the images are computed and printed; standings.json stays as
    it is.

    Parameters
    ----------
    study
        The study folder.
    selection
        The selection whose images count; main stands for the only one too.
    truth
        The labels that count; default: labels, or the only ones.
    against
        Other selections to compare the rankings with.
    benchmark
        A CSV file (model, score; higher is better) of a closed benchmark to compare the ranks with.
    epsilon
        For label maps: added to the numerator and denominator of aggressiveness and resistance (default
        0.01).
    laplace
        For classifiers: added to right and wrong answers of each pair, (c + x) / (n + 2 x) (default 1).
    resamples
        Bootstrap replicates.
    seed
        Seed of the bootstrap.
    all_labels
        Also use labelled images outside the selection in the rankings that score every model on each labelled
        image (mean, Bradley-Terry).
    population
        What the intervals of drawn images describe: pool (the images of this study) or future (data to come,
        if the pool's images, or their groups, `collect --group`, are a sample of it).
    ranking
        file.py:name, a ranking of your own: a function that maps scores (J, I) and weights (B, I) to scores
        (B, J), or a faultscape Ranking. Repeatable.
    where
        KEY=VALUE: rank only on images with a tag, group, set or condition, for example tag=night. Repeatable;
        all must match.
    output
        With --where: a JSON file for these standings.
    votes
        How people's answers count: `VoteRules(weight_annotators=...)`.
    looks
        How often the result is read: `Looks(anytime=..., indifference=...)`.
    misses
        How two wrong answers of classifiers are compared: `NearMisses(distance=...)`.
    others
        Other studies to compare the rankings with: `OtherStudies(against_study=...)`.
    engine
        local, processes, ray or ray://HOST:PORT, for missing counts against the truth.

    >>> ranked = fs.rank("study", engine="local")
    >>> ranked.verdict.headline
    'Use unet'
    """
    ...
