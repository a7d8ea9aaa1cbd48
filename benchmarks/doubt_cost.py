"""What methods add to the forward pass of a network at 1024 x 2048: the table of docs/benchmarks/doubt.md.

    python benchmarks/doubt_cost.py [--backbone deeplabv3plus] [--device cuda]    # an hour and a half on one core

Conventions: the median of some turns, processor time of one thread, or time on a GPU; methods are not trained,
which changes nothing of their cost.
Source: S4, Table 1.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence

import numpy as np
import torch

import faultscape as fs
from faultscape.prediction.sources.torch_network import watched
from faultscape.uncertainty import description as d
from faultscape.uncertainty.methods.catalogue import IMAGE, method_named
from faultscape.uncertainty.methods.embeddings import Embeddings, as_grid
from faultscape.uncertainty.methods.evidence.fusion import Fusion, FusionBlock
from faultscape.uncertainty.methods.evidence.resynthesis import ResynthesisBlock
from faultscape.uncertainty.methods.flow_density import FlowDensity
from faultscape.uncertainty.methods.flow_fit import TrainedFlow
from faultscape.uncertainty.methods.layers import layers_of_scales
from faultscape.uncertainty.methods.reconstruction import ReconstructionBlock
from faultscape.uncertainty.methods.residual import ResidualBlock

SHOWN = (1024, 2048)  # height and width of a frame of Cityscapes


def cost(backbone: str, device: str, turns: int) -> None:
    """Print what each method adds to the forward pass of a network at 1024 x 2048, the median of some turns:
    processor time of one thread, or time on a GPU.
    """
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
    rows[f"`residual` at the image, {named}"] = (of_block("residual", scales, block), [image, *grids])
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
    with torch.inference_mode():
        method.values(grids, logits)


def grid_at(values, size):
    """Return what a layer gave as a grid."""
    return as_grid(values[0] if isinstance(values, tuple | list) else values, size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backbone", default="deeplabv3plus")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--turns", type=int, default=3)
    given = parser.parse_args()
    cost(given.backbone, given.device, given.turns)


if __name__ == "__main__":
    main()
