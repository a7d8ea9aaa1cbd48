"""What `demo` reports about its acts. Light, because a verb names it in its signature."""

from __future__ import annotations

import itertools
import math
import shlex
from dataclasses import dataclass, field, replace
from pathlib import Path

from faultscape.reporting.verdict import NOTHING, Verdict, hours_words
from faultscape.standings import Standings
from faultscape.verbs.reliability import Reliability

SCENES = 200
DRAWN = "drawn"  # the selection of the second act
CARD_FOLDER = "card"
ABOUT_CARD = "third act, what they know about their errors: two to four minutes on two cores"
APART = 0.01  # in mean score: the order of networks that are closer is neither right nor wrong


@dataclass(frozen=True, eq=False)
class Demonstrated:
    """What the demo found in its acts, and how well the first two agree with the mean score of each network
    over all images.
    """

    study: str  # the folder that the demo made
    duels: Standings  # standings of the first act, selection main
    drawn: Standings  # standings of the second act, selection drawn
    truth: dict[str, float]  # {network: mean concordance with the truth of all images}
    images: int  # scenes that were drawn for the first two acts
    seconds: float  # how long this run took, in all
    stages: dict[str, float] = field(default_factory=dict)  # {stage: seconds}, in order
    card: Reliability | None = None  # reliability card of the third act; None if it was not asked for
    acts: dict[str, float] = field(default_factory=dict)  # {act: seconds}, in order
    verdict: Verdict = NOTHING  # which network to use, and what else the labels of both acts say

    @property
    def in_order(self) -> dict[str, tuple[int, int]]:
        """By the first ranking of each act: how many pairs of networks are in the right order, and how many
        are more than ``APART`` apart.
        """
        from faultscape.ranking.agreement import pairs_in_order

        scores = {"duels": self.duels, "drawn": self.drawn}
        firsts = {act: next(iter(standings.rankings.values())).scores for act, standings in scores.items()}
        return {
            act: pairs_in_order([of[m] for m in self.truth], [*self.truth.values()], apart=APART)
            for act, of in firsts.items()
        }

    def __repr__(self) -> str:
        from faultscape.reporting.competition.standing_tables import caveat, listed

        worst_first = next(iter(self.duels.rankings.values())).order
        used = self.duels.labels["used"], self.drawn.labels["used"]
        right = self.in_order
        truth = sorted(self.truth.items(), key=lambda of: -of[1])
        lines = [
            f"1. Where do they fail?  {used[0]} images on which two networks disagree most",
            f"   {caveat(self.duels)}",
            f"   Worst first: {', '.join(worst_first)}.",
            "",
            (
                f"2. Which is better?  {used[1]} images drawn for all {len(truth)} networks, with known"
                " probabilities"
            ),
            *(f"   {line}" for line in _table(self.drawn)),
            "",
            f"Checked against the labels of all {self.images} images, available only because this is a demo:",
            *(f"   {model:<24} {score:8.4f}" for model, score in truth),
            (
                f"{right['drawn'][1]} pairs of networks are more than {100 * APART:g} point apart. In the"
                f" right order: {right['duels'][0]} by the images of 1, {right['drawn'][0]} by those of 2."
            ),
            *(
                f"{listed(pair)} are {100 * gap:.1f} points apart: the drawn images"
                f" {'leave open which is better' if is_open else 'show which is better'}."
                for pair, gap, is_open in self.near
            ),
            "",
            *self._card_lines,
            *self._reports,
            f"took {self.seconds:.0f} s: {', '.join(f'{act} {s:.0f} s' for act, s in self.acts.items())}",
            "",
            *self.verdict.lines,
            *self._next,
        ]
        return "\n".join(lines)

    @property
    def _next(self) -> list[str]:
        """Return what to do next: what the verdict calls for, the third act, and the same with other
        images.
        """
        following = (
            [f"{self.verdict.next}{hours_words(self.verdict.hours, self.verdict.next)}"]
            if self.verdict.next
            else []
        )
        following += [] if self.card else [f"{self.card_line}  ({ABOUT_CARD})"]
        following.append(
            "faultscape run STUDY IMAGES NAME=SOURCE ...  (the same with your images and models)"
        )
        return [f"{'or:   ' if place else 'next: '}{line}" for place, line in enumerate(following)]

    @property
    def _reports(self) -> list[str]:
        root = Path(self.study)
        pages = {
            root / "report.html": "where they fail",
            root / f"report-{DRAWN}.html": "which is better",
        }
        if self.card is not None:
            pages[root / CARD_FOLDER / "report.html"] = "what they know about their errors"
            pages[root / "stress.html"] = "how corruptions and unknown objects change these scenes"
        first, *rest = (f"{page} ({about})" for page, about in pages.items())
        return [f"reports: {first}", *(f"         {line}" for line in rest)]

    @property
    def card_line(self) -> str:
        """The command that continues with the third act."""
        fewer = [] if self.images == SCENES else ["--scenes", str(self.images)]
        return shlex.join(["faultscape", "demo", self.study, *fewer, "--card"])

    @property
    def _card_lines(self) -> list[str]:
        """Return the third act in a few lines: which network degrades least under corruption, and whose doubt
        finds unknown objects.
        """
        from faultscape.reporting.reliability.words import act_text

        return [] if self.card is None else [*act_text(self.card.document), ""]

    @property
    def near(self) -> list[tuple[tuple[str, str], float, bool]]:
        """Pairs of networks at most ``APART`` apart, by how much, and whether the ranks from the drawn images
        leave open which is better.
        """
        ranks = next(
            iter(self.drawn.rankings.values())
        ).rank_interval  # none for all images, about which everything is known
        known = [m for m in self.truth if m in ranks and not math.isnan(ranks[m][0])]
        pairs = [
            (a, b) for a, b in itertools.combinations(known, 2) if abs(self.truth[a] - self.truth[b]) <= APART
        ]
        return [
            (
                (a, b),
                abs(self.truth[a] - self.truth[b]),
                ranks[a][0] <= ranks[b][1] and ranks[b][0] <= ranks[a][1],
            )
            for a, b in pairs
        ]


def _table(drawn: Standings) -> list[str]:
    """Return the lines of the first ranking; the verdict on it is printed at the end."""
    from faultscape.ranking.catalogue import score_words
    from faultscape.standings import standings_text

    first = dict([next(iter(drawn.rankings.items()))])
    shown = replace(drawn, rankings=first, notes=())
    return standings_text(shown, lambda ranking: score_words(ranking, "mIoU")).split("\n")
