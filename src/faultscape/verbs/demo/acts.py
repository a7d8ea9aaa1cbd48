"""Play the acts of the demo, and print how long each took.

The demo has two acts, because the images that answer one question are not a fair sample for the other:
duels show where the networks fail, and as many images drawn for all networks show which is better. A third
act, on its own scenes and only if asked for, tests what the networks know about their own errors under noise,
blur, weather and unknown objects.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from faultscape.standings import Standings
from faultscape.study.lock import writing
from faultscape.verbs import stress
from faultscape.verbs.collect import collect
from faultscape.verbs.collect.result import Collected
from faultscape.verbs.compare import compare
from faultscape.verbs.demo.result import CARD_FOLDER, DRAWN, Demonstrated
from faultscape.verbs.demo.scene_files import draw_scenes
from faultscape.verbs.demo.scenes import draw_stress, mean_scores, refuse_other_folders, scene_classes
from faultscape.verbs.label import export, import_
from faultscape.verbs.predict import predict
from faultscape.verbs.rank import rank
from faultscape.verbs.reliability import Reliability, reliability
from faultscape.verbs.report import report
from faultscape.verbs.scale import scale
from faultscape.verbs.select import select
from faultscape.verbs.select.options import MapRules
from faultscape.verbs.status import verdict

if TYPE_CHECKING:
    from faultscape.verbs.options import DemoOptions

TRAINING = 60  # masks from which the usual size of each class is taken
BANDS = [0.2, 0.4]  # such small networks never reach the paper's .6 on images chosen for them
CARD_SCENES = 24  # labelled scenes of the third act at most, in a study of their own
SCORERS = ["msp", "entropy", "max-logit", "energy"]


class Clock:
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


def play(options: DemoOptions) -> Demonstrated:
    """Play both acts in a study, and the third if it is asked for."""
    study = options.study
    scenes = options.scenes
    engine = options.engine
    root = Path(study)
    refuse_other_folders(root, scenes)
    clock = Clock()
    made, standings, truth = _first_acts(study, scenes, engine, clock)
    said = verdict(study)  # before the third act, which has a study of its own
    shown = None
    if options.card:
        shown = _card(root, min(CARD_SCENES, max(2, scenes // 4)), engine)
        models = len(shown.document["models"])
        conditions = len(shown.document["conditions"])
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


def _first_acts(
    study: str, scenes: int, engine: str, clock: Clock
) -> tuple[int, Mapping[str, Standings], dict[str, float]]:
    """Play the two acts; return how many images there are, {selection: its standings}, and {network: its mean
    score by the truth of all images}.
    """
    root = Path(study)
    classes = scene_classes()
    with writing(root):
        draw_scenes(root / "demo", scenes, TRAINING, engine)
    clock.stage("draw", f"{scenes} scenes with their truth, {TRAINING} training masks")
    made = collect(study, str(root / "demo" / "images"), classes=classes)
    assert isinstance(made, Collected)
    clock.stage("collect", made)
    # other processes would only load the same libraries: threads run these networks on all cores
    clock.stage("predict", predict(study, networks(), engine="local" if engine == "processes" else engine))
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


def _label(root: Path, slots: Any, name: str, clock: Clock) -> None:
    """Simulate an annotator who labels only the images of a selection, from their truth."""
    study = str(root)
    answers = root / "demo" / "answers" / name / "labels"
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
    folder = root / "demo" / CARD_FOLDER
    study = str(root / "demo" / CARD_FOLDER / "study")
    draw_scenes(folder, scenes, 0, engine, begin=10_000)
    collect(study, str(folder / "images"), classes=replace(scene_classes(), void=(255,)))
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
    folder = Path(str(files("faultscape.prediction") / "networks"))
    return {path.stem: str(path) for path in sorted(folder.glob("*.onnx"))}
