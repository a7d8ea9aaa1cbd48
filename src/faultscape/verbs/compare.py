"""compare: count where every two models disagree."""

from __future__ import annotations

from faultscape.arguments import Place, needed_text
from faultscape.stages.compare.result import Compared


def compare(
    study: Place, *, engine: str = "processes", workers: int | None = None, shard: str | None = None
) -> Compared:
    """Count, for every image, where each pair of models (and each model and truth) agree; only what is
    missing or stale is counted.

    It says how far every two models agree in the mean over the pool, and warns of models that agree with
    nobody, or everywhere, before anything is labelled.

    Parameters
    ----------
    study
        The study folder.
    engine
        local (this process), processes (all cores, once the work lasts longer than they take to start), ray,
        or ray://HOST:PORT.
    workers
        Number of processes; default: all cores.
    shard
        PART/PARTS, for example 2/3: do every third shard beginning with the second, beside other jobs that do
        the rest.
    """
    from faultscape.stages.compare.options import CompareOptions
    from faultscape.stages.compare.study import compare_study

    return compare_study(CompareOptions(needed_text(study, "study"), engine, workers, shard))
