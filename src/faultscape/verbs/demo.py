"""demo: the whole line on drawn street scenes and five small networks, in under a minute."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from faultscape.errors import StudyError
from faultscape.nouns import Standings

TRAINING = 60  # masks from which the usual size of each class is taken
BANDS = [0.2, 0.4]  # such small networks never reach the paper's .6 on an image they were chosen for


@dataclass(frozen=True, eq=False)
class Demonstrated:
    """What the demo found: the standings, the labels used, and how well they agree with the ranking from all labels."""

    study: str
    standings: Standings
    labels: int
    images: int
    correlation: dict[str, float]
    seconds: float
    stages: dict[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        from faultscape.verbs.rank import told

        lines = [
            told(self.standings),
            "",
            f"{self.labels} of {self.images} images were labelled. Rank correlation with the ranking from all {self.images}:",
        ]
        lines += [f"  {name:<24} {value:6.3f}" for name, value in self.correlation.items()]
        lines += [
            "",
            f"report: {Path(self.study) / 'report.html'}   ({self.seconds:.0f} s)",
            f"next:   faultscape status {self.study}",
        ]
        return "\n".join(lines)


def demo(study: str = "demo-study", *, scenes: int = 300, engine: str = "processes") -> Demonstrated:
    """Draw street scenes, run five networks over them, label only what a competition asks for, and rank the networks.

    Everything is made on the spot: pictures and truth are drawn by code, the networks ship with the package. Run it again and finished work is kept.

    Parameters
    ----------
    study
        The study folder to make.
    scenes
        How many scenes are drawn.
    engine
        local (this process), processes (all cores), ray, or ray://HOST:PORT.
    """
    from faultscape.corpus import scenes as drawing
    from faultscape.ranking.agreement import spearman
    from faultscape.study.corpus import shard_sizes
    from faultscape.study.lock import writing
    from faultscape.verbs.collect import collect
    from faultscape.verbs.compare import compare
    from faultscape.verbs.label import export, import_
    from faultscape.verbs.labelled import accuracies
    from faultscape.verbs.predict import predict
    from faultscape.verbs.rank import rank
    from faultscape.verbs.report import report
    from faultscape.verbs.scale import scale
    from faultscape.verbs.select import select, told

    root = Path(study)
    if root.exists() and any(root.iterdir()) and not (root / "demo").is_dir():
        raise StudyError(f"{root} is there and was not made by the demo; give the demo another folder")
    if scenes < 2:
        raise StudyError(f"the demo needs at least 2 scenes; got {scenes}")
    drawn = len([*(root / "demo" / "images").glob("*.png")])
    if (held := max(drawn, sum(shard_sizes(root).values()) if (root / "corpus.parquet").exists() else 0)) > scenes or (
        (root / "corpus.parquet").exists() and held != scenes
    ):
        raise StudyError(f"{root} holds a demo of {held} scenes; give one of {scenes} another folder")
    start, stages = time.perf_counter(), {}

    def stage(name: str, result: Any = None) -> None:
        stages[name] = time.perf_counter() - start - sum(stages.values())
        print(f"[{name}, {stages[name]:.1f} s]" + (f" {result}" if result is not None else ""), flush=True)

    classes = class_list(drawing.CLASSES)
    with writing(root):
        _draw(root / "demo", scenes, engine)
    stage("draw", f"{scenes} scenes with their truth, {TRAINING} training masks")
    made = collect(study, str(root / "demo" / "images"), classes=classes)
    stage("collect", made)
    stage("predict", predict(study, networks(), engine=engine))
    stage("compare", compare(study, engine=engine))
    scale(str(root / "demo" / "training"), classes=classes, output=str(root / "scale.json"))
    chosen = select(study, scale=str(root / "scale.json"), engine=engine)
    stage("select", told(chosen))
    export(study, str(root / "demo" / "to-label"))
    answers = root / "demo" / "answers" / "labels"
    answers.mkdir(parents=True, exist_ok=True)
    for image in chosen.images:  # a patient person, who answers from the drawn truth what was asked and nothing else
        target = answers / f"{image}.png"
        if not target.exists():
            os.link(root / "demo" / "truth" / f"{image}.png", target)
    stage("label", import_(study, str(answers.parent)))
    standings = rank(study, engine=engine)
    stage("rank")
    import_(study, str(root / "demo" / "truth"), truth="everything")
    compare(study, engine=engine)
    _, every = accuracies(root, standings.models, "everything", chosen.definition)
    mean = every.mean(axis=1)
    correlation = {name: spearman([r["scores"][m] for m in standings.models], mean) for name, r in standings.rankings.items()}
    stage("check", "the ranking from all labels, which nobody would have in earnest")
    stage("report", report(study, bands=BANDS))
    return Demonstrated(study, standings, standings.labels["used"], made.images, correlation, time.perf_counter() - start, stages)


def networks() -> dict[str, str]:
    """Return {name: path} of the five networks that ship with the package."""
    from importlib.resources import files

    folder = Path(str(files("faultscape.prediction") / "networks"))
    return {path.stem: str(path) for path in sorted(folder.glob("*.onnx"))}


def class_list(rows: Any) -> Any:
    """Return the classes of the drawn scenes."""
    from faultscape.nouns import Classes

    return Classes(tuple(name for _, name, _ in rows), tuple(id_ for id_, _, _ in rows), tuple(colour for _, _, colour in rows))


def _draw(folder: Path, number: int, engine: str) -> None:
    """Draw what is not there yet."""
    from faultscape import engine as engines

    for name in ("images", "truth", "training"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    calls = [
        {"folder": str(folder), "first": first, "last": min(first + 25, total), "training": training}
        for training, total in ((False, number), (True, TRAINING))
        for first in range(0, total, 25)
    ]
    with engines.progress("draw", number + TRAINING) as tick:
        for _ in engines.run("faultscape.verbs.demo:draw", calls, engine=engine, tick=tick):
            pass


def draw(folder: str, first: int, last: int, training: bool, tick: Any) -> None:
    """Draw the scenes first..last - 1, or their training counterparts of which only the masks are kept."""
    import cv2

    from faultscape.corpus import scenes as drawing
    from faultscape.study.folder import put

    for index in range(first, last):
        name = f"scene-{index:04d}.png"
        target = Path(folder) / ("training" if training else "images") / name
        if not target.exists():
            scene = drawing.training_scene(index) if training else drawing.corpus_scene(index)
            if not training:
                put(Path(folder) / "truth" / name, cv2.imencode(".png", scene.truth)[1].tobytes())
            pixels = scene.truth if training else cv2.cvtColor(scene.image, cv2.COLOR_RGB2BGR)
            put(target, cv2.imencode(".png", pixels, [cv2.IMWRITE_PNG_COMPRESSION, 1])[1].tobytes())
        tick(1)
