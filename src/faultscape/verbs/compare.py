"""compare: where two models disagree, as packed counts."""

from __future__ import annotations

from dataclasses import dataclass

from faultscape.errors import ModelError, counted
from faultscape.nouns import Agreement


@dataclass(frozen=True)
class Compared:
    """What `compare` counted, and how far the models agree: None where it did but a part, or where there is no pool."""

    study: str
    models: int
    pairs: int
    truths: tuple[str, ...]
    shards_counted: int
    parts_made: int
    classifies: bool = False
    agreement: Agreement | None = None

    def __repr__(self) -> str:
        return "\n".join([self._counted(), *(_agreement_lines(self.agreement) if self.agreement is not None else [])])

    def _counted(self) -> str:
        if self.classifies:
            return f"{self.study}: {counted(self.pairs, 'pair')} of {self.models} classifiers; their answers are compared as they are, and nothing is to be counted before"
        truths = f", each against {', '.join(self.truths)}" if self.truths else ""
        made = (
            f"{counted(self.parts_made, 'part')} counted in {counted(self.shards_counted, 'shard')}"
            if self.parts_made
            else "nothing was missing"
        )
        return f"{self.study}: {counted(self.pairs, 'pair')} of {self.models} models{truths}; {made}"


def _agreement_lines(found: Agreement) -> list[str]:
    """Return the table of mean agreement and the warnings."""
    from faultscape.comparison.agreement import table_text
    from faultscape.stages.agreement import warning_lines

    return [table_text(found), *warning_lines(found)]


def compare(study: str, *, engine: str = "processes", workers: int | None = None, shard: str | None = None) -> Compared:
    """Count, for every image, where each pair of models (and each model and truth) agree; only what is missing or stale is counted.

    It says how far every two models agree in the mean over the pool, and warns of models that agree with nobody, or everywhere, before anything is labelled.

    Parameters
    ----------
    study
        The study folder.
    engine
        local (this process), processes (all cores), ray, or ray://HOST:PORT.
    workers
        Number of processes; default: all cores.
    shard
        PART/PARTS, for example 2/3: do every third shard beginning with the second, beside other jobs that do the rest.
    """
    from faultscape.stages.agreement import agreement
    from faultscape.stages.count import count
    from faultscape.study.array_jobs import share
    from faultscape.study.folder import existing
    from faultscape.study.lock import changing, writing
    from faultscape.study.settings import read_settings
    from faultscape.study.tables.label_maps import truths
    from faultscape.study.tables.logs import log

    root = existing(study)
    mine = share(shard)
    with writing(root, array="compare" if shard else ""):
        settings = read_settings(root)
        if len(settings.models) < 2:
            have = ", ".join(settings.models) or "none"
            raise ModelError(
                f"comparing needs two models; the study has {have}; add more with `faultscape predict {study} NAME=SOURCE`"
            )
        j = len(settings.models)
        if settings.classifies:
            return Compared(study, j, j * (j - 1) // 2, (), 0, 0, classifies=True, agreement=agreement(root, settings))
        known = truths(root)
        done = count(root, known, engine=engine, workers=workers, mine=mine)
        with changing(root):
            log(root, "compare", engine=engine, shard=shard)
        found = None if shard else agreement(root, settings)
    return Compared(study, j, j * (j - 1) // 2, tuple(known), *done, agreement=found)
