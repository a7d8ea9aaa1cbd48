"""MC dropout: members follow from the seed alone, and what lies below the lowest dropout layer runs once."""

from __future__ import annotations

import pytest

import faultscape as fs
from faultscape.errors import ModelError, OptionError

pytestmark = pytest.mark.usefixtures("no_gradients")


def convolutions(torch):
    """Return a network with a skip connection, which adds in place to what it took from below."""

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = torch.nn.Sequential(
                torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(inplace=True)
            )
            self.middle = torch.nn.Conv2d(8, 8, 3, padding=1)
            self.head = torch.nn.Conv2d(8, 4, 1)

        def forward(self, x):
            low = self.stem(x)
            high = self.middle(low)
            low += high
            return self.head(low)

    return Net().eval()


class Calls:
    """Count the calls of a module's own work."""

    def __init__(self, module) -> None:
        self.number, inner = 0, module.forward

        def counted(*inputs, **named):
            self.number += 1
            return inner(*inputs, **named)

        module.forward = counted


def test_every_member_is_the_network_run_with_that_members_masks(torch) -> None:
    net = convolutions(torch)
    made = fs.uncertainty.add_dropout(net, ["middle"], rate=0.5, samples=4).eval()
    x = torch.randn(2, 3, 6, 6)
    members = made(x).members
    for t in range(4):
        net.middle.dropout.member = t
        torch.testing.assert_close(members[:, t], net(x))
    assert len({float(members[0, t, 0, 0, 0]) for t in range(4)}) == 4


def test_what_lies_below_the_lowest_dropout_layer_runs_once_and_the_rest_once_a_member(torch) -> None:
    net = convolutions(torch)
    stem, head = Calls(net.stem), Calls(net.head)
    made = fs.uncertainty.add_dropout(net, ["middle"], samples=5).eval()
    made(torch.randn(1, 3, 6, 6))
    assert (stem.number, head.number) == (1, 5)
    made(torch.randn(1, 3, 6, 6))
    assert (stem.number, head.number) == (2, 10)  # what counts them is still in its place


def test_nothing_of_a_network_stays_changed_after_a_run(torch) -> None:
    net = convolutions(torch)
    made, x = fs.uncertainty.add_dropout(net, ["middle"], samples=3).eval(), torch.randn(1, 3, 6, 6)
    first = made(x).members
    made(torch.randn(1, 3, 8, 8))
    assert torch.equal(made(x).members, first)
    assert not any(
        "forward" in vars(module) or module._forward_hooks or module._forward_pre_hooks
        for module in made.modules()
    )


def test_a_layer_that_was_put_in_after_a_run_is_watched_too(torch) -> None:
    net = convolutions(torch)
    made, x = fs.uncertainty.add_dropout(net, ["middle"], samples=3).eval(), torch.randn(1, 3, 6, 6)
    made(x)
    net.stem = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 1), torch.nn.Tanh()).eval()
    stem = Calls(net.stem)
    members = made(x).members
    assert stem.number == 1
    net.middle.dropout.member = 2
    torch.testing.assert_close(members[:, 2], net(x))


def test_masks_are_the_same_for_every_image_and_follow_from_the_seed(torch) -> None:
    x = torch.randn(3, 3, 6, 6)
    state = convolutions(torch).state_dict()

    def members(seed: int, images):
        net = convolutions(torch)
        net.load_state_dict(state)
        return fs.uncertainty.add_dropout(net, ["middle"], rate=0.5, seed=seed).eval()(images).members

    torch.testing.assert_close(members(0, x)[1:2], members(0, x[1:2]))
    assert not torch.equal(members(0, x), members(1, x))


def test_in_training_it_is_dropout_as_ever_and_one_pass(torch) -> None:
    made = fs.uncertainty.add_dropout(convolutions(torch), ["middle"], rate=0.5).train()
    x = torch.randn(1, 3, 6, 6)
    assert made(x).members is None
    assert not torch.equal(made(x).logits, made(x).logits)


def test_members_of_a_head_are_members_of_every_pass(torch) -> None:
    net = fs.uncertainty.replace_head(convolutions(torch), "batch-ensemble+gp", features=32).eval()
    said = fs.uncertainty.add_dropout(net, ["net.middle"], samples=2).eval()(torch.randn(1, 3, 6, 6))
    assert said.members.shape == (1, 6, 4, 6, 6)
    assert said.variance.shape == (1, 6, 6)


def test_a_transformers_encoder_runs_once(torch) -> None:
    from transformers import SegformerConfig, SegformerForSemanticSegmentation

    small = SegformerConfig(
        hidden_sizes=[8, 8, 16, 16],
        depths=[1, 1, 1, 1],
        num_attention_heads=[1, 1, 2, 2],
        decoder_hidden_size=16,
        num_labels=7,
    )
    net = fs.uncertainty.replace_head(SegformerForSemanticSegmentation(small)).eval()
    calls, x = Calls(net.net.segformer.stages[0]), torch.randn(1, 3, 64, 96)
    before = net(pixel_values=x).logits
    made = fs.uncertainty.add_dropout(net, ["net.decode_head.dropout"], rate=1e-9, samples=3).eval()
    for _ in range(2):
        calls.number = 0
        members = made(pixel_values=x).members
        assert calls.number == 1  # also the second time: what counts stays in its place
    torch.testing.assert_close(members[:, 2], before, rtol=1e-4, atol=1e-6)


def test_a_layer_that_does_not_exist_names_the_near_ones(torch) -> None:
    with pytest.raises(ModelError, match=r"Net: has no layer 'midle'\. Did you mean 'middle'\?"):
        fs.uncertainty.add_dropout(convolutions(torch), ["midle"])
    with pytest.raises(OptionError, match="the dropout rate must be between 0 and 1; got 1"):
        fs.uncertainty.add_dropout(convolutions(torch), ["middle"], rate=1)


def test_passes_that_run_in_several_threads_do_not_mix(torch) -> None:
    from concurrent.futures import ThreadPoolExecutor

    made = fs.uncertainty.add_dropout(convolutions(torch), ["middle"], rate=0.5, samples=4).eval()
    inputs = [torch.randn(1, 3, 12, 12) for _ in range(8)]
    alone = [made(x).members for x in inputs]

    def run(x):
        with torch.inference_mode():
            return made(x).members

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(run, inputs))
    for one, other in zip(alone, together, strict=True):
        torch.testing.assert_close(one, other)


def test_a_layer_within_another_has_dropout_of_its_own_and_the_head_has_none(torch) -> None:
    made = fs.uncertainty.add_dropout(convolutions(torch), ["stem", "stem.0"], rate=0.5, samples=2).eval()
    seen = []
    for dropout in made._dropouts:
        dropout.register_forward_hook(lambda module, *_: seen.append(module.layer))
    made(torch.randn(1, 3, 6, 6))
    assert set(seen) == {"stem", "stem.0"}
    with pytest.raises(ModelError, match=r"'head' is the head itself; name a layer before it"):
        fs.uncertainty.add_dropout(fs.uncertainty.replace_head(convolutions(torch)), ["net.head"])
    inside = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 1), torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Conv2d(8, 4, 1))
    )
    with pytest.raises(ModelError, match=r"'1' contains the head, 1\.1; name a layer before it"):
        fs.uncertainty.add_dropout(fs.uncertainty.replace_head(inside), ["1"])
    with pytest.raises(
        ModelError,
        match=r"Net: has no layer 'midle'\. Did you mean 'middle'\? Its last layers are [^h]*middle$",
    ):
        fs.uncertainty.add_dropout(fs.uncertainty.replace_head(convolutions(torch)), ["midle"])
    made = fs.uncertainty.add_dropout(
        fs.uncertainty.replace_head(convolutions(torch)), ["middle"], samples=2
    ).eval()
    assert made(torch.randn(1, 3, 6, 6)).members.shape[1] == 2


def test_the_covariance_of_a_network_with_dropout_sees_each_image_once_and_whole(torch) -> None:
    images, precisions = torch.randn(2, 3, 6, 6), []
    for layers in ([], ["net.middle"]):
        torch.manual_seed(1)
        net = fs.uncertainty.replace_head(convolutions(torch), "gp", features=16)
        made = fs.uncertainty.add_dropout(net, layers, rate=0.5) if layers else net
        fs.uncertainty.fit_covariance(made, [images])
        precisions.append(net.head.precision.clone())
    torch.testing.assert_close(*precisions)


def test_what_stays_is_enlarged_so_that_the_mean_is_kept_and_layers_have_masks_of_their_own(torch) -> None:
    layers = [torch.nn.Identity(), torch.nn.Identity(), torch.nn.Conv2d(8, 4, 1)]
    made = fs.uncertainty.add_dropout(
        torch.nn.Sequential(*layers).eval(), ["0", "1"], rate=0.2, samples=2
    ).eval()
    first, second = (made.net[k].dropout for k in (0, 1))
    x = torch.ones(1, 8, 40, 40)
    values = first(x)
    assert sorted(values.unique().tolist()) == pytest.approx([0, 1.25])
    assert float((values > 0).float().mean()) == pytest.approx(0.8, abs=0.02)
    assert not torch.equal(values, second(x))
    first.train()
    torch.manual_seed(0)
    assert float((first(x) > 0).float().mean()) == pytest.approx(0.8, abs=0.02)


def test_the_variance_of_a_network_with_dropout_is_the_mean_of_its_members(torch) -> None:
    layers = torch.nn.Conv2d(3, 8, 1), torch.nn.ReLU(), torch.nn.Conv2d(8, 4, 1)
    net = fs.uncertainty.replace_head(torch.nn.Sequential(*layers), "gp", features=32)
    made = fs.uncertainty.add_dropout(net, ["net.1"], rate=0.5, samples=3).eval()
    x, each = torch.randn(1, 3, 6, 6), []
    for member in range(3):
        made.net.net[1].dropout.member = member
        each.append(made.net(x).variance)
    torch.testing.assert_close(made(x).variance, torch.stack(each).mean(0))
