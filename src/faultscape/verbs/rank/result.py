"""What `rank` returns: the standings it wrote, and how they are printed."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, fields, replace

from faultscape.errors import counted
from faultscape.reporting.verdict import NOTHING, Verdict
from faultscape.standings import Standings, standings_text


@dataclass(frozen=True, eq=False, repr=False)
class Ranked(Standings):
    """The standings written to standings.json, or those of a part of a selection's images, which the output
    names first. The output begins with the verdict on the study.
    """

    verdict: Verdict = NOTHING  # which model to use, and what else the labels say; of a part, nothing

    @classmethod
    def of(cls, standings: Standings) -> Ranked:
        """Return standings as the result of `rank`."""
        return cls(**{field.name: getattr(standings, field.name) for field in fields(Standings)})

    def __repr__(self) -> str:
        return self._headed(self.tables())

    def _says(self) -> str:
        lines = [repr(self.verdict), ""] if self.verdict.lines else []
        return "\n".join([*lines, super()._says()])

    def tables(self) -> str:
        """Return what is printed below the verdict."""
        from faultscape.ranking.catalogue import RANKINGS
        from faultscape.ranking.duel_standings import INVERSE

        known = {ranking.name for ranking in RANKINGS}
        names = [name for place, name in enumerate(self.rankings) if not place or name not in known]
        first = {name: self.rankings[name] for name in names}  # and custom ones
        others = [name for name in self.rankings if name not in first]
        more = [f"other rankings: {', '.join(others)}"] if others else []
        # on the method, where the verdict does not already say that there are too few labels
        hidden = self.details if self.verdict.models else 0
        aside = {INVERSE} if {"aggressiveness", "resistance"} & {*others} else set()
        notes = tuple(note for note in self.notes[hidden:] if note not in aside)
        shown = replace(self, rankings=first, notes=notes)
        more += [f"{counted(hidden, 'note')} on the method"] if hidden else []
        name = str(self.definitions.get("selection", "main"))
        of = "" if name == "main" else f" --selection {shlex.quote(name)}"
        line = [f"{'; '.join(more)}: `rank{of} -v` prints them"] if more else []
        return "\n".join([standings_text(shown, self._score_words), *line])

    def _score_words(self, name: str) -> str:
        from faultscape.metrics.catalogue import METRICS
        from faultscape.ranking.catalogue import score_words

        metric = str(self.definitions.get("concordance", "accuracy"))
        titles = {one.name: one.title.removesuffix(" error") for one in METRICS}
        return score_words(name, titles.get(metric, metric))

    def full_text(self) -> str:
        """Return what ``-v`` prints: every ranking."""
        return self._headed(standings_text(self, self._score_words))

    def _headed(self, standings: str) -> str:
        where = self.definitions.get("where")
        number = self.definitions.get("where_images")
        of = [f"Only {where}, {counted(number, 'image')} of the study:"] if isinstance(number, int) else []
        if not self.verdict.lines:
            from faultscape.reporting.competition.standing_tables import verdict

            head, words = verdict(self)
            return "\n".join([*of, f"{head}. {words}", "", standings])
        return "\n".join([*of, repr(self.verdict), "", standings])
