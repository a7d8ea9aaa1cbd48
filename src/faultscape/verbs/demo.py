"""demo: try everything on drawn street scenes, in a minute.

The demo has two acts, because the images that answer one question are not a fair sample for the other:
duels show where the networks fail, and as many images drawn for all networks show which is better. A third
act, on its own scenes and only if asked for, tests what the networks know about their own errors under noise,
blur, weather and unknown objects.
"""

from __future__ import annotations

import itertools
import math
import os
import shlex
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from faultscape.arguments import Place, needed_text
from faultscape.errors import StudyError
from faultscape.reporting.verdict import NOTHING, Verdict, hours_words
from faultscape.standings import Standings

if TYPE_CHECKING:
    from faultscape.verbs.reliability import Reliability

SCENES = 200
TRAINING = 60  # masks from which the usual size of each class is taken
BANDS = [0.2, 0.4]  # such small networks never reach the paper's .6 on images chosen for them
DRAWN = "drawn"  # the selection of the second act
CARD_SCENES = 24  # labelled scenes of the third act at most, in a study of their own
CARD_FOLDER = "card"
SCORERS = ["msp", "entropy", "max-logit", "energy"]
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
                f" right order: {right['duels'][0]} by the duels, {right['drawn'][0]} by the drawn images."
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
        following = [f"{self.verdict.next}{hours_words(self.verdict.hours)}"] if self.verdict.next else []
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


def demo(
    study: Place = "demo-study", *, scenes: int = SCENES, card: bool = False, engine: str = "processes"
) -> Demonstrated:
    """Draw street scenes, run five networks on them, and label only the images that show where the networks
    fail and which is best.

    Code draws the images and their truth, and the networks ship with the package. Run the demo again to
    resume it; finished work is kept.

    Parameters
    ----------
    study
        The study folder to create.
    scenes
        How many scenes to draw.
    card
        Continue with the third act: the reliability card of the networks, under corruptions and with unknown
        objects. It takes longer than the first two acts.
    engine
        local (this process), processes (all cores), ray, or ray://HOST:PORT.
    """
    from faultscape.stages.demo import draw_stress
    from faultscape.stages.option_kinds import refuse_other_kinds
    from faultscape.verbs.status import verdict

    study = needed_text(study, "study")
    refuse_other_kinds(demo, {"scenes": scenes, "card": card, "engine": engine})
    root, scenes = Path(study), int(scenes)
    _refuse_other_folders(root, scenes)
    clock = _Clock()
    made, standings, truth = _first_acts(study, scenes, engine, clock)
    said = verdict(study)  # before the third act, which has a study of its own
    shown = None
    if card:
        shown = _card(root, min(CARD_SCENES, max(2, scenes // 4)), engine)
        models, conditions = len(shown.document["models"]), len(shown.document["conditions"])
        clock.stage("reliability", f"the card of {models} models under {conditions} conditions")
        sheet = draw_stress(root / "demo", root / "stress.html", root.resolve().name)
        clock.stage("stress", f"{sheet} images that `faultscape stress` made from these scenes")
        clock.act("3. what they know about their errors")
    print()
    return Demonstrated(
        study,
        standings["main"],
        standings[DRAWN],
        truth,
        made,
        clock.seconds,
        clock.stages,
        shown,
        clock.acts,
        said,
    )


def _refuse_other_folders(root: Path, scenes: int) -> None:
    """Raise StudyError for a folder in which a demo of so many scenes cannot be made or resumed."""
    from faultscape.study.tables.corpus import shard_sizes

    if root.is_file():
        raise StudyError(f"{root} is a file; give a folder")
    if root.exists() and any(root.iterdir()) and not (root / "demo").is_dir():
        raise StudyError(f"{root} exists and was not made by the demo; give another folder")
    if scenes < 2:
        raise StudyError(f"the demo needs at least 2 scenes; got {scenes}")
    drawn = len([*(root / "demo" / "images").glob("*.png")])
    collected = (root / "corpus.parquet").exists()
    held = max(drawn, sum(shard_sizes(root).values()) if collected else 0)
    if held > scenes or (collected and held != scenes):
        raise StudyError(f"{root} has a demo of {held} scenes; give another folder for {scenes} scenes")


class _Clock:
    """Prints how long each stage and each act took, and keeps it."""

    def __init__(self) -> None:
        self._start = time.perf_counter()
        self.stages: dict[str, float] = {}
        self.acts: dict[str, float] = {}

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._start

    def stage(self, name: str, result: Any = None) -> None:
        """End a stage."""
        took = self.seconds - sum(self.stages.values())
        self.stages[name] = self.stages.get(name, 0.0) + took
        print(f"[{name}, {took:.1f} s]" + (f" {result}" if result is not None else ""), flush=True)

    def act(self, name: str) -> None:
        """End an act: all stages since the one before."""
        self.acts[name] = self.seconds - sum(self.acts.values())
        print(f"[{name}: {self.acts[name]:.0f} s in all]\n", flush=True)


def _first_acts(
    study: str, scenes: int, engine: str, clock: _Clock
) -> tuple[int, Mapping[str, Standings], dict[str, float]]:
    """Play the two acts; return how many images there are, {selection: its standings}, and {network: its mean
    score by the truth of all images}.
    """
    from faultscape.scenes import street as drawing
    from faultscape.stages.collect.result import Collected
    from faultscape.stages.demo import draw_scenes, mean_scores
    from faultscape.stages.select.options import MapRules
    from faultscape.study.lock import writing
    from faultscape.verbs.collect import collect
    from faultscape.verbs.compare import compare
    from faultscape.verbs.predict import predict
    from faultscape.verbs.rank import rank
    from faultscape.verbs.report import report
    from faultscape.verbs.scale import scale
    from faultscape.verbs.select import select

    root = Path(study)
    classes = class_list(drawing.CLASSES)
    with writing(root):
        draw_scenes(root / "demo", scenes, TRAINING, engine)
    clock.stage("draw", f"{scenes} scenes with their truth, {TRAINING} training masks")
    made = collect(study, str(root / "demo" / "images"), classes=classes)
    assert isinstance(made, Collected)
    clock.stage("collect", made)
    clock.stage("predict", predict(study, networks(), engine=engine))
    clock.stage("compare", compare(study, engine=engine))
    clock.act("maps of the networks")
    scale(str(root / "demo" / "training"), classes=classes, output=str(root / "scale.json"))
    duels = select(study, maps=MapRules(scale=str(root / "scale.json")), engine=engine)
    clock.stage("select", duels.summary())
    _label(root, duels, "main", clock)
    rank(study, engine=engine)
    clock.stage("rank")
    clock.act("1. where they fail")
    drawn = select(study, as_=DRAWN, goal="order", budget=len(duels.images), engine=engine)
    clock.stage("select", drawn.summary())
    _label(root, drawn, DRAWN, clock)
    # the new labels are among those that the first standings were made from: both come from all of them
    standings = {name: rank(study, selection=name, engine=engine) for name in ("main", DRAWN)}
    clock.stage("rank")
    clock.act("2. which is better")
    truth = mean_scores(root, root / "demo" / "truth", duels.models, duels.definition)
    clock.stage("check", "the scores from all labels, available only because this is a demo")
    for name in (DRAWN, "main"):
        clock.stage("report", report(study, selection=name, bands=BANDS))
    clock.act("reports")
    return made.images, standings, truth


def _label(root: Path, slots: Any, name: str, clock: _Clock) -> None:
    """Simulate an annotator who labels only the images of a selection, from their truth."""
    from faultscape.verbs.label import export, import_

    study, answers = str(root), root / "demo" / "answers" / name / "labels"
    export(study, str(root / "demo" / f"to-label-{name}"), selection=name)
    answers.mkdir(parents=True, exist_ok=True)
    for image in slots.images:
        target = answers / f"{image}.png"
        if not target.exists():
            os.link(root / "demo" / "truth" / f"{image}.png", target)
    clock.stage("label", import_(study, str(answers.parent)))


def _card(root: Path, scenes: int, engine: str) -> Reliability:
    """Make the card of the networks and an ensemble of three on separate scenes: clean, corrupted and with
    unknown objects.
    """
    from faultscape.scenes import street as drawing
    from faultscape.stages.demo import draw_scenes
    from faultscape.verbs import stress
    from faultscape.verbs.collect import collect
    from faultscape.verbs.label import import_
    from faultscape.verbs.predict import predict
    from faultscape.verbs.reliability import reliability

    folder, study = root / "demo" / CARD_FOLDER, str(root / "demo" / CARD_FOLDER / "study")
    draw_scenes(folder, scenes, 0, engine, begin=10_000)
    collect(study, str(folder / "images"), classes=replace(class_list(drawing.CLASSES), void=(255,)))
    import_(study, str(folder / "truth"))
    stress.corrupt(
        study,
        corruption=["gaussian_noise", "motion_blur", "fog", "contrast"],
        severities="1,3,5",
        engine=engine,
    )
    stress.blend(study, preset="fishyscapes-v2", engine=engine)
    models = networks()
    predict(study, models, scorer=SCORERS, measure=True, engine=engine)
    ensemble = {"ensemble": "ensemble:fcn,segformer,unet"}
    predict(study, ensemble, scorer=["msp", "entropy", "mutual-information"], measure=True, engine=engine)
    return reliability(study, reference="fcn", output=str(root / CARD_FOLDER), engine=engine)


def networks() -> dict[str, str]:
    """Return {name: path} of the five networks that ship with the package."""
    from importlib.resources import files

    folder = Path(str(files("faultscape.prediction") / "networks"))
    return {path.stem: str(path) for path in sorted(folder.glob("*.onnx"))}


def class_list(rows: Any) -> Any:
    """Return the classes of the drawn scenes."""
    from faultscape.nouns import Classes

    return Classes(
        tuple(name for _, name, _ in rows),
        tuple(id_ for id_, _, _ in rows),
        tuple(colour for _, _, colour in rows),
    )
