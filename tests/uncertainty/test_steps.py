"""A step of training, a crop and a look at the validation set, each against a plain twin."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
from faultscape.uncertainty.training.crops import crop
from faultscape.uncertainty.training.labels import IGNORED, OUTSIDE
from faultscape.uncertainty.training.plan import CompletePlan

CLASSES, MEAN, STD = 3, (0.4, 0.5, 0.6), (0.2, 0.3, 0.4)
PLAN = CompletePlan(
    steps=3, batch=2, rate=0.05, warm_up=0.4, crop=(16, 12), scale=(0.8, 1.2), gradient_norm=0.05, seed=7
)


@pytest.fixture
def torch():
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield torch
    torch.set_num_threads(threads)


def read(number: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(number)
    labels = rng.integers(0, CLASSES, (6, 8)).repeat(4, 0).repeat(4, 1).astype(np.int16)
    labels[:3], labels[3:6] = IGNORED, OUTSIDE
    return rng.integers(0, 256, (*labels.shape, 3)).astype(np.uint8), labels


def network(torch, head: str = "linear", **told):
    torch.manual_seed(3)
    layers = torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(8, CLASSES, 1)
    return fs.uncertainty.replace_head(torch.nn.Sequential(*layers), head, **told)


def optimiser_of(torch, name: str, net, plan: CompletePlan):
    """As the plan says it: weights with more than one axis decay, fast weights learn twice as fast and do
    not.
    """
    groups = []
    for key, parameter in net.named_parameters():
        fast = key.endswith(("alpha", "gamma"))
        decay = plan.weight_decay if parameter.ndim > 1 and not fast and not key.endswith("bias") else 0.0
        groups.append({"params": [parameter], "weight_decay": decay, "factor": 2.0 if fast else 1.0})
    kind = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[name]
    return kind(groups, lr=1.0, **({"momentum": 0.9} if name == "sgd" else {}))


@pytest.mark.parametrize(
    ("optimiser", "head"), [("sgd", "linear"), ("adam", "batch-ensemble"), ("adamw", "linear")]
)
def test_steps_are_those_of_a_plain_loop(torch, tmp_path: Path, optimiser: str, head: str) -> None:
    from faultscape.uncertainty.training.loop import Machine, Task, members_of, train

    plan = replace(PLAN, optimiser=optimiser, weight_decay=0.1, outside_weight=0.3)
    weights = torch.tensor([1.0, 2.0, 0.5])
    mine, plain = network(torch, head), network(torch, head)
    task = Task(5, read, "entropy", tuple(weights.tolist()), MEAN, STD)
    steps = list(train(mine, plan, task, tmp_path, "key", Machine(every=1e9), say=lambda _: None))
    own, losses, norms = optimiser_of(torch, optimiser, plain, plan), [], []
    for step in range(3):
        made = [
            crop(*read(number), plan, np.random.default_rng([7, step, place]))
            for place, number in enumerate(members_of(plan, step, 5))
        ]
        pixels = (
            torch.from_numpy(np.stack([(photo / 255 - MEAN) / STD for photo, _ in made]))
            .float()
            .permute(0, 3, 1, 2)
        )
        labels = torch.from_numpy(np.stack([labels for _, labels in made])).long()
        said = plain(pixels)
        each = []
        for logits in [said.own] if said.own is not None else said.members.unbind(1):
            known = torch.nn.functional.cross_entropy(logits, labels.where(labels >= 0, -100), weights)
            even = -logits.log_softmax(1).mean(1)[labels == OUTSIDE]
            each.append(known + 0.3 * even.sum() / max(1, len(even)))
        value = torch.stack(each).mean()
        own.zero_grad()
        value.backward()
        norms.append(float(torch.nn.utils.clip_grad_norm_(plain.parameters(), 0.05)))
        for group in own.param_groups:
            group["lr"] = group["factor"] * plan.rate_at(step, 5)
        own.step()
        losses.append(float(value.detach()))
    assert [step.loss for step in steps] == pytest.approx(losses, rel=1e-4)
    assert [step.norm for step in steps] == pytest.approx(norms, rel=1e-3)
    assert min(norms) > 0.05  # gradients are cut
    for name, parameter in plain.state_dict().items():
        torch.testing.assert_close(mine.state_dict()[name], parameter, rtol=2e-3, atol=2e-5)


def test_what_a_network_leaves_out_at_random_differs_from_step_to_step_and_follows_from_the_seed(
    torch, tmp_path: Path
) -> None:
    from faultscape.uncertainty.training.loop import Machine, Task, train

    def patterns(folder: Path, seed: int) -> list[np.ndarray]:
        held: list[np.ndarray] = []
        torch.manual_seed(3)
        dropout = torch.nn.Dropout(0.5)
        dropout.register_forward_hook(lambda _, __, out: held.append((out == 0).numpy().copy()))
        layers = torch.nn.Conv2d(3, 8, 1), torch.nn.Softplus(), dropout, torch.nn.Conv2d(8, CLASSES, 1)
        net = fs.uncertainty.replace_head(torch.nn.Sequential(*layers), "linear")
        list(train(net, replace(PLAN, seed=seed), Task(5, read), folder, "key", Machine(every=1e9)))
        return held

    one, same, other = (patterns(tmp_path / name, seed) for name, seed in (("a", 1), ("b", 1), ("c", 2)))
    assert (one[0] != one[1]).any()
    assert all((a == b).all() for a, b in zip(one, same, strict=True))
    assert (one[0] != other[0]).any()


def test_a_network_that_is_not_finite_is_no_checkpoint(torch, tmp_path: Path) -> None:
    from faultscape.uncertainty.training import checkpoints

    net = network(torch)
    own = torch.optim.SGD(net.parameters(), 0.1)
    net.head.bias.data.fill_(float("nan"))
    checkpoints.write(tmp_path, 1, "key", net, own, {})
    assert checkpoints.found(tmp_path) == []


def test_crops_are_of_the_plans_size_and_reach_every_corner() -> None:
    rows, columns = np.mgrid[:24, :32].astype(np.uint8)
    photo, labels = np.stack([rows, columns, rows], -1), np.zeros((24, 32), np.int16)
    plan, corners = replace(PLAN, scale=(1.0, 1.0), flip=False), set()
    for seed in range(400):
        seen, _ = crop(photo, labels, plan, np.random.default_rng(seed))
        corners.add((int(seen[0, 0, 0]), int(seen[0, 0, 1])))
    assert {(0, 0), (12, 0), (0, 16), (12, 16)} <= corners
    assert len(corners) > 100
    small, said = crop(photo, labels, replace(plan, size=(8, 6)), np.random.default_rng(0))
    assert (said == 0).sum() == 48
    assert small[5, 7, 0] > 16  # the whole photo is within the size


def test_validation_is_what_plain_numpy_finds(torch) -> None:
    from faultscape.uncertainty.training.validation import Images, validate

    torch.manual_seed(3)
    layers = torch.nn.Conv2d(3, 8, 3, stride=2, padding=1), torch.nn.Dropout(0.5), torch.nn.Conv2d(8, 4, 1)
    net = fs.uncertainty.replace_head(
        torch.nn.Sequential(*layers), "batch-ensemble", members=2, spread=1.0
    ).train()
    net.head.weight.data.mul_(20)
    shapes: list[tuple[int, ...]] = []
    net.net[0].register_forward_hook(lambda _, inputs, __: shapes.append(tuple(inputs[0].shape)))
    found = validate(net, Images(3, read, multiple=20, mean=MEAN, std=STD), "cpu")
    assert set(shapes) == {(1, 3, 40, 40)}  # raised to multiples
    assert net.training
    net.eval()
    counts, surprise = np.zeros((4, 4)), []
    for number in range(3):
        photo, labels = read(number)
        import cv2

        pixels = (cv2.resize(photo, (40, 40)) / 255 - MEAN) / STD
        with torch.no_grad():
            members = net(torch.from_numpy(pixels).float().permute(2, 0, 1)[None]).members[0]
        each = [
            torch.nn.functional.interpolate(
                member[None], size=(24, 32), mode="bilinear", align_corners=False
            )[0].softmax(0)
            for member in members
        ]
        shares = np.mean([share.numpy() for share in each], 0)
        for k in range(4):
            for j in range(4):
                counts[k, j] += ((labels == k) & (shares.argmax(0) == j)).sum()
        surprise += [-np.log(shares[labels[y, x], y, x]) for y, x in np.argwhere(labels >= 0)]
    ious = [
        counts[k, k] / (counts[k].sum() + counts[:, k].sum() - counts[k, k])
        for k in range(4)
        if counts[k].any() or counts[:, k].any()
    ]
    assert counts[:, 3].any()  # a class that is only predicted counts too
    assert not counts[3].any()
    assert found == pytest.approx({"miou": np.mean(ious), "nll": np.mean(surprise)}, rel=1e-4)
    seen = len(shapes)
    validate(net, Images(3, read, multiple=20, mean=MEAN, std=STD), "cpu", 2)
    assert len(shapes) - seen == 2  # of so many images at most


def test_a_channel_of_void_pixels_is_no_class_of_the_mean(torch) -> None:
    from faultscape.uncertainty.heads.channels import Doubt
    from faultscape.uncertainty.training.validation import Images, validate

    class Perfect(torch.nn.Module):
        def forward(self, image):
            places = (image[:, 0] * 255 / 50).round().long()
            return Doubt(50 * torch.nn.functional.one_hot(places, 3).permute(0, 3, 1, 2).float())

    def shown(_: int) -> tuple[np.ndarray, np.ndarray]:
        labels = np.array([[0, 1, 0, 1]], np.int16)
        # one pixel is said to be void
        photo = (50 * np.array([[0, 1, 0, 2]], np.uint8))[..., None].repeat(3, 2)
        return photo, labels

    assert validate(Perfect(), Images(1, shown), "cpu", classes=2)["miou"] == pytest.approx((1 + 0.5) / 2)


def test_the_mean_field_factor_is_that_of_the_least_likelihood_loss(torch) -> None:
    from faultscape.uncertainty.fit import tune_mean_field
    from faultscape.uncertainty.training.validation import Images, validate

    net, images = network(torch, "gp", features=16), Images(2, read, mean=MEAN, std=STD)
    net.head.weight.data.normal_(generator=torch.Generator().manual_seed(0))  # far too sure of itself
    found = tune_mean_field(net, images, "cpu", (0.0, 1.0, 30.0, 1e6))
    assert net.head.mean_field == min(found, key=found.get) == 1e6
    assert found[0.0] > found[1.0] > found[30.0] > found[1e6]
    net.head.mean_field = 30.0
    assert validate(net, images, "cpu")["nll"] == found[30.0]
    pairs = [(image, torch.from_numpy(labels)[None]) for image, labels in images.tensors("cpu")]
    assert tune_mean_field(net, pairs, factors=(0.0, 30.0)) == {0.0: found[0.0], 30.0: found[30.0]}


def test_a_factor_that_no_labelled_pixel_can_tune_stays(torch) -> None:
    from faultscape.errors import MetricError
    from faultscape.uncertainty.fit import tune_mean_field
    from faultscape.uncertainty.training.validation import Images

    net = network(torch, "gp", features=16, mean_field=2.0)
    nothing = Images(2, lambda k: (read(k)[0], np.full((24, 32), IGNORED, np.int16)))
    with pytest.raises(MetricError, match="no labelled pixel in the images to tune the mean-field factor on"):
        tune_mean_field(net, nothing, "cpu")
    assert net.head.mean_field == 2.0
