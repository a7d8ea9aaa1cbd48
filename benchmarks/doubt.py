"""Methods that make a trained network doubt, on CamVid as S4 judges them on Fishyscapes: a table, and the
searches.

    python benchmarks/doubt.py run FOLDER [--seeds 0,1,2] [--backbone segformer-b0]    # resumable jobs; goes on where it was stopped
    python benchmarks/doubt.py table FOLDER                                            # the rows, of what is there
    python benchmarks/doubt.py cost --backbone deeplabv3plus [--device cuda]           # what methods add to a forward pass at 1024 x 2048; an hour and a half on one core

Conventions: splits, held-out classes and training are those of benchmarks/heads.py: nothing unknown is ever
learnt. A job is a network of a seed: the linear one, to which all methods are fitted, and those that start
from it and are trained on for a fifth of its steps: five with pixels of no class (void from the start), two
outlier heads with other unknown pixels (pieces of ImageNet pasted into crops; objects blended into training
images), one with MC dropout, and one with neither (ce), their control. Methods have their defaults, but
20,000 embeddings of a layer and 1,000 steps of a flow; layers and options are searched on validation images
with objects blended in, of other drawn objects than the test images have, and reported as rows of their own.
Methods that learn from unknown objects beside the network see training images with three objects each, drawn
with another seed than those of validation and test, without those that look like one of these. A fusion
learns on validation images with the same objects. Every second of the 233 test images is judged:
with one drawn object each by the recipes fishyscapes-v2 and fishyscapes-v3, and with the held-out classes.
Needs FAULTSCAPE_DATA and the extra ``doubt``.
Source: S4, Table 1 and Tables 4 to 9.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from heads import collect, kept_classes, make_tree, make_withheld, spread
from PIL import Image

import faultscape as fs
from faultscape.corpus.objects.lookalikes import look_of, lookalikes
from faultscape.metrics.scorers import SCORERS
from faultscape.reporting.reliability.document import Card, find_cell, flags_of_score
from faultscape.stressors.objects.cutout import Cutout, connected_cutouts, usable_cutouts
from faultscape.stressors.objects.drawn import drawn_cutouts
from faultscape.uncertainty.methods.catalogue import IMAGE, METHODS, method_named

PLAIN = ("random", "msp", "entropy", "gen", "max-logit", "energy")
STEPS, FEW_STEPS = 1000, 300  # of a flow, and of each while layers are compared
FITTED = {
    "odin": {},
    "standardised-max-logit": {},
    "mahalanobis": {},
    "neco": {},
    "energy-neco": {},
    "knn": {},
    "knn-class": {},
    "flow": {"method_options": fs.MethodOptions(steps=STEPS)},
    "flow-minimum": {"method_options": fs.MethodOptions(steps=STEPS, join="minimum", per_feature=True)},
    "reconstruction": {},
    "resynthesis": {},
    "perceptual": {},
}
SEARCHED = {
    "odin-searched": {},
    "knn-searched": {"select_layer": True},
    "knn-class-searched": {"select_layer": True},
    # and then trained on
    "flow-searched": {"select_layer": True, "method_options": fs.MethodOptions(steps=FEW_STEPS, epsilon=0.0)},
    "flow-logistic": {
        "method_options": fs.MethodOptions(steps=STEPS, join="logistic", epsilon=0.0, per_feature=True)
    },
}
STAGES = [f"segformer.stages.{k}" for k in range(4)]  # joined by flow-minimum and flow-logistic
# learnt with unknown objects, beside the network
TAUGHT = {"residual": {}, "reconstruction-taught": {}}
# join the others, and learn on validation images, from which nothing else learns
JOINED = {"fusion": {}, "fusion-spatial": {"method_options": fs.MethodOptions(spatial=True)}}
KEPT = 20_000  # embeddings of a layer
TRAINED = {
    "ce": ("msp", "energy"),
    "void-class": ("void",),
    "entropy": ("entropy",),
    "outlier-head": ("outlier", "outlier-msp"),
    "outlier-head-pasted": ("outlier", "outlier-msp"),
    "outlier-head-blended": ("outlier", "outlier-msp"),
    "dirichlet": ("differential-entropy",),
    "uno": ("uno", "outlier"),
}
# losses of kinds that are not named after theirs
LOSSES = {"outlier-head-pasted": "outlier-head", "outlier-head-blended": "outlier-head"}
MEMBERS = ("predictive-entropy", "expected-entropy", "mutual-information")
BLENDS = ("fishyscapes-v2", "fishyscapes-v3")
VALIDATION = "val-fishyscapes-v2"
JOINS = f"{VALIDATION}-joined"
NEGATIVES, A_FRAME = "train-fishyscapes-v2", 3  # objects of a training image that teach
SHOWN = (1024, 2048)  # height and width of a frame of Cityscapes
SIGN = 6  # of CamVid's labels


def studies_of(folder: Path) -> tuple[str, str, str]:
    """Return the study in which networks are trained and methods fitted, that in which the held-out classes
    are unknown objects, and that of blended objects.
    """
    tree, kept = make_tree(folder), folder / "kept"
    learn, whole = make_withheld(folder, tree, "half")
    if not (kept / "sets.json").exists():
        collect(kept, tree, "half", None, "test", kept_classes(folder))
    drawn = drawn_cutouts()
    test, other = ([cutout for cutout in drawn if cutout.split == split] for split in ("test", "validation"))
    third = teaching_objects(drawn)
    blends = (
        (kept, "main", BLENDS[0], test, 1),
        (kept, "main", BLENDS[1], test + road_signs(tree), 1),
        (learn, "val", BLENDS[0], other, 1),
        (learn, "train", BLENDS[0], third, A_FRAME),
        (learn, "val", BLENDS[0], third, A_FRAME),
    )
    for study, name, preset, objects, a_frame in blends:
        called = f"{study.name}-negatives" if objects is third else f"{study.name}-{preset}"
        edition = "joined" if objects is third and name == "val" else None
        place = write_objects(folder / "objects" / called, objects)
        how = fs.Blending(objects_per_frame=a_frame)
        fs.stress.blend(str(study), set_=name, preset=preset, objects=place, edition=edition, blending=how)
    return str(learn), str(whole), str(kept)


def teaching_objects(others: Sequence[Cutout]) -> list[Cutout]:
    """Return drawings of the same kinds of things as the others, none of which looks like one of them."""
    mine = drawn_cutouts(12, seed=54)
    looks = {cutout.digest: look_of(cutout) for cutout in mine}
    alike = lookalikes(looks, [(cutout.digest, look_of(cutout)) for cutout in others])
    return [cutout for cutout in mine if cutout.digest not in alike]


def road_signs(tree: Path) -> list[Cutout]:
    """Return the road signs of CamVid's training images: the known objects of fishyscapes-v3, since no
    network here knows cars or persons.
    """
    found: list[Cutout] = []
    for row in (tree / "train.txt").read_text().splitlines():
        name = Path(row.split()[0]).stem
        photo, labels = (
            np.asarray(Image.open(tree / "train" / f"{name}.jpg")),
            np.asarray(Image.open(tree / "trainannot" / f"{name}.png")),
        )
        found += usable_cutouts(connected_cutouts(photo, labels, {SIGN: "sign"}, name))[0]
    return found


def write_objects(folder: Path, cutouts: Sequence[Cutout]) -> str:
    """Write cut-outs as images with transparency and objects.csv, and return their folder."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = ["file,class,split,use,family"]
    for number, cutout in enumerate(cutouts):
        pixels = np.dstack([cutout.pixels, cutout.alpha])
        tall, wide = pixels.shape[:2]
        placed = cutout.use == "known"
        height, width = cutout.frame if placed else (tall + 2, wide + 2)
        left, top = cutout.corner if placed else (1, 1)
        # an object that reaches the border of its file counts as cut
        whole = np.zeros((height, width, 4), np.uint8)
        whole[top : top + tall, left : left + wide] = pixels
        Image.fromarray(whole).save(folder / f"{number}.png")
        rows.append(f"{number}.png,{cutout.class_},,{cutout.use},{cutout.family}")
    (folder / "objects.csv").write_text("\n".join(rows) + "\n")
    return str(folder)


def job(
    folder: Path, studies: tuple[str, str, str], backbone: str, kind: str, seed: int, threads: int | None
) -> None:
    """Train one network, fit what is fitted to it, and judge it; what was found goes to FOLDER/cells."""
    name = f"{backbone.replace('/', '-')}-{kind}-{seed}"
    cell = folder / "cells" / f"{name}.json"
    if cell.exists():
        return
    start, learn = time.perf_counter(), studies[0]
    machine = fs.TrainingMachine(precision="bf16", threads=threads)
    told = (
        {"loss": LOSSES.get(kind, kind), **negatives_of(kind)}
        if kind in TRAINED
        else {"dropout_at": ["decode_head.dropout"]}
        if kind == "mc-dropout"
        else {}
    )
    init = None if kind == "linear" else f"{backbone.replace('/', '-')}-linear-{seed}"
    made = fs.train(
        learn, name, backbone=backbone, preset="camvid-small", init=init, seed=seed, machine=machine, **told
    )
    minutes, searches = {"training": (time.perf_counter() - start) / 60}, {}
    methods = {**FITTED, **SEARCHED, **TAUGHT, **JOINED} if kind == "linear" else {}
    for called, options in methods.items():
        fit = folder / "fits" / name / f"{called}.json"  # of a job that was killed, what was fitted before
        if not fit.exists():
            begun = time.perf_counter()
            tried = fit_one(learn, name, called, seed, **options)
            fit.parent.mkdir(parents=True, exist_ok=True)
            fit.write_text(json.dumps({"searches": tried, "minutes": (time.perf_counter() - begun) / 60}))
        held = json.loads(fit.read_text())
        searches |= {f"{called} {what}": rows for what, rows in held["searches"].items()}
        minutes[called] = held["minutes"]
    scorers = [*PLAIN, *methods] if kind == "linear" else list(TRAINED.get(kind, MEMBERS))
    numbers: dict[str, dict[str, float]] = {}
    for study in studies[1:]:
        copy_methods(Path(learn), Path(study), name)
        fs.predict(study, {name: made.folder}, scorer=scorers, measure=True)
        output = str(folder / "cards" / f"{Path(study).name}-{name}")
        card = fs.reliability(study, models=[name], worst=3, resamples=0, output=output).document
        for condition in (*BLENDS, "traffic"):
            for scorer in scorers:
                for metric in ("average_precision", "fpr95", "auroc", "miou"):
                    held = find_cell(card, name, condition, metric, scorer) or find_cell(
                        card, name, condition, metric, ""
                    )
                    if held is not None:
                        numbers.setdefault(condition, {})[f"{metric} {scorer}"] = held["value"]
    about = {
        "backbone": backbone,
        "kind": kind,
        "seed": seed,
        "found": numbers,
        "searches": searches,
        "minutes": minutes,
        "threads": threads,
    }
    cell.parent.mkdir(parents=True, exist_ok=True)
    cell.write_text(json.dumps(about, indent=1) + "\n")
    print(f"{name}: {(time.perf_counter() - start) / 60:.0f} minutes", flush=True)


def negatives_of(kind: str) -> dict[str, fs.TrainingData]:
    """Return what teaches a network what is unknown, other than void: pieces of ImageNet, or objects
    blended into its training images.
    """
    if kind == "outlier-head-pasted":
        other = Path(os.environ["FAULTSCAPE_DATA"], "imagenet-images")
        return {"data": fs.TrainingData(negatives=str(other))}
    return {"data": fs.TrainingData(negatives=NEGATIVES)} if kind == "outlier-head-blended" else {}


def fit_one(study: str, name: str, called: str, seed: int, **options) -> dict[str, list[dict]]:
    """Fit one method under a name, and return the tables of its searches."""
    method = max((m.name for m in METHODS if called == m.name or called.startswith(f"{m.name}-")), key=len)
    layers = {"layer": STAGES} if called in ("flow-minimum", "flow-logistic") else {}
    searched = {"validation": VALIDATION} if called in SEARCHED else {}
    named = {} if called == method else {"as_": called}
    whole = method in (
        "odin",
        "reconstruction",
        "resynthesis",
        "perceptual",
    )  # no embeddings are drawn for it
    data = {} if whole else {"data": fs.FitData(keep_embeddings=KEPT)}
    if called in (*TAUGHT, *JOINED):
        data = {"data": fs.FitData(negatives=NEGATIVES if called in TAUGHT else JOINS)}
    found = fs.fit(study, method, model=name, seed=seed, **layers, **searched, **named, **data, **options)
    tables = dict(found.searches)
    if called == "flow-searched":
        layers, how = list(found.methods[0].layers), fs.MethodOptions(steps=STEPS)
        tables |= fs.fit(
            study,
            method,
            model=name,
            seed=seed,
            layer=layers,
            **searched,
            **named,
            **data,
            method_options=how,
        ).searches
    return {what: [vars(one) for one in tried] for what, tried in tables.items()}


def copy_methods(source: Path, target: Path, name: str) -> None:
    """Bring the methods of a network into another study; they know the network by its digest, not by its
    study.
    """
    there = target / "methods" / name
    there.mkdir(parents=True, exist_ok=True)
    for path in (source / "methods" / name).glob("*.safetensors"):
        (there / path.name).write_bytes(path.read_bytes())


def run(folder: Path, backbone: str, seeds: Sequence[int], threads: int | None) -> None:
    """Do all jobs that are missing."""
    studies = studies_of(folder)
    for seed in seeds:
        for kind in ("linear", *TRAINED, "mc-dropout"):
            job(folder, studies, backbone, kind, seed, threads)


def table(folder: Path) -> None:
    """Print the rows of what is there, and the searches: mean and standard deviation over seeds."""
    cells = [json.loads(path.read_text()) for path in sorted((folder / "cells").glob("*.json"))]
    cards = {id(cell): card_of(folder, cell) for cell in cells}
    rows = [("linear", scorer) for scorer in (*PLAIN, *FITTED, *SEARCHED, *TAUGHT, *JOINED)]
    rows += [(kind, scorer) for kind, scorers in TRAINED.items() for scorer in scorers]
    rows += [("mc-dropout", scorer) for scorer in MEMBERS]
    titles = {"fishyscapes-v2": "blended v2", "fishyscapes-v3": "blended v3", "traffic": "held out"}
    pairs = " | ".join(f"{title} AP | FPR95" for title in titles.values())
    print(f"| network | score | flags | seeds | mIoU | {pairs} | wrong pixels AP | minutes |\n|{'---|' * 13}")
    for kind, scorer in rows:
        mine = [cell for cell in cells if cell["kind"] == kind]
        found = [cell["found"] for cell in mine]
        numbers = [value_of(found, "traffic", f"miou {scorer}")]
        numbers += [
            value_of(found, condition, f"{metric} {scorer}")
            for condition in titles
            for metric in ("average_precision", "fpr95")
        ]
        wrong = [find_cell(cards[id(cell)], name_of(cell), "main", "error_ap", scorer) for cell in mine]
        told = all(one.tells_errors for one in SCORERS if one.name == scorer)
        numbers.append(spread([held["value"] if held else None for held in wrong]) if told else "–")
        flags = ", ".join(flags_of_score(cards[id(mine[0])], name_of(mine[0]), scorer)) if mine else ""
        taken = [cell["minutes"].get(scorer if kind == "linear" else "training") for cell in mine]
        numbers.append("" if None in taken or not taken else f"{np.median(taken):.1f}")
        print(f"| {kind} | `{scorer}` | {flags} | {len(mine)} | {' | '.join(numbers)} |")
    searches(cells)


def searches(cells: Sequence[Mapping]) -> None:
    """Print what each option was searched by: the average precision on validation images with objects blended
    in, a column a method.
    """
    found: dict[str, dict[str, dict[str, list[float]]]] = {}
    for cell in cells:
        for search, tried in cell["searches"].items():
            method, _, option = search.partition(" ")
            for one in tried:
                row = found.setdefault(option, {}).setdefault(one["candidate"].removeprefix(f"{option} "), {})
                row.setdefault(method.removesuffix("-searched"), []).append(one["average_precision"])
    for option, rows in found.items():
        methods = list(dict.fromkeys(method for row in rows.values() for method in row))
        print(
            f"\n| {option} | {' | '.join(f'`{method}`' for method in methods)}"
            f" |\n|{'---|' * (len(methods) + 1)}"
        )
        for candidate in sorted(rows, key=lambda word: (float(word) if word[:1].isdigit() else 0, word)):
            shown = f"`{candidate}`" if option == "layer" else candidate
            row = rows[candidate]
            print(
                f"| {shown} |"
                f" {' | '.join(spread(row[method]) if method in row else '–' for method in methods)} |"
            )


def name_of(cell: Mapping) -> str:
    """Return the name of a job's network."""
    return f"{cell['backbone'].replace('/', '-')}-{cell['kind']}-{cell['seed']}"


def card_of(folder: Path, cell: Mapping) -> Card:
    """Return the card of a job's network on images with blended objects."""
    return json.loads((folder / "cards" / f"kept-{name_of(cell)}" / "reliability.json").read_text())


def value_of(found: Sequence[Mapping[str, Mapping[str, float]]], condition: str, key: str) -> str:
    """Return a number's mean and spread over seeds."""
    return spread([one.get(condition, {}).get(key) for one in found])


def cost(backbone: str, device: str, turns: int) -> None:
    """Print what each method adds to the forward pass of a network at 1024 x 2048, the median of some turns:
    processor time of one thread, or time on a GPU.
    """
    import torch

    from faultscape.prediction.sources.torch_network import watched
    from faultscape.uncertainty import description as d
    from faultscape.uncertainty.methods.embeddings import Embeddings
    from faultscape.uncertainty.methods.evidence.fusion import Fusion, FusionBlock
    from faultscape.uncertainty.methods.evidence.resynthesis import ResynthesisBlock
    from faultscape.uncertainty.methods.flow_density import FlowDensity
    from faultscape.uncertainty.methods.flow_fit import TrainedFlow
    from faultscape.uncertainty.methods.layers import layers_of_scales
    from faultscape.uncertainty.methods.reconstruction import ReconstructionBlock
    from faultscape.uncertainty.methods.residual import ResidualBlock

    torch.set_num_threads(1)
    net = (
        d.build(d.Description(backbone, tuple(f"class {k}" for k in range(19)), multiple=32))
        .eval()
        .requires_grad_(False)
        .to(device)
    )
    image = torch.rand(1, 3, *SHOWN, device=device)
    layers = {
        "deeplabv3plus": ("net.pooling.together.0.1", "net.decoder.1.1"),
        "segformer-b0": ("net.segformer.stages.2", "net.decode_head.batch_norm"),
    }[backbone]
    small = torch.rand(1, 3, 128, 128, device=device)
    with torch.inference_mode():
        scales = layers_of_scales(net, lambda: net(small), (128, 128))
    with torch.inference_mode(), watched(net, backbone, dict.fromkeys([*layers, *scales])) as seen:
        logits = net(image).logits
    rows: dict[str, tuple[object, list]] = {}
    for layer in layers:
        grid = grid_at(seen[layer], SHOWN)
        width, called = (
            grid.shape[1],
            f"{layer.removeprefix('net.')} ({grid.shape[1]} x {grid.shape[2]} x {grid.shape[3]})",
        )
        flow = TrainedFlow(fs.uncertainty.RealNVP(width).eval(), torch.arange(width), 0.0, 0.0, 0.0, 0)
        options = {key: method_named("flow").options[key] for key in method_named("flow").options}
        rows[f"`flow` at {called}"] = (FlowDensity.of([layer], options, [flow]), [grid])
        keys = Embeddings(torch.randn(100_000, width), torch.rand(100_000, 19) < 0.1)
        for name in ("knn", "knn-class"):
            kind, mine = method_named(name), Embeddings(keys.values, keys.classes)  # that no search is shared
            rows[f"`{name}` of 100,000 at {called}"] = (
                kind.build.fit([layer], [mine], dict(kind.options), np.arange(19)),
                [grid],
            )
        kind, only = (
            method_named("mahalanobis"),
            torch.nn.functional.one_hot(torch.arange(100_000) % 19, 19).bool(),
        )
        gaussians = kind.build.fit(
            [layer], [Embeddings(keys.values, only)], dict(kind.options), np.arange(19)
        )
        rows[f"`mahalanobis` at {called}"] = (gaussians, [grid])
        space = method_named("neco").build.fit([layer], [keys], {}, np.arange(19))
        rows[f"`neco` at {called}"] = (space, [grid])

    grids = [grid_at(seen[layer], SHOWN) for layer in scales]
    width = int(method_named("residual").options["width"])
    named = ", ".join(layer.removeprefix("net.") for layer in scales)
    block = ResidualBlock([grid.shape[1] for grid in grids], 19, width)
    rows[f"`residual` at {named}"] = (of_block("residual", scales, block), grids)
    pair = [scales[-2], scales[0]]
    ends = [grids[-2], grids[0]]
    decoder = ReconstructionBlock([grid.shape[1] for grid in ends], 19, width, coupled=True)
    rows[f"`reconstruction` at {', '.join(layer.removeprefix('net.') for layer in pair)}"] = (
        of_block("reconstruction", pair, decoder),
        ends,
    )

    painter = of_block("resynthesis", [IMAGE], ResynthesisBlock(torch.arange(19), 19, width))
    rows["`resynthesis`"] = (painter, [image])
    word = f"resynthesis@{'0' * 12}"
    options = {**method_named("fusion").options, "parts": f"entropy,margin,{word}"}
    join = FusionBlock(3, int(options["width"])).state_dict()
    rows["`fusion` of entropy, margin and resynthesis"] = (
        Fusion([IMAGE], options, join, {word: painter}),
        [image],
    )

    clock = time.process_time if device == "cpu" else time.perf_counter

    def timed(run) -> float:
        start = clock()
        run()
        if device != "cpu":
            torch.cuda.synchronize()
        return clock() - start

    def forward() -> None:
        with torch.inference_mode():
            net(image)

    def moved() -> None:
        there = image.clone().requires_grad_()
        torch.autograd.grad(-net(there).logits.log_softmax(1).amax(1).mean(), there)

    runs = {"forward": forward, "`odin` with epsilon: the gradient": moved}
    for name, (method, grids) in rows.items():
        runs[name] = lambda method=method, grids=grids: inferred(method, grids, logits)
    found: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(turns + (device != "cpu")):  # on a GPU the first is a warm-up
        for name, run in runs.items():
            seconds = timed(run)
            found[name] += [seconds] if turn or device == "cpu" else []
    median = {name: float(np.median(seconds)) for name, seconds in found.items()}
    once = median.pop("forward")
    print(
        f"# forward pass of {backbone} at {SHOWN[0]} x {SHOWN[1]} on {device}: {once:.3f} s; load"
        f" {os.getloadavg()[0]:.1f}"
    )
    print("| beside the forward pass | seconds | of the forward pass |\n|---|---|---|")
    for name, seconds in median.items():
        print(f"| {name} | {seconds:.3f} | {seconds / once:.2f} |", flush=True)


def of_block(name: str, layers: Sequence[str], block):
    """Return the method of a block that was not trained."""
    kind = method_named(name)
    return kind.build(layers, dict(kind.options), block.state_dict())


def inferred(method, grids, logits) -> None:
    """Make what a method makes of features."""
    import torch

    with torch.inference_mode():
        method.values(grids, logits)


def grid_at(values, size):
    """Return what a layer gave as a grid."""
    from faultscape.uncertainty.methods.embeddings import as_grid

    return as_grid(values[0] if isinstance(values, tuple | list) else values, size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("run", "table", "cost"))
    parser.add_argument("folder", nargs="?", default="")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--backbone", default="segformer-b0")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--threads", type=int)
    given = parser.parse_args()
    if given.what == "cost":
        cost(given.backbone, given.device, given.turns)
    elif given.what == "run":
        run(
            Path(given.folder),
            given.backbone,
            [int(word) for word in next(csv.reader([given.seeds]))],
            given.threads,
        )
    else:
        table(Path(given.folder))


if __name__ == "__main__":
    main()
