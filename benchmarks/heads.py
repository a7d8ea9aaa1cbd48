"""Heads that know doubt, trained and judged on CamVid as S3 judges them on Cityscapes: the tables of
docs/benchmarks/heads.md.

    python benchmarks/heads.py run FOLDER [--backbones ...] [--heads ...] [--seeds 0,1,2]    # four and a half hours on two cores; goes on where it was stopped
    python benchmarks/heads.py table FOLDER                                                   # the rows, of what is there
    python benchmarks/heads.py cost                                                           # what heads add to a forward pass of ViT-L/16; ten minutes
    python benchmarks/heads.py frames                                                         # one frame of 1024 x 2048 with each head; two minutes
    python benchmarks/heads.py step                                                           # one step of ViT-L/16 with each head, and its memory; ten minutes

cost, frames and step take ``--device cuda`` and ``--precision bf16``, step ``--batch`` too: the tables of a
GPU.

Conventions: of CamVid's 367 training images each drive's first five sixths are learnt from and the last sixth
is the validation set, which only tunes the mean-field factor; test are the 233 test images, of which two
thirds are of another drive. Pedestrians, bicyclists and cars are held out: no network learns them, and on the
test images they are the unknown objects; elsewhere they are void. Calibration AUROC and ECE are of every
eighth test image, clean; *corrupted* are these under the four corruptions of `stress corrupt --preset
s3-data` at severities 1, 3 and 5, *blended* every test image with one object drawn by code (fishyscapes-v2).
A job is a network: (backbone, head, seed). One with a linear head is trained for the steps of `--preset
camvid-small`; the others start from it and are trained on, all parameters, for a fifth of these. What a job
found lies in FOLDER/cells; a job that is there is not done again, and one that is missing is shown as
missing. Needs FAULTSCAPE_DATA and the extra `doubt`.
Source: S3, Tables 2 and 3.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import faultscape as fs
from faultscape.choices import Role
from faultscape.reporting.reliability.document import CORRUPTED, Card, find_cell

DATA = Path(os.environ.get("FAULTSCAPE_DATA", Path(__file__).parents[2] / "shared" / "data")) / "camvid"
BACKBONES = ("segmenter-T/16", "segformer-b0")
HEADS = ("linear", "batch-ensemble", "gp", "heteroscedastic", "batch-ensemble+gp")
WITHHELD = ("pedestrian", "bicyclist", "car")
MEMBERS = ("predictive-entropy", "expected-entropy", "mutual-information")
SCORERS = {"linear": (), "gp": (*MEMBERS, "variance"), "batch-ensemble+gp": (*MEMBERS, "variance")}
BLENDED = "fishyscapes-v2"


def make_tree(folder: Path) -> Path:
    """Return a CamVid tree whose splits are the drives, made of links."""
    tree = folder / "camvid"
    tree.mkdir(parents=True, exist_ok=True)
    for name in ("train", "trainannot", "test", "testannot"):
        if not (tree / name).exists():
            (tree / name).symlink_to(DATA / name)
    drives: dict[str, list[str]] = {}
    for row in (DATA / "train.txt").read_text().splitlines():
        drives.setdefault(Path(row.split()[0]).name.partition("_")[0], []).append(row)
    splits = {
        "train": [row for rows in drives.values() for row in rows[: len(rows) * 5 // 6]],
        "val": [row for rows in drives.values() for row in rows[len(rows) * 5 // 6 :]],
    }
    splits["test"] = (DATA / "test.txt").read_text().splitlines()
    splits["half"], splits["few"] = splits["test"][::2], splits["test"][::8]
    for split, held in splits.items():
        (tree / f"{split}.txt").write_text("\n".join(held) + "\n")
    return tree


def make_studies(folder: Path) -> tuple[str, str, str]:
    """Return the study in which networks are trained, that in which the held-out classes are unknown objects,
    and that of the kept classes, whose void they are.
    """
    tree, kept = make_tree(folder), folder / "kept"
    learn, whole = make_withheld(folder, tree, "test")
    if not (kept / "sets.json").exists():
        for split, name in (("test", None), ("few", "few")):
            collect(kept, tree, split, name, "test", kept_classes(folder))
        fs.stress.corrupt(str(kept), set_="few", preset="s3-data", severities="1,3,5")
        fs.stress.blend(str(kept), set_="main", preset=BLENDED)
    return str(learn), str(whole), str(kept)


def make_withheld(folder: Path, tree: Path, split: str) -> tuple[Path, Path]:
    """Return the study in which networks are trained, and that in which the held-out classes of a split are
    unknown objects.
    """
    learn, whole = folder / "learn", folder / "open"
    if not (learn / "sets.json").exists():
        for part, name, role in (("train", "train", "train"), ("val", "val", "validation")):
            collect(learn, tree, part, name, role)
        fs.stress.holdout(str(learn), classes=list(WITHHELD), as_="traffic")
    if not (whole / "sets.json").exists():
        collect(whole, tree, split, None, "test")
        fs.stress.holdout(str(whole), classes=list(WITHHELD), as_="traffic")
    return learn, whole


def kept_classes(folder: Path) -> str:
    """Return the place of a list of classes of which the withheld ones are void."""
    about = json.loads((DATA / "classes.json").read_text())
    about["void"] = [row["index"] for row in about["classes"] if row["name"] in WITHHELD]
    (folder / "kept.json").write_text(json.dumps(about))
    return str(folder / "kept.json")


def collect(
    study: Path, tree: Path, split: str, name: str | None, role: Role, classes: str | None = None
) -> None:
    """Collect a split as a set of a study."""
    known = fs.options.KnownData(layout="camvid", split=split)
    fs.collect(str(study), str(tree), classes=classes, set_=name, role=role, size="480x360", known=known)


def name_of(backbone: str, head: str, seed: int) -> str:
    return f"{backbone.replace('/', '-')}-{head.replace('+', '-')}-{seed}"


def job(
    folder: Path, studies: tuple[str, str, str], backbone: str, head: str, seed: int, threads: int | None
) -> None:
    """Train one network and judge it; what was found goes to FOLDER/cells."""
    from faultscape.uncertainty.training.curves import read_rows

    name, cell = name_of(backbone, head, seed), folder / "cells" / f"{name_of(backbone, head, seed)}.json"
    if cell.exists():
        return
    start = time.perf_counter()
    init = None if head == "linear" else name_of(backbone, "linear", seed)
    machine = fs.options.TrainingMachine(precision="bf16", threads=threads)
    made = fs.train(
        studies[0],
        name,
        backbone=backbone,
        head=head,
        preset="camvid-small",
        init=init,
        seed=seed,
        machine=machine,
    )
    # of a run that was killed, those before too
    steps = sum(row.seconds for row in read_rows(Path(made.folder)))
    trained = max(steps, time.perf_counter() - start)
    judged = time.perf_counter()
    scorers = ["msp", *SCORERS.get(head, MEMBERS)]
    found: dict[str, dict[str, float]] = {}
    for study in studies[1:]:
        fs.predict(study, {name: made.folder}, scorer=scorers, measure=True)
        card = fs.reliability(
            study,
            models=[name],
            worst=0,
            resamples=0,
            output=str(folder / "cards" / f"{Path(study).name}-{name}"),
        ).document
        found |= numbers_of(card, name, scorers)
    about = {
        "backbone": backbone,
        "head": head,
        "seed": seed,
        "steps": made.steps,
        "mean_field": made.mean_field,
        "validation": made.found,
    }
    about |= {
        "training_seconds": round(trained),
        "seconds": round(trained + time.perf_counter() - judged),
        "threads": threads,
        "load": round(os.getloadavg()[0], 1),
        "found": found,
    }
    cell.parent.mkdir(parents=True, exist_ok=True)
    cell.write_text(json.dumps(about, indent=1) + "\n")
    print(f"{name}: {about['seconds']} s, of which {about['training_seconds']} s of training", flush=True)


def numbers_of(card: Card, name: str, scorers: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return {condition: {metric of a scorer: value}} of what the tables show."""
    wanted = {
        "few": ("miou", "ece", "error_auroc"),
        CORRUPTED: ("miou", "ece", "error_auroc"),
        BLENDED: ("auroc", "average_precision", "fpr95"),
        "traffic": ("miou", "auroc", "average_precision", "fpr95"),
    }
    out: dict[str, dict[str, float]] = {}
    for condition, metrics in wanted.items():
        for metric in metrics:
            for scorer in scorers:
                held = find_cell(card, name, condition, metric, scorer) or find_cell(
                    card, name, condition, metric, ""
                )
                if held is not None:
                    out.setdefault(condition, {})[f"{metric} {scorer}"] = held["value"]
    return out


def run(
    folder: Path, backbones: Sequence[str], heads: Sequence[str], seeds: Sequence[int], threads: int | None
) -> None:
    """Do all jobs that are missing, a seed at a time."""
    studies = make_studies(folder)
    for seed in seeds:
        for backbone in backbones:
            for head in heads:
                job(folder, studies, backbone, head, seed, threads)


def table(folder: Path) -> None:
    """Print the tables of what is there: mean and standard deviation over seeds."""
    cells = [json.loads(path.read_text()) for path in sorted((folder / "cells").glob("*.json"))]
    columns = (
        ("mIoU", "traffic", "miou msp"),
        ("calibration AUROC", "few", "error_auroc msp"),
        ("ECE", "few", "ece msp"),
        ("corrupted mIoU", CORRUPTED, "miou msp"),
        ("blended AUROC", BLENDED, "auroc msp"),
        ("blended AP", BLENDED, "average_precision msp"),
        ("held out AUROC", "traffic", "auroc msp"),
        ("held out AP", "traffic", "average_precision msp"),
    )
    for backbone in BACKBONES:
        print(
            f"\n| {backbone} | seeds | {' | '.join(head for head, *_ in columns)} | minutes"
            f" |\n|{'---|' * (len(columns) + 3)}"
        )
        for head in HEADS:
            mine = [cell for cell in cells if (cell["backbone"], cell["head"]) == (backbone, head)]
            shown = [
                spread([cell["found"].get(condition, {}).get(key) for cell in mine])
                for _, condition, key in columns
            ]
            minutes = spread([cell["seconds"] / 60 for cell in mine], 0)
            print(f"| {head} | {len(mine)} | {' | '.join(shown)} | {minutes} |")
    print(
        "\n| less the linear network of the same seed | head | seeds |"
        f" {' | '.join(title for title, *_ in columns)} |\n|{'---|' * (len(columns) + 3)}"
    )
    plain = {(cell["backbone"], cell["seed"]): cell["found"] for cell in cells if cell["head"] == "linear"}
    for backbone in BACKBONES:
        for head in HEADS[1:]:
            mine = [
                cell
                for cell in cells
                if (cell["backbone"], cell["head"]) == (backbone, head) and (backbone, cell["seed"]) in plain
            ]
            pairs = [(cell["found"], plain[backbone, cell["seed"]]) for cell in mine]
            shown = [
                spread([found[condition][key] - linear[condition][key] for found, linear in pairs], sign="+")
                for _, condition, key in columns
            ]
            print(f"| {backbone} | {head} | {len(pairs)} | {' | '.join(shown)} |")
    places = [
        (backbone, title, condition)
        for backbone in BACKBONES
        for title, condition in (("blended", BLENDED), ("held out", "traffic"))
    ]
    print(
        "\n| head | scorer | "
        + " | ".join(f"{backbone}, {title}" for backbone, title, _ in places)
        + " |\n|---|---|"
        + "---|" * len(places)
    )
    for head in HEADS:
        for scorer in ("msp", *SCORERS.get(head, MEMBERS)):
            shown = []
            for backbone, _, condition in places:
                found = [
                    cell["found"].get(condition, {})
                    for cell in cells
                    if (cell["backbone"], cell["head"]) == (backbone, head)
                ]
                numbers = [
                    spread([one.get(f"{metric} {scorer}") for one in found])
                    for metric in ("auroc", "average_precision")
                ]
                shown.append(" / ".join(numbers))
            print(f"| {head} | {scorer} | {' | '.join(shown)} |")


def cost(device: str, precision: str) -> None:
    """Print what each head, and each way to doubt, adds to the forward pass of ViT-L/16 at 768, the median of
    five in turns: processor time of one thread, or time on a GPU.
    """
    import torch

    from faultscape.metrics.pixel_facts import facts_of
    from faultscape.metrics.scorers import score_pixels, scorer_named
    from faultscape.uncertainty.catalogue import HEADS

    torch.set_num_threads(1)
    net, classes = large(19).to(device), 19
    image, turns = torch.rand(1, 3, 768, 768, device=device), 5
    tokens = torch.randn(1, 48 * 48, 1024, device=device)
    heads = {
        kind.name: kind.build(1024, classes, None, 0, **kind.options).eval().to(device) for kind in HEADS
    }
    heads["gp, 8 members drawn"] = HEADS[2].build(1024, classes, None, 0).eval().to(device)
    heads["gp, 8 members drawn"].draws = 8
    scores = torch.randn(classes, 48, 48).numpy()
    rows = {f"head {name}": lambda head=head: head(tokens) for name, head in heads.items()}
    rows |= {
        f"labels and {name}": lambda name=name: score_pixels(
            scorer_named(name), facts_of(scores, (768, 768)), classes=classes
        )
        for name in ("msp", "entropy")
    }
    passes = {"forward": lambda: net(image)}
    for layer, where in (
        ("vit.layernorm", "behind the last norm"),
        ("vit.layers.22", "behind the last block but one"),
    ):
        dropped = fs.uncertainty.add_dropout(large(classes), [layer]).eval().to(device)
        passes[f"MC dropout {where}, 8 members"] = lambda dropped=dropped: dropped(image)

    clock = time.process_time if device == "cpu" else time.perf_counter

    def timed(run) -> float:
        start = clock()
        with torch.inference_mode(), numbers(device, precision):
            run()
        if device != "cpu":
            torch.cuda.synchronize()
        return clock() - start

    found: dict[str, list[float]] = {name: [] for name in (*passes, *rows)}
    for turn in range(turns + 1):  # the first is a warm-up
        for name, run in {**passes, **rows}.items():
            seconds = timed(run)
            found[name] += [seconds] if turn else []
    median = {name: float(np.median(seconds)) for name, seconds in found.items()}
    once = median["forward"]
    print(
        f"# forward pass of ViT-L/16 at 768 on {device}: {1000 * once:.0f} ms; load {os.getloadavg()[0]:.1f}"
    )
    print("| beside the forward pass | ms more | share |\n|---|---|---|")
    for name, seconds in median.items():
        without = once if name in passes else median["head linear"] if name.startswith("head") else 0
        if name != "forward":
            print(
                f"| {name} | {1000 * (seconds - without):{'.0f' if device == 'cpu' else '.2f'}} |"
                f" {(seconds - without) / once:.2%} |",
                flush=True,
            )


def large(classes: int, dropout: float = 0.0):
    """Return a Segmenter of ViT-L/16 with random weights, in use."""
    from faultscape.uncertainty.networks.segmenter import segmenter

    return segmenter("L", classes, dropout).eval()


def numbers(device: str, precision: str):
    """Return the context in which a network computes with these numbers."""
    import contextlib

    import torch

    return torch.autocast(device, torch.bfloat16) if precision == "bf16" else contextlib.nullcontext()


def each(what: str, heads: Sequence[str], *words: str) -> None:
    """Print the row of every head, each in a process of its own."""
    import subprocess
    import sys

    print("| head | seconds | peak memory, GB |\n|---|---|---|")
    for head in heads:
        done = subprocess.run(
            [sys.executable, __file__, what, head, *words], check=True, stdout=subprocess.PIPE, text=True
        )
        print(done.stdout.strip(), flush=True)


def peak(device: str) -> float:
    """Return the largest memory of this process, or what it had on a GPU, in GB."""
    import resource

    import torch

    return (
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        if device == "cpu"
        else torch.cuda.max_memory_allocated() / 1e9
    )


def one_frame(head: str, device: str) -> None:
    """Predict one frame of 1024 x 2048 with random weights, and print its row: on a processor the first of a
    process, on a GPU the second.
    """
    import tempfile

    from faultscape.uncertainty import description as d

    names = tuple(f"class {k}" for k in range(19))
    dropout = ("decode_head.dropout",) if head == "dropout" else ()
    about = d.Description(
        "segformer-b0", names, head="linear" if dropout else head, dropout_at=dropout, multiple=32
    )
    scorers = ["msp", *(MEMBERS if dropout else SCORERS.get(head, MEMBERS))]
    with tempfile.TemporaryDirectory() as folder:
        d.save(Path(folder), about, d.build(about), {})
        model = fs.prediction.open_model(folder, scorer=scorers, device=device)
        photo = np.random.default_rng(0).integers(0, 256, (1024, 2048, 3), dtype=np.uint8)
        for _ in range(1 if device == "cpu" else 2):
            start = time.perf_counter()
            (output,) = model.predict([photo])
            seconds = time.perf_counter() - start
    assert not output.problem, output.problem
    print(f"| {head} | {seconds:.1f} | {peak(device):.1f} |")


def one_step(head: str, device: str, precision: str, batch: int) -> None:
    """Take one step, on a GPU the third, and print its row."""
    import torch

    from faultscape.uncertainty.training.loop import checkpoint_activations

    net = fs.uncertainty.replace_head(large(19, 0.1), head).train().to(device)
    checkpoint_activations(net)
    optimiser = torch.optim.Adam(net.parameters(), 1e-4)
    images, labels = (
        torch.rand(batch, 3, 768, 768, device=device),
        torch.randint(0, 19, (batch, 768, 768), device=device),
    )
    for _ in range(1 if device == "cpu" else 3):
        start = time.perf_counter()
        optimiser.zero_grad()
        with numbers(device, precision):
            given = net(images)
        fs.uncertainty.loss(given, labels).backward()
        optimiser.step()
        if device != "cpu":
            torch.cuda.synchronize()
        seconds = time.perf_counter() - start
    print(f"| {head} | {seconds:{'.0f' if device == 'cpu' else '.2f'}} | {peak(device):.1f} |")


def spread(values: Sequence[float | None], digits: int = 3, sign: str = "") -> str:
    """Return a mean with its standard deviation over seeds; 'missing' where nothing is there."""
    held = np.array([value for value in values if value is not None], float)
    if not len(held):
        return "missing"
    more = f" ± {held.std(ddof=1):.{digits}f}" if len(held) > 1 else ""
    return f"{held.mean():{sign}.{digits}f}{more}"


def words(text: str) -> list[str]:
    return [word.strip() for word in next(csv.reader([text]))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("run", "table", "cost", "step", "one-step", "frames", "one-frame"))
    parser.add_argument("folder", nargs="?", default="")
    parser.add_argument("--backbones", type=words, default=list(BACKBONES))
    parser.add_argument("--heads", type=words, default=list(HEADS))
    parser.add_argument("--seeds", type=words, default=["0", "1", "2"])
    parser.add_argument("--threads", type=int)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="no", choices=("no", "bf16"))
    parser.add_argument("--batch", type=int, default=1)
    given = parser.parse_args()
    folder = Path(given.folder)
    if given.what in ("run", "table") and not given.folder:
        parser.error("name the folder")
    match given.what:
        case "run":
            run(folder, given.backbones, given.heads, [int(seed) for seed in given.seeds], given.threads)
        case "table":
            table(folder)
        case "cost":
            cost(given.device, given.precision)
        case "step":
            each(
                "one-step",
                HEADS,
                "--device",
                given.device,
                "--precision",
                given.precision,
                "--batch",
                str(given.batch),
            )
        case "frames":
            each("one-frame", (*HEADS, "dropout"), "--device", given.device)
        case "one-frame":
            one_frame(given.folder, given.device)
        case _:
            one_step(given.folder, given.device, given.precision, given.batch)


if __name__ == "__main__":
    main()
