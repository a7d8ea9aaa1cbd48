"""demo: try everything on drawn street scenes, in two or three minutes.

The demo has two acts, because the images that answer one question are not a fair sample for the other:
duels show where the networks fail, and as many images drawn for all networks show which is better. A third
act, on its own scenes, tests what the networks know about their own errors under noise, blur, weather and
unknown objects.
"""

from __future__ import annotations

import itertools
import math
import os
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from faultscape.arguments import Place, needed_text
from faultscape.errors import StudyError
from faultscape.standings import Standings

if TYPE_CHECKING:
    from faultscape.verbs.reliability import Reliability

TRAINING = 60  # masks from which the usual size of each class is taken
BANDS = [0.2, 0.4]  # such small networks never reach the paper's .6 on images chosen for them
DRAWN = "drawn"  # the selection of the second act
CARD_SCENES = 24  # labelled scenes of the third act at most, in a study of their own
CARD_FOLDER = "card"
SCORERS = ["msp", "entropy", "max-logit", "energy"]
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
    card: Reliability | None = None  # reliability card of the third act

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
            *(f"   {line}" for line in _first(self.drawn)),
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
            f"reports: {Path(self.study) / 'report.html'} (where they fail)",
            f"         {Path(self.study) / f'report-{DRAWN}.html'} (which is better)",
            f"         {Path(self.study) / CARD_FOLDER / 'report.html'} (what they know about their errors)",
            (
                f"         {Path(self.study) / 'stress.html'} (how corruptions and unknown objects change"
                " these scenes)"
            ),
            f"took {self.seconds:.0f} s",
            f"next: faultscape status {self.study}",
        ]
        return "\n".join(lines)

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


def _first(standings: Standings) -> list[str]:
    """Return the verdict of standings and the lines of its first ranking."""
    from faultscape.reporting.verdict_lines import verdict

    first = dict([next(iter(standings.rankings.items()))])
    said = verdict({"": standings}, models=standings.models)
    return [*said.lines, *repr(replace(standings, rankings=first, notes=())).split("\n")[1:]]


def demo(study: Place = "demo-study", *, scenes: int = 300, engine: str = "processes") -> Demonstrated:
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
    engine
        local (this process), processes (all cores), ray, or ray://HOST:PORT.
    """
    from faultscape.scenes import street as drawing
    from faultscape.stages.collect.result import Collected
    from faultscape.stages.demo import draw_scenes, draw_stress
    from faultscape.stages.evidence import accuracies
    from faultscape.stages.option_kinds import refuse_other_kinds
    from faultscape.stages.select.options import MapRules
    from faultscape.study.lock import writing
    from faultscape.study.tables.corpus import shard_sizes
    from faultscape.verbs.collect import collect
    from faultscape.verbs.compare import compare
    from faultscape.verbs.label import export, import_
    from faultscape.verbs.predict import predict
    from faultscape.verbs.rank import rank
    from faultscape.verbs.report import report
    from faultscape.verbs.scale import scale
    from faultscape.verbs.select import select

    study = needed_text(study, "study")
    refuse_other_kinds(demo, {"scenes": scenes, "engine": engine})
    root, scenes = Path(study), int(scenes)
    if root.is_file():
        raise StudyError(f"{root} is a file; give a folder")
    if root.exists() and any(root.iterdir()) and not (root / "demo").is_dir():
        raise StudyError(f"{root} exists and was not made by the demo; give another folder")
    if scenes < 2:
        raise StudyError(f"the demo needs at least 2 scenes; got {scenes}")
    drawn = len([*(root / "demo" / "images").glob("*.png")])
    if (
        held := max(drawn, sum(shard_sizes(root).values()) if (root / "corpus.parquet").exists() else 0)
    ) > scenes or ((root / "corpus.parquet").exists() and held != scenes):
        raise StudyError(f"{root} has a demo of {held} scenes; give another folder for {scenes} scenes")
    start, stages = time.perf_counter(), {}

    def stage(name: str, result: Any = None) -> None:
        took = time.perf_counter() - start - sum(stages.values())
        stages[name] = stages.get(name, 0.0) + took
        print(f"[{name}, {took:.1f} s]" + (f" {result}" if result is not None else ""), flush=True)

    classes = class_list(drawing.CLASSES)
    with writing(root):
        draw_scenes(root / "demo", scenes, TRAINING, engine)
    stage("draw", f"{scenes} scenes with their truth, {TRAINING} training masks")
    made = collect(study, str(root / "demo" / "images"), classes=classes)
    assert isinstance(made, Collected)
    stage("collect", made)
    stage("predict", predict(study, networks(), engine=engine))
    stage("compare", compare(study, engine=engine))
    scale(str(root / "demo" / "training"), classes=classes, output=str(root / "scale.json"))
    duels = select(study, maps=MapRules(scale=str(root / "scale.json")), engine=engine)
    stage("select", f"where they fail: {duels!r}")
    drawn = select(study, as_=DRAWN, goal="order", budget=len(duels.images), engine=engine)
    stage("select", f"which is better: {drawn!r}")
    answers = root / "demo" / "answers" / "labels"
    answers.mkdir(parents=True, exist_ok=True)
    for name, slots in (("main", duels), (DRAWN, drawn)):
        export(study, str(root / "demo" / f"to-label-{name}"), selection=name)
        for image in slots.images:  # simulates an annotator who answers only what is asked, from the truth
            target = answers / f"{image}.png"
            if not target.exists():
                os.link(root / "demo" / "truth" / f"{image}.png", target)
    stage("label", import_(study, str(answers.parent)))
    standings = {name: rank(study, selection=name, engine=engine) for name in ("main", DRAWN)}
    stage("rank")
    import_(study, str(root / "demo" / "truth"), truth="everything")
    compare(study, engine=engine)
    _, every = accuracies(root, duels.models, "everything", duels.definition)
    truth = dict(zip(duels.models, every.mean(axis=1).tolist(), strict=True))
    stage("check", "the scores from all labels, available only because this is a demo")
    for name in (DRAWN, "main"):
        stage("report", report(study, selection=name, bands=BANDS))
    card = _card(root, min(CARD_SCENES, max(2, scenes // 4)), engine)
    stage(
        "reliability",
        f"the card of {len(card.document['models'])} models under {len(card.document['conditions'])}"
        " conditions",
    )
    shown = draw_stress(root / "demo", root / "stress.html", root.resolve().name)
    stage("stress", f"{shown} images that `faultscape stress` made from these scenes")
    print()
    return Demonstrated(
        study,
        standings["main"],
        standings[DRAWN],
        truth,
        made.images,
        time.perf_counter() - start,
        stages,
        card,
    )


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
