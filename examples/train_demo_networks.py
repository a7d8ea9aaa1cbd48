"""Train the five networks of ``faultscape demo`` from nothing, on drawn daylight streets.

    python examples/train_demo_networks.py               # all five: about ten minutes on two cores
    python examples/train_demo_networks.py unet fcn      # some of them; --steps 200 for a quick try
    python examples/train_demo_networks.py --table       # measure what is there

Each network is written twice: ``src/faultscape/prediction/networks/NAME.onnx`` ships with the package,
``examples/networks/NAME.safetensors`` holds the same weights for torch (``segformer`` with its
``config.json``, as transformers keeps them). ``BUILD`` in this file has the networks' classes. The five
differ on purpose: in how far they see, in how long they were trained (``mobile`` hardly, so that it is
clearly the worst), and in whether their colours were shaken while they learned. ``segformer`` and ``fcn`` are
nearly equal on the corpus: a ranking must leave open which is better. Networks take float32 NCHW ``image``,
normalised by MEAN and STD, and give ``logits`` at half or quarter size.
"""

from __future__ import annotations

import argparse
import io
import json
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import cv2
import numpy as np
import torch
from torch import nn
from torch.nn import functional

from faultscape.scenes.street import CLASSES, SIZE, corpus_scene, training_scene

ROOT = Path(__file__).resolve().parent.parent
ONNX, WEIGHTS = ROOT / "src" / "faultscape" / "prediction" / "networks", ROOT / "examples" / "networks"
MEAN, STD = (0.45, 0.45, 0.45), (0.25, 0.25, 0.25)
SCENES, CORPUS, VALIDATION, BATCH = 800, 300, 100, 8
FIRST_VALIDATION = 100_000  # training_scene numbers that no network saw
C = len(CLASSES)


@dataclass(frozen=True)
class Plan:
    """How one network is trained; ``shaken`` is how strongly colours, contrast, haze and noise are varied, 0
    for not at all.
    """

    steps: int
    rate: float
    shaken: float
    seed: int


PLANS = {
    "unet": Plan(steps=4500, rate=6e-3, shaken=1.0, seed=5),
    "segformer": Plan(steps=1500, rate=3e-3, shaken=0.6, seed=4),
    "dilated": Plan(steps=1000, rate=5e-3, shaken=0.8, seed=1),
    "fcn": Plan(steps=900, rate=4e-3, shaken=0.2, seed=2),
    "mobile": Plan(steps=180, rate=6e-3, shaken=0.5, seed=3),
}


def block(
    inward: int, outward: int, *, stride: int = 1, dilation: int = 1, groups: int = 1, kernel: int = 3
) -> nn.Sequential:
    """Return convolution, normalisation and ReLU."""
    pad = dilation * (kernel // 2)
    return nn.Sequential(
        nn.Conv2d(inward, outward, kernel, stride, pad, dilation, groups, bias=False),
        nn.BatchNorm2d(outward),
        nn.ReLU(inplace=True),
    )


def larger(x: torch.Tensor, times: int) -> torch.Tensor:
    return functional.interpolate(x, scale_factor=times, mode="bilinear", align_corners=False)


class Unet(nn.Module):
    """Down in four steps and up again, with every step's maps carried across. Logits at half size."""

    def __init__(self, widths: tuple[int, ...] = (14, 24, 36, 48)) -> None:
        super().__init__()
        self.down = nn.ModuleList()
        inward = 3
        for width in widths:
            self.down.append(nn.Sequential(block(inward, width, stride=2), block(width, width)))
            inward = width
        self.up = nn.ModuleList([block(widths[k + 1] + widths[k], widths[k]) for k in range(len(widths) - 1)])
        self.head = nn.Conv2d(widths[0], C, 1)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        kept, x = [], image
        for step in self.down:
            x = step(x)
            kept.append(x)
        for k in reversed(range(len(self.up))):
            x = self.up[k](torch.cat([larger(x, 2), kept[k]], dim=1))
        return self.head(x)


class Fcn(nn.Module):
    """A small VGG whose scores at three sizes are summed, coarse to fine. Logits at quarter size."""

    def __init__(self, widths: tuple[int, ...] = (16, 28, 40, 56)) -> None:
        super().__init__()
        inward, self.stages = 3, nn.ModuleList()
        for width in widths:
            self.stages.append(
                nn.Sequential(block(inward, width), nn.MaxPool2d(2))
                if inward > 3
                else block(3, width, stride=2)
            )
            inward = width
        self.deep = block(inward, inward)
        self.scores = nn.ModuleList([nn.Conv2d(width, C, 1) for width in widths[1:]])

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        kept, x = [], image
        for stage in self.stages:
            x = stage(x)
            kept.append(x)
        x = self.scores[2](self.deep(x))
        x = larger(x, 2) + self.scores[1](kept[2])
        return larger(x, 2) + self.scores[0](kept[1])


class Dilated(nn.Module):
    """Quarter size throughout, ever wider holes in the kernels, then a pyramid of holes and the mean of all.
    Logits at quarter size.
    """

    def __init__(self, width: int = 24) -> None:
        super().__init__()
        self.stem = nn.Sequential(block(3, 16, stride=2), block(16, width, stride=2))
        self.body = nn.ModuleList([block(width, width, dilation=d) for d in (1, 2, 4, 8)])
        self.pyramid = nn.ModuleList([block(width, 16, dilation=d) for d in (2, 6, 12)])
        self.whole = nn.Conv2d(width, 16, 1)
        self.head = nn.Sequential(block(64, 32, kernel=1), nn.Conv2d(32, C, 1))

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        x = self.stem(image)
        for layer in self.body:
            x = x + layer(x)
        whole = functional.relu(self.whole(x.mean(dim=(2, 3), keepdim=True))).expand(
            -1, -1, x.shape[2], x.shape[3]
        )
        return self.head(torch.cat([*(layer(x) for layer in self.pyramid), whole], dim=1))


class Mobile(nn.Module):
    """Depth-wise kernels at quarter size, narrow and cheap: it sees some forty pixels around and no more.
    Logits at quarter size.
    """

    def __init__(self, width: int = 40) -> None:
        super().__init__()
        layers = [block(3, 16, stride=2), block(16, width, stride=2)]
        for dilation in (1, 1, 2, 1):
            layers += [block(width, width, dilation=dilation, groups=width), block(width, width, kernel=1)]
        self.layers = nn.Sequential(*layers, nn.Conv2d(width, C, 1))

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.layers(image)


class Segformer(nn.Module):
    """transformers' SegFormer with four tiny stages. Logits at quarter size."""

    def __init__(self) -> None:
        from transformers import SegformerConfig, SegformerForSemanticSegmentation

        super().__init__()
        names = {k: name for k, name, _ in CLASSES}
        self.inner = SegformerForSemanticSegmentation(
            SegformerConfig(
                depths=[1, 1, 1, 1],
                hidden_sizes=[16, 24, 36, 48],
                num_attention_heads=[1, 1, 2, 4],
                mlp_ratios=[2, 2, 2, 2],
                sr_ratios=[8, 4, 2, 1],
                decoder_hidden_size=36,
                hidden_dropout_prob=0.0,
                attention_probs_dropout_prob=0.0,
                classifier_dropout_prob=0.0,
                drop_path_rate=0.0,
                id2label=names,
                label2id={name: k for k, name in names.items()},
            )
        )

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.inner(pixel_values=image).logits


BUILD = {"dilated": Dilated, "fcn": Fcn, "mobile": Mobile, "segformer": Segformer, "unet": Unet}


def drawn(folder: Path) -> None:
    """Draw the training scenes once, for all networks."""
    scenes = [training_scene(index) for index in range(SCENES)]
    np.save(folder / "images.npy", np.stack([s.image for s in scenes]))
    np.save(folder / "truth.npy", np.stack([s.truth for s in scenes]))


def shake(images: torch.Tensor, strength: float, generator: torch.Generator) -> torch.Tensor:
    """Return pictures (N, 3, H, W) on 0..1 with other exposure, gamma, tint, saturation, haze and noise."""

    def draw(*shape: int) -> torch.Tensor:
        return (torch.rand((len(images), *shape), generator=generator) * 2 - 1) * strength

    x = (
        images ** torch.exp(0.5 * draw(1, 1, 1))
        * torch.exp(0.9 * draw(1, 1, 1) - 0.35 * strength)
        * torch.exp(0.3 * draw(3, 1, 1))
    )
    grey = x.mean(dim=1, keepdim=True)
    x = grey + (x - grey) * (1 - 0.7 * draw(1, 1, 1).abs())
    haze = 0.7 * draw(1, 1, 1).clamp(min=0)
    x = x * (1 - haze) + haze * (0.7 + 0.25 * draw(3, 1, 1))
    return (x + 0.06 * draw(1, 1, 1).abs() * torch.randn(x.shape, generator=generator)).clamp(0, 1)


def normalised(images: torch.Tensor) -> torch.Tensor:
    return (images - torch.tensor(MEAN)[:, None, None]) / torch.tensor(STD)[:, None, None]


def train(name: str, folder: Path, steps: int | None = None) -> str:
    """Train one network and write it twice; return one line about it."""
    torch.set_num_threads(1)
    plan, start = PLANS[name], time.perf_counter()
    torch.manual_seed(plan.seed)
    net = BUILD[name]()
    learn(name, net, folder, steps or plan.steps)
    keep(name, net.eval())
    return (
        f"{name}: {sum(p.numel() for p in net.parameters()) / 1e3:.0f} k weights,"
        f" {time.perf_counter() - start:.0f} s"
    )


def learn(name: str, net: nn.Module, folder: Path, steps: int) -> None:
    """Train a network on the drawn scenes."""
    plan, start = PLANS[name], time.perf_counter()
    generator = torch.Generator().manual_seed(plan.seed)
    images, truth = (
        np.load(folder / "images.npy", mmap_mode="r"),
        torch.from_numpy(np.load(folder / "truth.npy")),
    )
    often = torch.bincount(truth.flatten().long(), minlength=C).double()
    weights = ((often / often.sum()).clamp(min=1e-4) ** -0.45).float()
    weights /= weights.mean()
    best = torch.optim.AdamW(net.train().parameters(), lr=plan.rate, weight_decay=1e-3)
    pace = torch.optim.lr_scheduler.OneCycleLR(best, plan.rate, total_steps=steps, pct_start=0.15)
    order = torch.empty(0, dtype=torch.long)
    for step in range(steps):
        if len(order) < BATCH:
            order = torch.randperm(len(images), generator=generator)
        picked, order = order[:BATCH].sort().values, order[BATCH:]
        x = torch.from_numpy(images[picked.numpy()]).permute(0, 3, 1, 2).float() / 255
        y = truth[picked, ::2, ::2].long()
        if torch.rand((), generator=generator) < 0.5:
            x, y = x.flip(3), y.flip(2)
        if plan.shaken:
            x = shake(x, plan.shaken, generator)
        logits = net(normalised(x))
        if logits.shape[-1] != y.shape[-1]:
            logits = functional.interpolate(logits, size=y.shape[1:], mode="bilinear", align_corners=False)
        loss = functional.cross_entropy(logits, y, weight=weights)
        best.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        best.step()
        pace.step()
        if step % 100 == 0:
            print(
                f"{name} step {step} loss {loss.item():.3f} {time.perf_counter() - start:.0f} s", flush=True
            )


def keep(name: str, net: nn.Module) -> None:
    """Write the ONNX file and the safetensors file."""
    import onnx
    from safetensors.torch import save_file

    WEIGHTS.mkdir(parents=True, exist_ok=True)
    ONNX.mkdir(parents=True, exist_ok=True)
    said = {
        "faultscape.mean": json.dumps(MEAN),
        "faultscape.std": json.dumps(STD),
        "faultscape.size": f"{SIZE[0]}x{SIZE[1]}",
        "faultscape.layout": "nchw",
        "faultscape.classes": json.dumps([class_name for _, class_name, _ in CLASSES]),
    }
    inner = net.inner if name == "segformer" else net
    save_file(
        {key: value.contiguous() for key, value in inner.state_dict().items()},
        WEIGHTS / f"{name}.safetensors",
        {"format": "pt", **said},
    )
    if name == "segformer":
        (WEIGHTS / "segformer.config.json").write_text(inner.config.to_json_string(), encoding="utf-8")
    example = torch.zeros(2, 3, SIZE[1], SIZE[0])
    program = torch.onnx.export(
        net,
        (example,),
        dynamo=True,
        input_names=["image"],
        output_names=["logits"],
        dynamic_shapes=({0: torch.export.Dim("batch")},),
        verbose=False,
    )
    buffer = io.BytesIO()
    program.save(buffer)
    model = onnx.load_from_string(buffer.getvalue())
    for node in [
        *model.graph.node,
        *model.graph.input,
        *model.graph.output,
    ]:  # where each line came from is half of a small file
        del node.metadata_props[:]
        node.doc_string = ""
    del model.graph.value_info[:]
    del model.functions[:]
    onnx.helper.set_model_props(model, said)
    onnx.checker.check_model(model)
    onnx.save(model, ONNX / f"{name}.onnx")


def labels(name: str, images: np.ndarray) -> tuple[np.ndarray, float]:
    """Return label maps (I, H, W) of a shipped network, as faultscape makes them, and the seconds of one
    thread.
    """
    from faultscape.prediction import open_model

    model, start = open_model(str(ONNX / f"{name}.onnx")), time.perf_counter()
    maps = [
        out.labels
        for k in range(0, len(images), 8)
        for out in model.predict(list(images[k : k + 8]), [SIZE] * len(images[k : k + 8]))
    ]
    return np.stack(maps), time.perf_counter() - start


def confusion(truth: np.ndarray, maps: np.ndarray) -> np.ndarray:
    return np.bincount(truth.ravel().astype(np.int64) * C + maps.ravel(), minlength=C * C).reshape(C, C)


def ious(counts: np.ndarray) -> np.ndarray:
    right = np.diag(counts)
    return right / np.maximum(counts.sum(0) + counts.sum(1) - right, 1)


def table() -> str:
    """Return the table of accuracies of the networks that are there, in markdown."""
    corpus = [corpus_scene(index) for index in range(CORPUS)]
    day = [training_scene(FIRST_VALIDATION + index) for index in range(VALIDATION)]
    truth, lights = np.stack([s.truth for s in corpus]), np.array([s.light for s in corpus])
    kinds = sorted(set(lights))
    lines = [
        f"| network | weights | .onnx | mIoU daylight | mIoU corpus | {' | '.join(kinds)} | seconds |",
        "|---|---|---|---|---|" + "---|" * (len(kinds) + 1),
    ]
    maps, classes = {}, []
    for path in sorted(ONNX.glob("*.onnx")):
        name = path.stem
        maps[name], seconds = labels(name, np.stack([s.image for s in corpus]))
        sunny, _ = labels(name, np.stack([s.image for s in day]))
        by_light = [
            ious(confusion(truth[lights == kind], maps[name][lights == kind])).mean() for kind in kinds
        ]
        whole = ious(confusion(truth, maps[name]))
        number = sum(p.numel() for p in BUILD[name]().parameters())
        numbers = [ious(confusion(np.stack([s.truth for s in day]), sunny)).mean(), whole.mean(), *by_light]
        cells = [
            name,
            f"{number / 1e3:.0f} k",
            f"{path.stat().st_size / 1e3:.0f} kB",
            *(f"{v:.3f}" for v in numbers),
            f"{seconds:.1f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
        classes.append(f"| {name} | {' | '.join(f'{v:.2f}' for v in whole)} |")
    names = list(maps)
    agree = [(maps[a] == maps[b]).mean() for i, a in enumerate(names) for b in names[i + 1 :]]
    lines += [
        "",
        (
            f"Two networks agree on {np.mean(agree):.3f} of the corpus' pixels on average ({min(agree):.3f}"
            f" to {max(agree):.3f})."
        ),
    ]
    lines += [
        "",
        "IoU of each class on the corpus:",
        "",
        f"| network | {' | '.join(name for _, name, _ in CLASSES)} |",
        "|---" * (C + 1) + "|",
        *classes,
    ]
    return "\n".join(lines)


README = """# The demo's five networks

Made by `python examples/train_demo_networks.py`, from nothing, on {scenes} drawn daylight streets. These are the weights for torch; the same networks ship
with the package as ONNX. `segformer.safetensors` with `segformer.config.json` is what transformers' `SegformerForSemanticSegmentation` reads; the
other four are built by `BUILD[NAME]()` of `train_demo_networks.py`.

Dataset mIoU over {corpus} scenes of the demo's corpus (`corpus_scene`), over {validation} daylight scenes that no network saw, and by light; seconds for the corpus on one thread.

{table}
"""


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    asked.add_argument("networks", nargs="*", help=f"which of {', '.join(BUILD)}; all when none is named")
    asked.add_argument(
        "--workers", type=int, default=2, help="networks trained at the same time, one thread each"
    )
    asked.add_argument("--steps", type=int, help="another number of steps for each, for a quick try")
    asked.add_argument("--table", action="store_true", help="only measure the networks that are there")
    given = asked.parse_args()
    cv2.setNumThreads(1)
    if not given.table:
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            drawn(Path(folder))
            print(f"{SCENES} scenes drawn in {time.perf_counter() - start:.0f} s", flush=True)
            with ProcessPoolExecutor(given.workers, mp_context=get_context("spawn")) as pool:
                names = given.networks or list(PLANS)
                for line in pool.map(train, names, [Path(folder)] * len(names), [given.steps] * len(names)):
                    print(line, flush=True)
    measured = table()
    (WEIGHTS / "README.md").write_text(
        README.format(scenes=SCENES, corpus=CORPUS, validation=VALIDATION, table=measured), encoding="utf-8"
    )
    print(measured)


if __name__ == "__main__":
    main()
