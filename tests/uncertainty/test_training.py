"""The loop that trains: it goes on to the same bytes, stops at what is not finite, and does with less memory
what it does with more.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
from faultscape.errors import ModelError, OptionError, is_out_of_memory
from faultscape.uncertainty.training.crops import crop
from faultscape.uncertainty.training.labels import IGNORED, OUTSIDE
from faultscape.uncertainty.training.plan import CompletePlan
from flipped_bits import flipped
from refusals import refused

PLAN = CompletePlan(steps=6, batch=4, rate=1e-2, crop=(16, 12), scale=(0.8, 1.2))
CLASSES = 3


@pytest.fixture
def torch():
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield torch
    torch.set_num_threads(threads)


def network(torch, head: str = "linear", **options):
    torch.manual_seed(3)
    layers = (
        torch.nn.Conv2d(3, 8, 3, padding=1),
        torch.nn.BatchNorm2d(8),
        torch.nn.Dropout(0.2),
        torch.nn.Conv2d(8, CLASSES, 1),
    )
    return fs.uncertainty.replace_head(torch.nn.Sequential(*layers), head, **options)


def read(number: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(number)
    labels = rng.integers(0, CLASSES, (6, 8)).repeat(4, 0).repeat(4, 1).astype(np.int16)
    photo = (labels[..., None] * 80 + rng.integers(0, 40, (*labels.shape, 3))).astype(np.uint8)
    return photo, labels


def steps_of(
    torch, folder: Path, net=None, plan: CompletePlan = PLAN, reader=read, every: float = 0.0, **told
):
    from faultscape.uncertainty.training.loop import Machine, Task, train

    net = net or network(torch)
    yield from train(
        net, plan, Task(10, reader, **told), folder, "key", Machine(every=every), say=lambda _: None
    )


@pytest.mark.parametrize("new", [0, 3])
def test_a_run_that_was_killed_goes_on_to_the_same_bytes(torch, tmp_path: Path, new: int) -> None:
    whole, first, second = (network(torch, "batch-ensemble", members=2) for _ in range(3))
    losses = [step.loss for step in steps_of(torch, tmp_path / "a", whole, new=new)]
    killed = steps_of(torch, tmp_path / "b", first, new=new)
    before = [next(killed) for _ in range(4)]
    killed.close()
    after = [*steps_of(torch, tmp_path / "b", second, new=new)]
    assert [step.loss for step in [*before, *after]] == losses
    assert {step.before for step in before} == {0.0}
    (spent,) = {step.before for step in after}
    assert spent > sum(step.seconds for step in before[:3])  # the last was told after its checkpoint
    for name, value in whole.state_dict().items():
        assert torch.equal(value, second.state_dict()[name]), name


def test_a_killed_run_with_a_negative_class_goes_on_to_the_same_bytes(torch, tmp_path: Path) -> None:
    def read_odd(number: int) -> tuple[np.ndarray, np.ndarray]:
        photo, labels = read(number)
        labels[labels == CLASSES - 1] = -1
        return photo, labels

    nets = [network(torch) for _ in range(2)]
    for net in nets:
        net.negative = True
    whole = [step.loss for step in steps_of(torch, tmp_path / "a", nets[0], reader=read_odd, loss="uno")]
    killed = steps_of(torch, tmp_path / "b", nets[1], reader=read_odd, loss="uno")
    before = [next(killed).loss for _ in range(4)]
    killed.close()
    again = network(torch)
    again.negative = True
    after = [step.loss for step in steps_of(torch, tmp_path / "b", again, reader=read_odd, loss="uno")]
    assert before + after == whole
    for name, value in nets[0].state_dict().items():
        assert torch.equal(value, again.state_dict()[name]), name


def test_a_checkpoint_that_is_cut_short_counts_for_nothing_and_the_one_before_it_does(
    torch, tmp_path: Path
) -> None:
    from faultscape.uncertainty.training import checkpoints

    killed = steps_of(torch, tmp_path)
    for _ in range(4):
        next(killed)
    killed.close()
    held = checkpoints.found(tmp_path)
    assert [path.name for path in held] == ["step-00000003-key.safetensors", "step-00000004-key.safetensors"]
    held[-1].write_bytes(held[-1].read_bytes()[:100])
    assert next(steps_of(torch, tmp_path)).step == 4


@pytest.mark.parametrize("damaged", [1, 2])
def test_a_flipped_bit_of_a_checkpoint_costs_steps_and_changes_nothing(
    torch, tmp_path: Path, damaged: int
) -> None:
    from faultscape.uncertainty.training import checkpoints
    from faultscape.uncertainty.training.loop import Machine, Task, train

    whole, first, second = (network(torch) for _ in range(3))
    losses = [step.loss for step in steps_of(torch, tmp_path / "a", whole)]
    killed = steps_of(torch, tmp_path / "b", first)
    for _ in range(4):
        next(killed)
    killed.close()
    said = []
    held = checkpoints.found(tmp_path / "b")
    for path in held[-damaged:]:
        path.write_bytes(flipped(path.read_bytes(), -5))
    after = [*train(second, PLAN, Task(10, read), tmp_path / "b", "key", Machine(), say=said.append)]
    assert [step.step for step in after] == [[4, 5, 6], [1, 2, 3, 4, 5, 6]][damaged - 1]
    assert [step.loss for step in after] == losses[-len(after) :]
    for name, value in whole.state_dict().items():
        assert torch.equal(value, second.state_dict()[name]), name
    assert said == [
        f"note: {path} is damaged (its checksum is wrong); going on from the checkpoint before it"
        for path in reversed(held[-damaged:])
    ]


def test_checkpoints_that_another_line_left_behind_push_none_of_this_one_out(torch, tmp_path: Path) -> None:
    from faultscape.uncertainty.training import checkpoints
    from faultscape.uncertainty.training.loop import Machine, Task, train

    long = train(
        network(torch), replace(PLAN, steps=20), Task(10, read), tmp_path, "other", Machine(every=0.0)
    )
    for _ in range(10):
        next(long)
    long.close()
    killed = steps_of(torch, tmp_path)
    for _ in range(3):
        next(killed)
    killed.close()
    assert [path.name for path in checkpoints.found(tmp_path)] == [
        "step-00000002-key.safetensors",
        "step-00000003-key.safetensors",
    ]
    assert next(steps_of(torch, tmp_path)).step == 4


def test_a_checkpoint_of_another_network_is_refused_and_one_of_another_key_is_none(
    torch, tmp_path: Path
) -> None:
    from faultscape.uncertainty.training.loop import Machine, Task, train

    killed = steps_of(torch, tmp_path)
    next(killed), next(killed)
    killed.close()
    with refused(
        ModelError,
        "step-00000002-key.safetensors: does not match the network: 4 tensors are missing, such as"
        " net.3.head.kernel; delete .* to start over",
    ):
        next(steps_of(torch, tmp_path, network(torch, "gp", features=8)))
    first = next(train(network(torch), PLAN, Task(10, read), tmp_path, "other", Machine()))
    assert first.step == 1


def test_a_loss_that_is_not_a_number_stops_training_and_keeps_the_last_good_checkpoint(
    torch, tmp_path: Path
) -> None:
    net, steps = network(torch), []
    with refused(
        ModelError,
        r"the loss is nan at step 4 \(images .*\): training stopped; the last good checkpoint is step 3, in"
        r" .*\. Lower --rate, or add --warm-up",
    ):
        for step in steps_of(torch, tmp_path, net):
            steps.append(step)
            if step.step == 3:
                net.net[0].weight.data.fill_(math.nan)
    assert len(steps) == 3
    assert all(math.isfinite(step.loss) for step in steps)


def test_with_too_little_memory_a_batch_goes_through_in_parts_to_the_same_gradients(torch) -> None:
    from faultscape.uncertainty.training.loop import Machine, _accelerator, _optimiser
    from faultscape.uncertainty.training.losses import LossOptions, Shares

    images = torch.randn(4, 3, 8, 8)
    labels = torch.randint(0, CLASSES, (4, 8, 8))
    labels[0], labels[1, :4] = IGNORED, OUTSIDE  # parts weigh as much as they have labelled pixels
    said: list[str] = []
    for name, weights in (("ce", None), ("ce", torch.tensor([1.0, 2.0, 0.5])), ("entropy", None)):
        gradients = []
        for most in (4, 1):
            net = network(torch).eval()  # batch norm would differ
            net.forward = partial(_short, net.forward, most)
            shares = Shares(4)
            value = shares.gradients(
                net,
                _optimiser(net, PLAN),
                _accelerator(Machine()),
                images,
                labels,
                weights,
                LossOptions(name, 0.7),
                said.append,
            )
            gradients.append((value, net.net[0].weight.grad.clone()))
            assert shares.most == most
        assert gradients[0][0] == pytest.approx(gradients[1][0], rel=1e-5)
        torch.testing.assert_close(gradients[0][1], gradients[1][1], rtol=1e-4, atol=1e-6)
    assert (
        said[0]
        == "note: out of memory with 4 images at once; continuing with 2 at a time (a step still averages 4)"
    )


def test_a_covariance_with_a_momentum_follows_a_batch_once_however_memory_parts_it(torch) -> None:
    from faultscape.uncertainty.training.loop import Machine, _accelerator, _optimiser
    from faultscape.uncertainty.training.losses import LossOptions, Shares

    images, labels = torch.randn(4, 3, 8, 8), torch.randint(0, CLASSES, (4, 8, 8))
    labels[0] = IGNORED
    precisions = []
    for most in (4, 1):
        net = network(torch, "gp", features=16, momentum=0.9).train()
        # which would see parts by themselves
        net.net[1], net.net[2] = (torch.nn.Identity(), torch.nn.Identity())
        net.forward = partial(_short, net.forward, most)
        told = (net, _optimiser(net, PLAN), _accelerator(Machine()), images, labels, None, LossOptions())
        Shares(4, [net.head]).gradients(*told, lambda _: None)
        precisions.append(net.head.precision.clone())
    torch.testing.assert_close(*precisions)
    assert not torch.equal(precisions[0][0], torch.eye(16, dtype=torch.float64))


def test_nothing_of_a_batch_that_did_not_fit_is_held_while_its_parts_go_through(
    torch, tmp_path: Path
) -> None:
    import weakref

    net, inner, held = network(torch), None, []

    def forward(x):
        assert all(output() is None for output in held if len(x) < 4)
        made = inner(x)
        if len(x) == 4:
            held.append(weakref.ref(made))
            made.register_hook(no_memory)  # in the backward pass, when all activations are there
        return made

    inner, net.net.forward = net.net.forward, forward
    assert next(steps_of(torch, tmp_path, net)).step == 1
    assert len(held) == 1


def no_memory(_) -> None:
    raise RuntimeError("not enough memory")


def test_an_allocation_that_fails_on_a_processor_is_known_for_what_it_is(torch) -> None:
    with pytest.raises(RuntimeError) as failed:
        torch.empty(10**15)
    assert is_out_of_memory(failed.value)


def _short(inner, most, x):
    if len(x) > most:
        raise MemoryError
    return inner(x)


def test_one_image_that_does_not_fit_is_said(torch, tmp_path: Path) -> None:
    net = network(torch)
    net.forward = lambda _: (_ for _ in ()).throw(MemoryError)
    with refused(
        ModelError, "out of memory with a single image; use a smaller --crop, or --checkpoint-activations"
    ):
        next(steps_of(torch, tmp_path, net))


def test_windows_side_by_side_show_every_pixel_and_count_it_once(torch) -> None:
    from faultscape.uncertainty.training.validation import Images, validate

    # a pixel sees itself alone
    net = fs.uncertainty.replace_head(torch.nn.Sequential(torch.nn.Conv2d(3, CLASSES, 1)), "linear")
    whole, windows = (Images(3, read, window=side) for side in (0, 10))
    parts = [
        (tuple(image.shape[2:]), int((labels >= 0).sum())) for image, labels in windows.tensors("cpu", [0])
    ]
    assert {shape for shape, _ in parts} == {(10, 10)}
    assert sum(count for _, count in parts) == read(0)[1].size
    assert validate(net, windows, "cpu") == pytest.approx(validate(net, whole, "cpu"), rel=1e-6)
    held = {k: read(k) for k in range(3)}  # a reader's own arrays stay as they are
    kept = Images(3, held.__getitem__, window=10)
    assert validate(net, kept, "cpu") == validate(net, kept, "cpu")
    assert [tuple(image.shape[2:]) for image, _ in Images(1, read, window=64).tensors("cpu")] == [(24, 32)]


def test_a_picture_that_does_not_fit_when_it_is_shown_whole_is_said(torch) -> None:
    from faultscape.uncertainty.fit import fit_covariance
    from faultscape.uncertainty.training.validation import Images, validate

    net = network(torch, "gp", features=8).eval()
    net.net.forward = lambda _: (_ for _ in ()).throw(RuntimeError("DefaultCPUAllocator: not enough memory"))
    why = "an image of 32x24 does not fit into memory for validation or the covariance, which use whole images; use a smaller --size"
    with refused(ModelError, why):
        validate(net, Images(1, read), "cpu")
    with refused(ModelError, why):
        fit_covariance(net, (image for image, _ in Images(1, read).tensors("cpu")))


def test_training_leaves_chance_outside_it_alone(torch, tmp_path: Path) -> None:
    torch.manual_seed(5)
    wanted = torch.rand(3)
    net = network(torch)
    torch.manual_seed(5)
    for _ in steps_of(torch, tmp_path, net):
        pass
    assert torch.equal(torch.rand(3), wanted)


@pytest.mark.slow
def test_training_learns_what_colours_mean(torch, tmp_path: Path) -> None:
    for head in ("linear", "batch-ensemble", "gp", "heteroscedastic"):
        net = network(torch, head, **({"samples": 20} if head == "heteroscedastic" else {}))
        losses = [
            step.loss for step in steps_of(torch, tmp_path / head, net, replace(PLAN, steps=60), every=1e9)
        ]
        assert np.mean(losses[-5:]) < 0.6 * np.mean(losses[:3]), head


def test_fast_weights_learn_twice_as_fast_and_what_has_one_axis_does_not_decay(torch) -> None:
    from faultscape.uncertainty.heads.batch_ensemble import BatchEnsembleLinear
    from faultscape.uncertainty.training.loop import _optimiser

    net = network(torch, "batch-ensemble")
    factors = {}
    for group in _optimiser(net, PLAN).param_groups:
        factors |= {id(p): (group["factor"], group["weight_decay"]) for p in group["params"]}
    assert factors[id(net.head.alpha)] == factors[id(net.head.gamma)] == (2.0, 0.0)
    assert factors[id(net.head.weight)] == (1.0, 0.01)
    assert factors[id(net.net[1].weight)] == factors[id(net.head.bias)] == (1.0, 0.0)
    wide = torch.nn.Sequential(BatchEnsembleLinear(torch.nn.Linear(4, 8), 2))  # as in encoder blocks
    groups = [(group["factor"], len(group["params"])) for group in _optimiser(wide, PLAN).param_groups]
    assert sorted(groups) == [(1.0, 1), (1.0, 1), (2.0, 2)]
    assert len(factors) == len(list(net.parameters()))


def test_a_warm_up_ends_by_the_middle_of_training() -> None:
    plan = CompletePlan(steps=10, batch=2, rate=1.0, warm_up=3, schedule="constant")
    assert [plan.rate_at(k, 100) for k in (0, 4, 5, 9)] == pytest.approx([0.2, 1.0, 1.0, 1.0])


def test_steps_in_mixed_precision_learn_and_a_scale_that_is_never_found_is_said(
    torch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from faultscape.uncertainty.training import loop

    told = loop.Machine(precision="bf16", every=1e9)
    steps = [*loop.train(network(torch), replace(PLAN, steps=40), loop.Task(10, read), tmp_path, "key", told)]
    assert np.mean([step.loss for step in steps[-5:]]) < 0.6 * steps[0].loss
    accelerator, begun = loop._accelerator(loop.Machine()), []
    accelerator.clip_grad_norm_ = lambda *_: torch.tensor(math.nan)
    monkeypatch.setattr(loop, "_accelerator", lambda _: accelerator)
    monkeypatch.setattr(loop, "_SKIPPED", 5)
    half = loop.train(
        network(torch), PLAN, loop.Task(10, read), tmp_path, "other", loop.Machine(precision="fp16")
    )
    with refused(ModelError, "the norm of the gradients is nan at step 6 "):
        begun.extend(half)
    assert len(begun) == 5


def test_activations_that_are_computed_again_give_the_same_gradients(torch) -> None:
    from transformers import SegformerConfig, SegformerForSemanticSegmentation

    from faultscape.uncertainty.training.loop import checkpoint_activations

    small = SegformerConfig(
        hidden_sizes=[8, 8, 16, 16],
        depths=[1, 1, 1, 1],
        num_attention_heads=[1, 1, 2, 2],
        decoder_hidden_size=16,
        num_labels=3,
    )
    gradients, passes, x = [], [], torch.randn(2, 3, 32, 32)
    for again in (False, True):
        torch.manual_seed(1)
        net, calls = fs.uncertainty.replace_head(SegformerForSemanticSegmentation(small)).train(), []
        norm = next(
            module
            for module in net.modules()
            if isinstance(module, torch.nn.GELU) or "GELU" in type(module).__name__
        )
        norm.register_forward_pre_hook(lambda *_, calls=calls: calls.append(1))
        if again:
            checkpoint_activations(net)
        torch.manual_seed(2)
        net(pixel_values=x).logits.square().sum().backward()
        gradients.append({name: p.grad for name, p in net.named_parameters() if p.grad is not None})
        passes.append(len(calls))
    torch.testing.assert_close(*gradients)
    assert passes == [1, 2]
    with refused(
        ModelError,
        "DoubtNetwork: does not support activation checkpointing; leave --checkpoint-activations out",
    ):
        checkpoint_activations(network(torch))


def test_rates_rise_and_fall_as_their_formulas_say() -> None:
    plan = CompletePlan(epochs=10, batch=2, rate=1.0, power=0.9, warm_up=1)
    assert [plan.rate_at(k, 10) for k in range(5)] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert plan.rate_at(5, 10) == 1.0
    assert plan.rate_at(20, 10) == pytest.approx((1 - 15 / 45) ** 0.9)
    assert replace(plan, schedule="cosine").rate_at(20, 10) == pytest.approx((1 + math.cos(math.pi / 3)) / 2)
    assert replace(plan, schedule="constant").rate_at(49, 10) == 1.0


def test_every_image_is_seen_once_an_epoch_in_an_order_that_follows_from_the_seed() -> None:
    from faultscape.uncertainty.training.loop import members_of

    plan = CompletePlan(batch=4)
    epoch = [k for step in range(3) for k in members_of(plan, step, 12)]
    assert sorted(epoch) == list(range(12))
    assert epoch != [k for step in range(3, 6) for k in members_of(plan, step, 12)]
    assert epoch == [k for step in range(3) for k in members_of(plan, step, 12)]
    assert epoch != [k for step in range(3) for k in members_of(replace(plan, seed=1), step, 12)]


@pytest.mark.parametrize("batch", [1, 5, 8])
def test_half_of_what_is_shown_is_new_and_all_images_take_their_turns(batch: int) -> None:
    from faultscape.uncertainty.training.loop import Task, members_of

    plan = CompletePlan(batch=batch)
    shown = [members_of(plan, step, 23, new=3) for step in range(240)]
    assert {len(one) for one in shown} == {batch}
    numbers = [number for one in shown for number in one]
    assert sum(number < 3 for number in numbers) == 240 * batch // 2
    times = [numbers.count(number) for number in range(23)]
    assert max(times[:3]) - min(times[:3]) <= 1
    assert max(times[3:]) - min(times[3:]) <= 1
    assert shown[100:] == [members_of(plan, step, 23, new=3) for step in range(100, 240)]
    assert Task(23, read, new=3).an_epoch == 6


def test_a_crop_keeps_pixels_and_labels_together() -> None:
    photo, labels = read(0)
    photo = (labels[..., None] * 80).repeat(3, 2).astype(np.uint8)
    for seed in range(20):
        seen, said = crop(photo, labels, replace(PLAN, scale=(1.0, 1.0)), np.random.default_rng(seed))
        assert seen.shape == (12, 16, 3)
        assert (seen[..., 0] == said * 80).all()
    seen, said = crop(
        photo, labels, replace(PLAN, crop=(64, 64), scale=(1.0, 1.0), flip=False), np.random.default_rng(0)
    )
    assert (said == IGNORED).sum() == 64 * 64 - labels.size


def test_void_and_withheld_pixels_never_change_the_loss(torch) -> None:
    from faultscape.uncertainty.heads.channels import Doubt

    logits, labels = torch.randn(2, CLASSES, 6, 6), torch.randint(0, CLASSES, (2, 6, 6))
    labels[:, :2], labels[:, 2:3] = IGNORED, OUTSIDE
    before = fs.uncertainty.loss(Doubt(logits), labels)
    changed = logits.clone()
    changed[:, :, :3] = 100 * torch.randn(2, CLASSES, 3, 6)
    assert torch.equal(fs.uncertainty.loss(Doubt(changed), labels), before)
    weights = torch.tensor([1.0, 0.0, 3.0])
    plain = torch.nn.functional.cross_entropy(logits, labels.masked_fill(labels == OUTSIDE, IGNORED), weights)
    torch.testing.assert_close(fs.uncertainty.loss(Doubt(logits), labels, weights), plain)


def test_losses_that_look_at_void_pixels_never_look_at_withheld_ones(torch) -> None:
    from faultscape.uncertainty.heads.channels import Doubt

    labels = torch.tensor([[[0, 1, OUTSIDE, IGNORED]]])
    logits = torch.randn(1, 4, 1, 4)
    as_class = labels.masked_fill(labels == OUTSIDE, 3)
    torch.testing.assert_close(
        fs.uncertainty.loss(Doubt(logits), labels, name="void-class"),
        torch.nn.functional.cross_entropy(logits, as_class),
    )
    known = torch.nn.functional.cross_entropy(logits[..., :2], labels[..., :2])
    even = -logits.log_softmax(1).mean(1)[0, 0, 2]
    torch.testing.assert_close(
        fs.uncertainty.loss(Doubt(logits), labels, name="entropy", outside_weight=0.5), known + 0.5 * even
    )
    with refused(OptionError, "loss 'focal' is not known; use ce, void-class, entropy"):
        fs.uncertainty.loss(Doubt(logits), labels, name="focal")


def test_the_loss_of_members_is_the_mean_of_theirs(torch) -> None:
    from faultscape.uncertainty.heads.channels import Doubt

    members, labels = torch.randn(2, 3, CLASSES, 4, 4), torch.randint(0, CLASSES, (2, 4, 4))
    each = [torch.nn.functional.cross_entropy(members[:, e], labels) for e in range(3)]
    torch.testing.assert_close(fs.uncertainty.loss(Doubt(None, members), labels), torch.stack(each).mean())


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ({"rate": 0}, "--rate is above 0; got 0"),
        ({"scale": (2.0, 1.0)}, "--scale is two factors"),
        ({"schedule": "step"}, "--schedule 'step' is not known"),
        ({"warm_up": -1}, "--warm-up is 0 or more"),
        ({"validate_every": math.nan}, "--validate-every is 0 or more; got nan"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(told: dict, why: str) -> None:
    with refused(OptionError, why):
        replace(PLAN, **told).check()


def test_what_is_not_finite_at_once_is_said_of_its_start_and_by_the_names_of_images(
    torch, tmp_path: Path
) -> None:
    net = network(torch)
    net.net[0].weight.data.fill_(math.nan)
    with refused(
        ModelError,
        r"the loss is nan at step 1 \(images photo-\d, .*\): training stopped; there is no checkpoint yet\."
        r" Check these images, and the weights that it starts from",
    ):
        next(steps_of(torch, tmp_path, net, called=lambda k: f"photo-{k}"))
