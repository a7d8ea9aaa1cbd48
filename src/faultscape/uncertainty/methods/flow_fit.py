"""Train a flow on embeddings by their likelihood only, and keep the one that is best on held-out
embeddings.

Conventions: the embeddings are shuffled by the seed; the first 2,000 (at most a tenth) choose the step, the
same number after them is used for reporting, and the rest for training. Unknown objects are not used. Batches
depend on the seed and the step, so that a killed run continues from its last checkpoint to the same flow. A
loss that is not finite stops training. Channels that are constant in the training embeddings have no density,
and are left out.
Source: Blum et al. 2021, section 4.2, eq. 6 and B.6 (2,000 embeddings for validation and testing, Adam, rate
1e-4, 200k steps). Batch size, width and depth are ours.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from faultscape.errors import MetricError, ModelError
from faultscape.uncertainty import tensors
from faultscape.uncertainty.methods.flow import BLOCKS, DEPTH, WIDTH, RealNVP
from faultscape.uncertainty.training import checkpoints

HELD_OUT = 2000
_SAME = 1e-6  # relative to a channel's largest value: the effect of rounding on a constant
_LOOKS = 20  # how often the held-out embeddings are evaluated


@dataclass(frozen=True)
class FlowPlan:
    """How a flow is made and trained."""

    steps: int = 3000  # training steps, one batch each
    rate: float = 1e-3  # Adam's learning rate, the same in all steps
    batch: int = 512  # embeddings drawn for a step
    blocks: int = BLOCKS  # each a coupling, a norm and a permutation
    width: int = WIDTH  # units of each hidden layer of a coupling
    depth: int = DEPTH  # hidden layers of a coupling
    seed: int = 0  # determines the held-out embeddings, the initial flow and the batches


@dataclass(frozen=True)
class TrainedFlow:
    """A trained flow, its channels (D,), the mean NLL of the training embeddings, of those that chose the
    step and of the unused ones, and the chosen step.
    """

    flow: RealNVP
    channels: Tensor
    learnt: float
    chosen: float
    tested: float
    step: int

    @torch.no_grad()
    def normalised_nll(self, features: Tensor) -> Tensor:
        """Return the NLL (n,) of features (n, K) minus the mean over its training embeddings, in nats (Blum
        et al. 2021, eq. 8).
        """
        return self.flow.nll(features[:, self.channels]) - self.learnt


def train_flow(
    values: Tensor,
    plan: FlowPlan,
    folder: Path | None = None,
    key: str = "",
    device: str = "cpu",
    tick: Callable[[int], None] = lambda _: None,
) -> TrainedFlow:
    """Return a flow trained by the negative log-likelihood of embeddings (n, D) (Blum et al. 2021, eq. 6),
    with its mean over them to subtract (Blum et al. 2021, eq. 8).

    Checkpoints with this ``key`` are written to a folder, and removed at the end. Errors: MetricError for too
    few embeddings, ModelError if the loss is not finite.

    >>> made = train_flow(torch.randn(200, 2), FlowPlan(steps=2, blocks=1, width=4))
    >>> made.normalised_nll(torch.zeros(3, 2)).shape
    torch.Size([3])
    """
    values = tensors.floats(values, "embeddings", "(n, D)").detach().float()
    order = torch.from_numpy(np.random.default_rng(plan.seed).permutation(len(values)))
    held = min(HELD_OUT, len(values) // 10)
    if held < 10 or values.shape[1] < 2:
        raise MetricError(
            f"{len(values)} embeddings of {values.shape[1]} numbers; a flow needs 100 or more of 2 or more:"
            " keep more, or choose another layer"
        )
    if not torch.isfinite(values).all():
        raise MetricError("embeddings hold NaN or infinity; expected finite numbers")
    channels = varying(values[order[2 * held :]])
    if len(channels) < 2:
        raise MetricError(
            f"{len(channels)} of {values.shape[1]} channels vary; a flow needs 2 or more: choose another"
            " layer"
        )
    given = values
    values = values[:, channels]
    choosing = values[order[:held]]
    testing = values[order[held : 2 * held]]
    learning = values[order[2 * held :]]
    flow = RealNVP(len(channels), plan.blocks, plan.width, plan.depth, plan.seed)
    flow.centre.copy_(learning.mean(0))
    flow.spread.copy_(learning.std(0).clamp_min(1e-12))
    flow = flow.to(device)
    optimiser = torch.optim.Adam(flow.parameters(), plan.rate)
    about = checkpoints.read(folder, key, flow, optimiser) if folder else {"step": 0}
    best, best_step, kept = math.inf, 0, copy.deepcopy(flow)  # the best flow, which may differ from the last
    if (
        folder
        and about["step"]
        and (
            of_best := checkpoints.read(folder / "best", key, kept, torch.optim.SGD(kept.parameters(), 1.0))
        )["step"]
    ):
        best = float(of_best["nll"])
        best_step = int(of_best["step"])
    if best_step < about.get("best", 0):  # that flow is damaged: only a fit from the start finds it again
        assert folder is not None
        for place in (folder / "best", folder):
            checkpoints.remove(place)
        return train_flow(given, plan, folder, key, device, tick)
    every = max(1, plan.steps // _LOOKS)
    tick(int(about["step"]))
    for step in range(int(about["step"]), plan.steps):
        flow.train()
        some = np.random.default_rng([plan.seed, step]).integers(0, len(learning), plan.batch)
        value = flow.nll(learning[torch.from_numpy(some)].to(device)).mean()
        if not torch.isfinite(value):
            raise ModelError(
                f"the flow's loss is {float(value.detach())} at step {step + 1}; lower --rate, or choose a"
                " layer before an activation"
            )
        optimiser.zero_grad()
        value.backward()
        torch.nn.utils.clip_grad_norm_(flow.parameters(), 10.0)
        optimiser.step()
        tick(1)
        if (step + 1) % every == 0 or step + 1 == plan.steps:
            found = _mean_nll(flow, choosing, device)
            if found < best:
                best = found
                best_step = step + 1
                kept.load_state_dict(flow.state_dict())
        if folder and (step + 1) % every == 0 and step + 1 < plan.steps:
            if best_step == step + 1:  # before the checkpoint, which is valid only with this one
                checkpoints.write(
                    folder / "best",
                    best_step,
                    key,
                    kept,
                    torch.optim.SGD(kept.parameters(), 1.0),
                    {"nll": best},
                )
            checkpoints.write(folder, step + 1, key, flow, optimiser, {"best": best_step})
    flow.load_state_dict(kept.state_dict())
    for place in (folder / "best", folder) if folder else ():
        checkpoints.remove(place)
    made = TrainedFlow(
        flow.eval(),
        channels,
        _mean_nll(flow, learning, device),
        best,
        _mean_nll(flow, testing, device),
        best_step,
    )
    flow.cpu()
    if not all(math.isfinite(number) for number in (made.learnt, made.chosen, made.tested)):
        raise ModelError(
            "the flow gives no finite likelihood; choose a layer before an activation, or lower --rate"
        )
    return made


def varying(values: Tensor) -> Tensor:
    """Return the places of the channels that vary over embeddings (n, K).

    >>> varying(torch.tensor([[0.7, 1.0], [0.7, 2.0]])).tolist()
    [1]
    """
    return torch.nonzero(values.std(0, correction=0) > _SAME * values.abs().amax(0))[:, 0]


@torch.no_grad()
def _mean_nll(flow: RealNVP, values: Tensor, device: str) -> float:
    flow.eval()
    return float(
        torch.cat([flow.nll(part.to(device)).cpu() for part in values.split(1 << 16)]).double().mean()
    )
