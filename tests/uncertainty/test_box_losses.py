"""What boxes cost a network: nothing for the mask that they were drawn around, as a plain twin counts it, and alike
for crops, sizes and mirrored images.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import faultscape as fs
from faultscape.maps.boxes import boxes_of_mask
from faultscape.uncertainty.training.box_labels import BoxLabels, BoxTarget, target_of
from faultscape.uncertainty.training.crops import cropped, cut_of
from faultscape.uncertainty.training.labels import IGNORED
from faultscape.uncertainty.training.plan import CompletePlan

CLASSES = 3
COLOURS = np.array(
    [[230, 30, 30], [30, 200, 40], [40, 40, 220], [240, 240, 240]], np.uint8
)  # the last is of no class
PLAN = CompletePlan(crop=(16, 12), scale=(1.0, 2.0), seed=5)


def masks(seed: int, size: tuple[int, int] = (20, 14), *, classes: int = CLASSES + 1) -> np.ndarray:
    """Return a mask (H, W) of small blocks; CLASSES is no class."""
    rng = np.random.default_rng(seed)
    blocks = rng.choice(classes, (-(-size[1] // 3), -(-size[0] // 4)))
    return blocks.repeat(3, 0).repeat(4, 1)[: size[1], : size[0]]


def boxes_of(mask: np.ndarray, boxed: tuple[int, ...] = (0, 1, 2)) -> BoxLabels:
    rows = [(place, *box[:4]) for place in boxed for box in boxes_of_mask(mask == place)]
    boxes = np.array(rows, np.int64).reshape(-1, 5)
    return BoxLabels((mask.shape[1], mask.shape[0]), boxed, boxes, np.ones((len(boxes), 2), bool))


def whole(mask: np.ndarray, boxed: tuple[int, ...] = (0, 1, 2)) -> BoxTarget:
    return target_of(boxes_of(mask, boxed), COLOURS[mask], np.ones(mask.shape, bool), CLASSES)


def logits_of(mask: np.ndarray):
    """Return logits (1, C, H, W) that are sure of a mask, and undecided where it has no class."""
    import torch

    return torch.from_numpy(np.stack([40.0 * (mask == place) for place in range(CLASSES)])[None])


def cost(logits, target: BoxTarget, weight: float = 1.0) -> float:
    from faultscape.uncertainty.heads.channels import Doubt
    from faultscape.uncertainty.training.box_losses import box_counts_of, box_loss

    return float(box_loss(Doubt(logits), [target], box_counts_of([target], weight)))


@pytest.mark.parametrize("seed", range(6))
def test_the_mask_that_boxes_were_drawn_around_costs_nothing_and_others_cost_more(seed: int) -> None:
    mask = masks(seed, classes=CLASSES)
    target = whole(mask)
    assert cost(logits_of(mask), target) == pytest.approx(0, abs=1e-5)
    place, row, column = np.argwhere(target.excluded)[seed]
    outside = mask.copy()
    outside[row, column] = place  # where its class has no box
    assert cost(logits_of(outside), target) > 0.01
    channel, left, top, _, bottom = target.boxes[seed]
    untouched = logits_of(mask)
    untouched[0, channel, top:bottom, left] = -40  # nothing touches the left side
    only = replace(target, excluded=np.zeros_like(target.excluded))
    assert cost(logits_of(mask), only, 0) == pytest.approx(0, abs=1e-5)
    assert cost(untouched, only, 0) > 0.001
    two = target_of(boxes_of(mask), COLOURS[mask * 0], np.ones(mask.shape, bool), CLASSES)
    assert cost(logits_of(mask), two) > 0.1 > cost(logits_of(mask), two, 0)  # one colour, two classes


@pytest.mark.parametrize("seed", range(3))
def test_it_is_what_a_plain_twin_counts_and_so_are_its_gradients(seed: int) -> None:
    import torch

    from faultscape.uncertainty.heads.channels import Doubt
    from faultscape.uncertainty.training.box_losses import box_counts_of, box_loss

    mask = masks(seed, (9, 7))
    about = boxes_of(mask, (0, 2))
    about.spans[seed % len(about.spans)] = [True, False]
    inside = np.ones(mask.shape, bool)
    inside[:, 8:] = False
    rng = np.random.default_rng(seed)
    colours = np.clip(COLOURS[mask] // 8 + rng.integers(0, 4, (*mask.shape, 3)), 0, 255).astype(np.uint8)
    target = target_of(about, colours, inside, CLASSES)
    logits = torch.from_numpy(rng.normal(size=(1, CLASSES, *mask.shape))).requires_grad_()
    value = box_loss(Doubt(logits.float()), [target], box_counts_of([target], 0.4))
    other = twin(logits[0].softmax(0), about, colours, inside, 0.4)
    assert float(value.detach()) == pytest.approx(float(other.detach()), rel=1e-5)
    mine, plain = (torch.autograd.grad(one, logits, retain_graph=True)[0] for one in (value, other))
    torch.testing.assert_close(mine, plain, rtol=1e-3, atol=1e-6)
    assert float(plain.abs().max()) > 0.01


def twin(shares, about: BoxLabels, colours: np.ndarray, inside: np.ndarray, weight: float):
    """Return the loss from probabilities (C, H, W), a pixel after another."""
    import cv2
    import torch

    lab = cv2.cvtColor(colours.astype(np.float32) / 255, cv2.COLOR_RGB2LAB)
    boxes = about.boxes.tolist()

    def within(channel: int, y: int, x: int) -> bool:
        return any(
            of == channel and top <= y < bottom and left <= x < right
            for of, left, top, right, bottom in boxes
        )

    open_ = {
        (y, x): [c for c in range(CLASSES) if c not in about.boxed or within(c, y, x)]
        for y, x in np.argwhere(inside).tolist()
    }
    outside = [
        -torch.log(shares[classes, y, x].sum())
        for (y, x), classes in open_.items()
        if len(classes) < CLASSES and classes
    ]
    projected, number = [], 0
    for (channel, left, top, right, bottom), (rows, columns) in zip(boxes, about.spans.tolist(), strict=True):
        part = shares[channel, top:bottom, left:right]
        lines = [[row.max() for row in part]] * rows + [[column.max() for column in part.T]] * columns
        number += sum(map(len, lines))
        projected += [
            len(line) * (1 - 2 * sum(line) / (sum(one**2 for one in line) + len(line))) for line in lines
        ]
    pairs = []
    for (y, x), classes in open_.items():
        for down, right in ((0, 2), (2, -2), (2, 0), (2, 2)):
            other = y + down, x + right
            if other not in open_ or not {*(classes or range(CLASSES))} & {*(open_[other] or range(CLASSES))}:
                continue
            alike = math.exp(-float(np.linalg.norm(lab[y, x] - lab[other])) / 2) >= 0.3
            if alike and any(within(c, *at) for c in about.boxed for at in ((y, x), other)):
                pairs.append(-torch.log((shares[:, y, x] * shares[:, *other]).sum()))
    assert all((outside, projected, pairs))
    means = [
        torch.stack(one).sum() / number for one, number in ((outside, len(outside)), (projected, number))
    ]
    return sum(means, weight * torch.stack(pairs).mean())


def test_parts_of_a_batch_and_members_add_up() -> None:
    import torch

    from faultscape.uncertainty.heads.channels import Doubt
    from faultscape.uncertainty.training.box_losses import box_counts_of, box_loss

    targets = [whole(masks(1)), None, whole(masks(2), (1,))]
    members = torch.randn(3, 2, CLASSES, 14, 20, generator=torch.Generator().manual_seed(0))
    of = box_counts_of(targets, 0.5)
    both = box_loss(Doubt(None, members), targets, of)
    parts = [
        box_loss(Doubt(members[n : n + 1, t]), targets[n : n + 1], of) for n in range(3) for t in range(2)
    ]
    torch.testing.assert_close(both, sum(parts) / 2)
    small = torch.nn.functional.interpolate(members[:, 0, :, ::2, ::2], (14, 20), mode="bilinear")
    torch.testing.assert_close(
        box_loss(Doubt(members[:, 0, :, ::2, ::2]), targets, of), box_loss(Doubt(small), targets, of)
    )


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), size=st.sampled_from([(20, 14), (33, 23), (9, 9)]))
def test_the_mask_costs_nothing_in_any_crop_of_any_larger_size_mirrored_or_not(
    seed: int, size: tuple[int, int]
) -> None:
    mask = masks(seed, size, classes=CLASSES)
    cut = cut_of(size, PLAN, np.random.default_rng(seed))
    photo, labels = cropped(COLOURS[mask], mask.astype(np.int16), PLAN, cut)
    seen = COLOURS[np.where(labels == IGNORED, CLASSES, labels)]  # not blended where it is resized
    target = cut.boxes(boxes_of(mask), seen, CLASSES)
    assert photo.shape == seen.shape
    assert not target.excluded[:, labels == IGNORED].any()
    assert cost(logits_of(labels), target) == pytest.approx(0, abs=1e-5)
    smaller = cut_of(size, replace(PLAN, scale=(0.3, 0.9)), np.random.default_rng(seed))
    _, labels = cropped(COLOURS[mask], mask.astype(np.int16), PLAN, smaller)
    excluded = smaller.boxes(boxes_of(mask), seen, CLASSES).excluded
    there = np.argwhere(labels >= 0)
    assert not excluded[
        labels[tuple(there.T)], *there.T
    ].any()  # where pixels were left out, it holds outside


def test_a_box_that_a_crop_cuts_keeps_the_lines_that_are_whole() -> None:
    about = BoxLabels((10, 8), (0,), np.array([[0, 2, 1, 6, 7]]), np.ones((1, 2), bool))
    for rows, columns, box, spans in (
        (slice(0, 8), slice(0, 10), [2, 1, 6, 7], [True, True]),
        (slice(0, 8), slice(3, 10), [0, 1, 3, 7], [False, True]),  # the object may lie in the column cut off
        (slice(0, 5), slice(1, 6), [1, 1, 5, 5], [True, False]),
        (slice(2, 5), slice(3, 5), [0, 0, 2, 3], [False, False]),
    ):
        part = about.cut(rows, columns)
        assert (part.boxes[0, 1:].tolist(), part.spans[0].tolist()) == (box, spans)
    assert not len(about.cut(slice(7, 8), slice(0, 10)).boxes)


def test_what_boxes_leave_no_class_is_said_nothing_of_and_withheld_pixels_neither() -> None:
    boxes = np.array([[0, 0, 0, 2, 2], [IGNORED, 3, 0, 5, 2]])
    about = BoxLabels((6, 2), (0, 1), boxes, np.array([[True, True], [True, True]]))
    target = target_of(about, np.zeros((2, 6, 3), np.uint8), np.ones((2, 6), bool), 2)
    assert target.excluded[:, 0].tolist() == [[False] * 6, [True, True, False, False, False, False]]
    assert target.boxes.tolist() == [[0, 0, 0, 2, 2]]
    assert np.argwhere(target.alike).tolist() == [[0, 0, 0], [0, 1, 0]]  # columns 3 and 4 are withheld
    assert target.counts == (4, 4, 2)


def test_training_with_boxes_ends_in_the_same_bytes_after_a_kill_and_learns(tmp_path: Path) -> None:
    import torch

    from faultscape.uncertainty.training.loop import Machine, Task, train

    kept, shown = [masks(seed, (32, 24), classes=CLASSES) for seed in range(6)], list[int]()
    plan = replace(PLAN, steps=40, batch=4, rate=0.03, crop=(24, 16), scale=(1.0, 1.2))

    def read(number: int) -> tuple[np.ndarray, np.ndarray]:
        shown.append(number)
        return COLOURS[kept[number]], np.full(kept[number].shape, IGNORED, np.int16)

    def steps_of(folder: Path, every: float):
        torch.manual_seed(3)
        layers = torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(8, CLASSES, 1)
        net = fs.uncertainty.replace_head(torch.nn.Sequential(*layers), "linear")
        task = Task(len(kept), read, boxes=lambda number: boxes_of(kept[number]), masked=2)
        return net, train(net, plan, task, folder, "key", Machine(every=every), say=lambda _: None)

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        whole_net, steps = steps_of(tmp_path / "whole", 1e9)
        losses = [step.loss for step in steps]
        assert sum(number < 2 for number in shown) == len(shown) / 2  # as if only these had masks
        killed, steps = steps_of(tmp_path / "killed", 0)
        for step in steps:
            if step.step == 9:
                break
        again, steps = steps_of(tmp_path / "killed", 0)
        rest = [step.loss for step in steps]
    finally:
        torch.set_num_threads(threads)
    assert rest == losses[-len(rest) :]
    assert 40 > len(rest) > 30
    assert killed is not again
    for name, value in whole_net.state_dict().items():
        assert torch.equal(value, again.state_dict()[name])
    with torch.no_grad():
        image = torch.from_numpy(COLOURS[kept[0]] / 255).float().permute(2, 0, 1)[None]
        found = whole_net(image).logits[0].argmax(0).numpy()
    assert (found == kept[0]).mean() > 0.9
