"""The training loop: a step is a batch of random crops, a loss, clipped gradients, and a learning rate from
the plan.

Conventions: results do not depend on when a run started or stopped: the order of images depends on the seed
and the epoch, a crop and what is pasted into it on the seed, the step and its place in the batch, and dropout
on the seed and the step. A killed run therefore resumes from its last checkpoint and ends with the same
bytes, on a CPU with the same number of threads. Accelerate handles devices and mixed precision. A loss that
is not finite stops the run, and its last good checkpoint stays.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from faultscape.choices import LossName, Smoothing
from faultscape.errors import ModelError
from faultscape.uncertainty.heads.batch_ensemble import BatchEnsembleLinear
from faultscape.uncertainty.heads.channels import Head
from faultscape.uncertainty.heads.gaussian_process import processes_of
from faultscape.uncertainty.training import checkpoints
from faultscape.uncertainty.training.box_labels import BoxLabels, BoxTarget
from faultscape.uncertainty.training.box_losses import weight_at
from faultscape.uncertainty.training.crops import cropped, cut_of, pixels
from faultscape.uncertainty.training.losses import LossOptions, Shares, channels_of
from faultscape.uncertainty.training.patches import Photos, paste
from faultscape.uncertainty.training.plan import CompletePlan

# image number -> image (H, W, 3) uint8, labels (H, W) int16
Read = Callable[[int], tuple[np.ndarray, np.ndarray]]
EVERY = 120.0  # seconds between two checkpoints
_SKIPPED = 40  # consecutive steps that half precision may skip while finding its scale
_PASTED = 1  # the stream of pasted pieces among those of a crop
_NEW, _OTHERS = 1, 2  # the streams of the two halves of a batch
_AHEAD = 2  # batches read ahead of the network


@dataclass(frozen=True)
class Task:
    """What a network learns from: the number of ``images``, how one is ``read`` and what it is ``called``,
    the ``loss``, the class ``weights``, the normalisation of its input, the ``smoothing`` of a prior
    network's labels, and other images of which pieces are ``pasted`` into the crops, if any. Of the first
    ``new`` images half of each batch is drawn, the rest from the others; 0 if all count the same. ``boxes``
    returns those of an image that has boxes and no labels, None for any other. If the first ``masked`` images
    are those with labels, half of each batch is drawn from them too; 0 if all count the same.
    """

    images: int
    read: Read
    loss: LossName = "ce"
    weights: tuple[float, ...] = ()
    mean: tuple[float, ...] = (0.0, 0.0, 0.0)
    std: tuple[float, ...] = (1.0, 1.0, 1.0)
    called: Callable[[int], str] = str
    smoothing: Smoothing = "each"
    pasted: Photos | None = None
    new: int = 0
    boxes: Callable[[int], BoxLabels | None] | None = None
    masked: int = 0

    @property
    def an_epoch(self) -> int:
        """How many images an epoch shows: all, or the new ones and as many others."""
        return 2 * self.new or self.images


@dataclass(frozen=True)
class Step:
    """The results of a step: its number from 1, the loss, the rate, the gradient norm before clipping, its
    seconds, the validation results after it, and the seconds of earlier runs that it goes on from.
    """

    step: int
    loss: float
    rate: float
    norm: float
    seconds: float
    found: dict[str, float] = field(default_factory=dict)
    before: float = 0.0


@dataclass(frozen=True)
class Machine:
    """What training runs on: the device, the precision (``no``, ``fp16`` or ``bf16``), threads for reading
    images, and the seconds between two checkpoints.
    """

    device: str = "cpu"
    precision: str = "no"
    readers: int = 2
    every: float = EVERY


def train(
    net: nn.Module,
    plan: CompletePlan,
    task: Task,
    folder: Path,
    key: str,
    machine: Machine = Machine(),
    validate: Callable[[nn.Module], dict[str, float]] | None = None,
    say: Callable[[str], None] = print,
) -> Iterator[Step]:
    """Train a network by a plan, from the last checkpoint with this ``key`` in a folder on, and yield each
    step; at the end the network is trained, and in training mode.

    Errors: ModelError if the loss or the gradients are not finite, or memory is too short for a
    single image.
    """
    accelerator = _accelerator(machine)
    net = net.to(accelerator.device).train()
    own = _optimiser(net, plan)
    about = checkpoints.read(folder, key, net, own, say)
    done = int(about["step"])
    before = float(about.get("seconds", 0.0))
    total = plan.all_steps(task.an_epoch)
    prepared, optimiser = accelerator.prepare(net, own)
    weights = torch.tensor(task.weights, device=accelerator.device) if task.weights else None
    options = LossOptions(task.loss, plan.outside_weight, task.smoothing)
    shares = Shares(int(about.get("at_once", plan.batch)), processes_of(net))
    channels = channels_of(net)
    started = saved = time.monotonic()
    batches = _batches(plan, task, range(done, total), machine.readers, channels)
    if "scaler" in about and accelerator.scaler is not None:
        accelerator.scaler.load_state_dict(about["scaler"])
    skipped = 0
    for step, (images, labels, boxes, names) in zip(range(done, total), batches, strict=True):
        begun = time.perf_counter()
        rate = plan.rate_at(step, task.an_epoch)
        for group in optimiser.param_groups:
            group["lr"] = rate * group["factor"]
        batch = images.to(accelerator.device), labels.to(accelerator.device).long()
        options = replace(options, pairs=weight_at(step))
        with torch.random.fork_rng(devices=_cards(accelerator.device)):
            torch.manual_seed(_number(plan.seed, step))
            value = shares.gradients(prepared, optimiser, accelerator, *batch, weights, options, say, boxes)
        norm = float(accelerator.clip_grad_norm_(prepared.parameters(), plan.gradient_norm))
        skipped = 0 if np.isfinite(norm) else skipped + 1
        if not np.isfinite(value) or skipped > (_SKIPPED if machine.precision == "fp16" else 0):
            raise ModelError(_not_finite(step + 1, value, norm, [task.called(k) for k in names], folder, key))
        optimiser.step()
        last = step + 1 == total
        found = (
            validate(net) if validate is not None and _is_due(step + 1, plan, task.an_epoch, total) else {}
        )
        net.train()
        if not last and time.monotonic() - saved >= machine.every:
            more = {} if accelerator.scaler is None else {"scaler": accelerator.scaler.state_dict()}
            more |= {"at_once": shares.most, "seconds": before + time.monotonic() - started}
            checkpoints.write(folder, step + 1, key, net, own, more)
            saved = time.monotonic()
        yield Step(step + 1, value, rate, norm, time.perf_counter() - begun, found, before)
    accelerator.unwrap_model(prepared, keep_fp32_wrapper=False)  # from now on it runs as in use


def checkpoint_activations(net: nn.Module) -> None:
    """Let a network of the transformers library recompute its blocks in the backward pass to save memory;
    ModelError if it does not support that.
    """
    for module in net.modules():
        if (enable := getattr(module, "activation_checkpointing_enable", None)) is not None:
            return enable()
        if (
            enable := getattr(module, "gradient_checkpointing_enable", None)
        ) is not None:  # its name in older versions
            return enable({"use_reentrant": False})
    raise ModelError(
        f"{type(net).__name__}: does not support activation checkpointing; leave --checkpoint-activations out"
    )


def order(seed: int, epoch: int, images: int) -> np.ndarray:
    """Return the numbers of all images in the order of an epoch.

    >>> sorted(order(0, 3, 4).tolist()), (order(0, 3, 4) == order(0, 3, 4)).all()
    ([0, 1, 2, 3], np.True_)
    """
    return np.random.default_rng([seed, epoch]).permutation(images)


def members_of(plan: CompletePlan, step: int, images: int, new: int = 0) -> list[int]:
    """Return the numbers of the images of a step; if there are fewer than a batch, some are repeated. Half of
    them, and of an odd batch half on average, are among the first ``new`` ones.

    >>> len(members_of(CompletePlan(batch=8), 0, 3))
    8
    >>> sorted(number < 2 for number in members_of(CompletePlan(batch=8), 5, 30, new=2))
    [False, False, False, False, True, True, True, True]
    """
    if new:
        first, end = step * plan.batch // 2, (step + 1) * plan.batch // 2
        rest = plan.batch * step - first, plan.batch * (step + 1) - end
        others = _in_turn(plan.seed, _OTHERS, images - new, *rest)
        return [*_in_turn(plan.seed, _NEW, new, first, end), *(new + number for number in others)]
    epoch, place = divmod(step, plan.steps_an_epoch(images))
    ordered = order(plan.seed, epoch, images)
    return [int(ordered[k % images]) for k in range(place * plan.batch, (place + 1) * plan.batch)]


def _in_turn(seed: int, stream: int, images: int, first: int, end: int) -> list[int]:
    """Return the images at some places of a sequence that shows all of them, in a new order each time."""
    orders = {
        turn: np.random.default_rng([seed, turn, stream]).permutation(images)
        for turn in range(first // images, end // images + 1)
    }
    return [int(orders[place // images][place % images]) for place in range(first, end)]


def _batches(
    plan: CompletePlan, task: Task, steps: Sequence[int], readers: int, channels: int
) -> Iterator[tuple[Tensor, Tensor, list[BoxTarget | None], list[int]]]:
    """Yield (images (N, 3, h, w), labels (N, h, w), what boxes say, their numbers) for each step, reading the
    next ones meanwhile.
    """

    def example(step: int, place: int, number: int) -> tuple[np.ndarray, np.ndarray, BoxTarget | None]:
        photo, labels = task.read(number)
        size = photo.shape[1], photo.shape[0]
        cut = cut_of(size, plan, np.random.default_rng([plan.seed, step, place]))
        photo, labels = cropped(photo, labels, plan, cut)
        about = None if task.boxes is None else task.boxes(number)
        if task.pasted is not None:  # by a stream of its own, so that crops stay what they are without
            own = np.random.default_rng([plan.seed, step, place, _PASTED])
            photo, labels = paste(photo, labels, task.pasted, own)
        boxes = None if about is None else cut.boxes(about, photo, channels)
        return pixels(photo, task.mean, task.std), labels, boxes

    with ThreadPoolExecutor(readers) as pool:
        waiting: list[tuple[list[int], list[Any]]] = []
        for step in [*steps, *[-1] * _AHEAD]:
            if step >= 0:
                mine = [*enumerate(members_of(plan, step, task.images, task.new or task.masked))]
                waiting.append(
                    (
                        [number for _, number in mine],
                        [pool.submit(example, step, place, number) for place, number in mine],
                    )
                )
            if len(waiting) > _AHEAD or (step < 0 and waiting):
                numbers, futures = waiting.pop(0)
                made = [future.result() for future in futures]
                *arrays, boxes = zip(*made, strict=True)
                images, labels = (torch.from_numpy(np.stack(values)) for values in arrays)
                yield images, labels, [*boxes], numbers


def _optimiser(net: nn.Module, plan: CompletePlan) -> torch.optim.Optimizer:
    """Return the optimiser of a plan; biases and one-dimensional parameters (norms) have no weight decay, and
    fast weights have their own learning rate.
    """
    heads = [module for module in net.modules() if isinstance(module, Head | BatchEnsembleLinear)]
    fast = {id(parameter) for head in heads for parameter in head.fast_parameters()}
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    for name, parameter in net.named_parameters():
        if parameter.requires_grad:
            plain = parameter.ndim > 1 and not name.endswith("bias") and id(parameter) not in fast
            decay = plan.weight_decay if plain else 0.0
            groups.setdefault((plan.fast_rate if id(parameter) in fast else 1.0, decay), []).append(parameter)
    told: list[dict[str, Any]] = [
        {"params": held, "factor": factor, "weight_decay": decay, "lr": plan.rate}
        for (factor, decay), held in groups.items()
    ]
    match plan.optimiser:
        case "adam":
            return torch.optim.Adam(told)
        case "sgd":
            return torch.optim.SGD(told, momentum=plan.momentum)
        case _:
            return torch.optim.AdamW(told)


def _accelerator(machine: Machine) -> Any:
    """Return an accelerator for a device, independent of earlier training in this process."""
    try:
        from accelerate import Accelerator
        from accelerate.state import AcceleratorState
    except ImportError:
        raise ModelError("training needs accelerate; install faultscape[doubt]") from None
    if machine.device.startswith("cuda:"):
        torch.cuda.set_device(machine.device)
    AcceleratorState._reset_state(reset_partial_state=True)  # noqa: SLF001 - the library keeps the precision of the first one for all that follow
    return Accelerator(cpu=machine.device == "cpu", mixed_precision=machine.precision)


def _cards(device: torch.device) -> list[int]:
    return (
        [torch.cuda.current_device() if device.index is None else device.index]
        if device.type == "cuda"
        else []
    )


def _is_due(step: int, plan: CompletePlan, images: int, total: int) -> bool:
    every = max(1, round(plan.validate_every * plan.steps_an_epoch(images)))
    return step == total or (plan.validate_every > 0 and step % every == 0)


def _not_finite(step: int, value: float, norm: float, names: Sequence[str], folder: Path, key: str) -> str:
    what = f"the loss is {value}" if not np.isfinite(value) else f"the norm of the gradients is {norm}"
    held = checkpoints.found(folder, key)
    last = (
        f"the last good checkpoint is step {int(held[-1].stem.split('-')[1])}, in {folder}"
        if held
        else "there is no checkpoint yet"
    )
    advice = (
        "Lower --rate, or add --warm-up"
        if step > 1
        else "Check these images, and the weights that it starts from"
    )
    return f"{what} at step {step} (images {', '.join(names[:4])}, ...): training stopped; {last}. {advice}"


def _number(seed: int, step: int) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed}/{step}".encode()).digest()[:7], "little")
