"""compare: count where every two models disagree."""

from __future__ import annotations

from faultscape.arguments import Place
from faultscape.verbs.compare.result import Compared
from faultscape.verbs.verb import verb


@verb("faultscape.verbs.compare.work:compare_study", changes_nothing=("engine", "workers", "shard"))
def compare(
    study: Place, *, engine: str = "processes", workers: int | None = None, shard: str | None = None
) -> Compared:
    """Count, for every image, where each pair of models (and each model and truth) agrees; only missing or
    stale counts are made.

    The result shows how much every two models agree on average over the pool, and warns of models that
    disagree with all others, or agree everywhere, before anything is labelled.

    Parameters
    ----------
    study
        The study folder.
    engine
        local (this process), processes (all cores, if the work is long enough to be worth starting them),
        ray, or ray://HOST:PORT.
    workers
        Number of processes; default: all cores.
    shard
        PART/PARTS, for example 2/3: do every third shard starting with the second, while other jobs do the
        rest.

    >>> fs.compare("study").pairs
    3
    """
    ...
