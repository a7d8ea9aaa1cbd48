"""Ten tasks for a program that drives Faultscape and has read nothing but docs/_extra/SKILL.md.

    python benchmarks/skill_tasks.py make FOLDER     # a folder a task, with TASK.txt and its inputs
    python benchmarks/skill_tasks.py check FOLDER    # after the reader: which tasks are solved

The reader gets SKILL.md and FOLDER, and writes ``answer.json`` into each task's folder, as its TASK.txt asks.
Scenes are drawn by code; models are their truth with errors of known kinds. A check compares the answer with
what the verbs say of the same inputs, so an answer that claims more than the verdict is wrong.
"""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import faultscape as fs
from faultscape.scenes import street

CLASSES = tuple(name for _, name, _ in street.CLASSES)
SIZE = (96, 64)  # width, height
ERRORS = {"fcn": 0.35, "psp": 0.2, "unet": 0.05}  # share of the regions that a model gets wrong


def scenes(folder: Path, number: int, first: int = 0) -> None:
    """Write images and their truth."""
    for name in ("images", "truth"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for k in range(first, first + number):
        drawn = fs.scenes.corpus_scene(k)
        image = cv2.resize(cv2.cvtColor(drawn.image, cv2.COLOR_RGB2BGR), SIZE, interpolation=cv2.INTER_AREA)
        truth = cv2.resize(drawn.truth, SIZE, interpolation=cv2.INTER_NEAREST)
        cv2.imwrite(str(folder / "images" / f"scene-{k:03}.png"), image)
        cv2.imwrite(str(folder / "truth" / f"scene-{k:03}.png"), truth)


def maps(folder: Path, name: str, wrong: float, void: int | None = None) -> None:
    """Write a model's maps: the truth with some classes exchanged for others, image by image."""
    rng = np.random.default_rng(sorted(ERRORS).index(name) if name in ERRORS else 9)
    out = folder / "maps" / name
    out.mkdir(parents=True, exist_ok=True)
    for path in sorted((folder / "truth").glob("*.png")):
        truth = cv2.imread(str(path), cv2.IMREAD_UNCHANGED)
        made = truth.copy()
        for class_ in np.unique(truth[truth < len(CLASSES)]):
            if rng.random() < wrong:
                made[truth == class_] = rng.integers(len(CLASSES))
        if void is not None:
            made[:4] = void
        cv2.imwrite(str(out / path.name), made)


def class_file(folder: Path) -> None:
    """Write the class list."""
    listed = [{"id": k, "name": name} for k, name in enumerate(CLASSES)]
    (folder / "classes.json").write_text(json.dumps({"classes": listed, "void": [255]}))


def world(folder: Path, number: int, models: dict[str, float] = ERRORS) -> None:
    """Write scenes, maps of models, and the class list."""
    scenes(folder, number)
    class_file(folder)
    for name, wrong in models.items():
        maps(folder, name, wrong)


def network(path: Path) -> None:
    """Write a network that knows classes by their colours: a convolution of 1 x 1 over RGB from 0 to 1."""
    rng = np.random.default_rng(1)
    weights = rng.normal(size=(len(CLASSES), 3, 1, 1)).astype(np.float32)
    ends = [
        helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 3, "h", "w"]),
        helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", len(CLASSES), "h", "w"]),
    ]
    node = helper.make_node("Conv", ["image", "weights"], ["logits"])
    graph = helper.make_graph(
        [node], "net", ends[:1], ends[1:], [numpy_helper.from_array(weights, "weights")]
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def rank_folders(folder: Path) -> str:
    world(folder, 60)
    return (
        "images/ has 60 images, truth/ their true label maps, maps/ the label maps of three models, classes.json"
        " the class list. Make a study named `study`, let Faultscape choose which images to label, take their"
        ' labels from truth/, and say which model is better. answer.json: {"decided": true or false, "models":'
        " [the one to use, or those between which the labels do not decide]}"
    )


def rank_folders_solved(folder: Path, answer: dict) -> bool:
    said = fs.verdict(folder / "study")
    return (
        answer["decided"] is said.decided
        and set(answer["models"]) == set(said.models)
        and bool(said.population)
    )


def add_a_model(folder: Path) -> str:
    world(folder, 40)
    run = {name: str(folder / "maps" / name) for name in ERRORS}
    study = str(folder / "study")
    fs.run(study, str(folder / "images"), run, classes=str(folder / "classes.json"), engine="local")
    fs.label.import_(study, str(folder / "truth"))
    fs.rank(study)
    maps(folder, "segformer", 0.01)
    return (
        "`study` compares three models on 40 labelled images. Add a fourth, segformer, whose maps are in"
        ' maps/segformer, and rank all four again. answer.json: {"order": [models, best first]}'
    )


def add_a_model_solved(folder: Path, answer: dict) -> bool:
    ranking = next(iter(fs.rank(str(folder / "study")).rankings.values()))
    return answer["order"] == ranking.order and len(ranking.order) == 4


def how_sure(folder: Path) -> str:
    world(folder, 60, {"a": 0.2, "b": 0.2, "c": 0.5})
    models = {name: str(folder / "maps" / name) for name in "abc"}
    for name, seed in (("a", 4), ("b", 5), ("c", 6)):
        again(folder, name, 0.5 if name == "c" else 0.2, seed)
    study = str(folder / "study")
    fs.run(study, str(folder / "images"), models, classes=str(folder / "classes.json"), engine="local")
    fs.label.import_(study, str(folder / "truth"))
    return (
        "`study` has three models a, b and c, and labels. Is a better than b? How far ahead is the leader, and"
        ' how sure is that? answer.json: {"a_better_than_b": "yes", "no" or "not settled", "next": the line that'
        " Faultscape proposes, or ''}"
    )


def again(folder: Path, name: str, wrong: float, seed: int) -> None:
    """Write a model's maps anew, with errors of another seed."""
    rng = np.random.default_rng(seed)
    for path in sorted((folder / "truth").glob("*.png")):
        truth = cv2.imread(str(path), cv2.IMREAD_UNCHANGED)
        made = truth.copy()
        for class_ in np.unique(truth[truth < len(CLASSES)]):
            if rng.random() < wrong:
                made[truth == class_] = rng.integers(len(CLASSES))
        cv2.imwrite(str(folder / "maps" / name / path.name), made)


def how_sure_solved(folder: Path, answer: dict) -> bool:
    ranked = fs.rank(str(folder / "study"))
    first = next(iter(ranked.rankings.values()))
    gap = next(gap for gap in first.gaps if {gap.model, gap.other} == {"a", "b"})
    truly = "not settled" if not gap.settled else "yes" if gap.model == "a" else "no"
    return answer["a_better_than_b"] == truly


def import_labels(folder: Path) -> str:
    world(folder, 30)
    models = {name: str(folder / "maps" / name) for name in ERRORS}
    study = str(folder / "study")
    fs.run(study, str(folder / "images"), models, classes=str(folder / "classes.json"), engine="local")
    cvat_zip(folder / "from-people.zip", folder / "truth")
    return (
        "`study` waits for labels. People have sent from-people.zip, which CVAT exported as 'Segmentation mask 1.1'."
        " Read it into the study, and say how many labels the ranking of the study's selection uses. answer.json:"
        ' {"labels_used": number}'
    )


def cvat_zip(path: Path, masks: Path) -> None:
    """Write masks as CVAT exports them: a colour for each label, and a table of the colours."""
    colours = {name: (20 * k + 10, 255 - 20 * k, 7 * k) for k, name in enumerate(CLASSES)}
    lines = ["# label:color_rgb:parts:actions", "background:0,0,0::"]
    lines += [f"{name}:{','.join(map(str, colour))}::" for name, colour in colours.items()]
    table = np.zeros((256, 3), np.uint8)
    table[: len(CLASSES)] = list(colours.values())
    names = []
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("labelmap.txt", "\n".join(lines) + "\n")
        for mask in sorted(masks.glob("*.png")):
            ids = cv2.imread(str(mask), cv2.IMREAD_UNCHANGED)
            coloured = cv2.imencode(".png", table[ids][..., ::-1])[1].tobytes()
            archive.writestr(f"SegmentationClass/{mask.name}", coloured)
            names.append(mask.stem)
        archive.writestr("ImageSets/Segmentation/default.txt", "\n".join(names) + "\n")


def import_labels_solved(folder: Path, answer: dict) -> bool:
    used = fs.rank(str(folder / "study")).labels["used"]
    return answer["labels_used"] == used > 0


def card(folder: Path) -> str:
    scenes(folder, 12)
    class_file(folder)
    network(folder / "net.onnx")
    return (
        "images/, truth/, classes.json and net.onnx, a network that takes RGB from 0 to 1 (mean 0,0,0, std 1,1,1)."
        " Make a study `study`, predict with the score msp and measure it on the clean images and on images with"
        " fog of severity 3, and make the reliability card. Is mIoU on clean images at least .5?"
        ' answer.json: {"met": true or false}'
    )


def card_solved(folder: Path, answer: dict) -> bool:
    document = json.loads((folder / "study" / "reliability" / "reliability.json").read_text())
    conditions = {cell["condition"] for cell in document["cells"]}
    return answer["met"] is False and any("fog" in condition for condition in conditions)


def measure(folder: Path) -> str:
    world(folder, 25)
    return (
        "All of images/ have labels in truth/; maps/ has three models. What is the mIoU of psp with its 95 %"
        ' interval? answer.json: {"miou": number from 0 to 1, "low": number, "high": number}'
    )


def measure_solved(folder: Path, answer: dict) -> bool:
    def read(name: str) -> np.ndarray:
        return np.array(
            [cv2.imread(str(path), cv2.IMREAD_UNCHANGED) for path in sorted((folder / name).glob("*.png"))]
        )

    value, low, high = fs.metrics.measure_maps(read("truth"), read("maps/psp"), classes=len(CLASSES))["miou"]
    found = [answer[name] for name in ("miou", "low", "high")]
    return bool(np.allclose(found, [value, low, high], atol=2e-3))


def table(folder: Path) -> str:
    rng = np.random.default_rng(3)
    cases = rng.gamma(2, 4, 120)
    lines = ["case,model,hd95"]
    for name, more in (("unet", 0.0), ("swin", 0.05), ("fcn", 3.0)):
        lines += [
            f"case-{k},{name},{value:.3f}" for k, value in enumerate(cases + more + rng.normal(0, 0.5, 120))
        ]
    (folder / "scores.csv").write_text("\n".join(lines) + "\n")
    return (
        "scores.csv has Hausdorff distances (lower is better) of three models on 120 cases. Which models are"
        ' shown to be worse than another one? answer.json: {"worse": [models], "not_told_apart": [[model,'
        " model], ...]}"
    )


def table_solved(_folder: Path, answer: dict) -> bool:
    apart = [set(pair) for pair in answer["not_told_apart"]]
    return answer["worse"] == ["fcn"] and apart == [{"unet", "swin"}]


def failures(folder: Path) -> str:
    world(folder, 40)
    return (
        "images/, maps/ of three models, classes.json; there are no labels. Which images show best where the"
        ' models fail, one for each cell (class, defender, attacker)? answer.json: {"images": [ids without'
        ' .png], "fair_sample": true or false: may their mIoU be reported as the models\' accuracy?}'
    )


def failures_solved(folder: Path, answer: dict) -> bool:
    with_study = next(path.parent for path in folder.glob("*/study.toml"))
    document = fs.show(str(with_study), images=True, selection="main")
    chosen = {one.image for one in document.chosen}
    return {Path(name).stem for name in answer["images"]} == chosen and answer["fair_sample"] is False


def plan(folder: Path) -> str:
    world(folder, 80)
    models = {name: str(folder / "maps" / name) for name in ERRORS}
    study = str(folder / "study")
    fs.run(study, str(folder / "images"), models, classes=str(folder / "classes.json"), engine="local")
    return (
        "`study` has no labels yet. How many labels will it take to find the best model, with the selector that"
        ' Faultscape recommends, if a mask takes 10 minutes? answer.json: {"labels": number, "hours": number}'
    )


def plan_solved(folder: Path, answer: dict) -> bool:
    found = fs.plan(str(folder / "study"), goal="best", cost={"mask": 600}, engine="local")
    rows = [row for row in found.questions["best"].values() if row.get("labels") is not None]
    return any(
        answer["labels"] == row["labels"] and abs(answer["hours"] - row["hours"]) < 0.1 for row in rows
    )


def repair(folder: Path) -> str:
    world(folder, 20)
    maps(folder, "psp", 0.2, void=77)
    return (
        "images/, truth/, maps/ of three models, classes.json. The maps of psp use 77 for pixels that it leaves"
        " open. Make a study `study` with all three models, labels from truth/, and rank them."
        ' answer.json: {"models": [names]}'
    )


def repair_solved(folder: Path, answer: dict) -> bool:
    study = fs.Study(folder / "study")
    return set(answer["models"]) == set(study.models) == set(ERRORS) and bool(study.standings().rankings)


TASKS: dict[str, tuple[Callable[[Path], str], Callable[[Path, dict], bool]]] = {
    "01-rank-folders": (rank_folders, rank_folders_solved),
    "02-add-a-model": (add_a_model, add_a_model_solved),
    "03-how-sure": (how_sure, how_sure_solved),
    "04-import-labels": (import_labels, import_labels_solved),
    "05-card": (card, card_solved),
    "06-measure": (measure, measure_solved),
    "07-table": (table, table_solved),
    "08-failures": (failures, failures_solved),
    "09-plan": (plan, plan_solved),
    "10-repair": (repair, repair_solved),
}


def main() -> None:
    what, place = sys.argv[1], Path(sys.argv[2])
    solved = 0
    for name, (make, check) in TASKS.items():
        folder = place / name
        if what == "make":
            folder.mkdir(parents=True)
            (folder / "TASK.txt").write_text(make(folder) + "\n")
            continue
        try:
            right = check(folder, json.loads((folder / "answer.json").read_text()))
            why = ""
        except Exception as error:  # noqa: BLE001 (whatever the reader left)
            right, why = False, f": {type(error).__name__}: {error}"
        solved += right
        print(f"{name}: {'solved' if right else 'not solved'}{why}")
    if what == "check":
        print(f"{solved} of {len(TASKS)} solved")


if __name__ == "__main__":
    main()
