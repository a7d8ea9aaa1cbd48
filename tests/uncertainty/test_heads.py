"""Heads: the laws that tie each of them to a plain linear layer, and the numbers of the papers."""

from __future__ import annotations

import math

import numpy as np
import pytest

import faultscape as fs
from faultscape.errors import ModelError, OptionError
from faultscape.uncertainty.catalogue import HEADS, head_named

pytestmark = pytest.mark.usefixtures("no_gradients")

WIDTH, CLASSES = 16, 5


@pytest.fixture
def net(torch):
    layers = torch.nn.Conv2d(3, WIDTH, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(WIDTH, CLASSES, 1)
    return torch.nn.Sequential(*layers).eval()


def heads_of(_torch, name: str, **options):
    return head_named(name).build(WIDTH, CLASSES, None, 0, **{**head_named(name).options, **options}).eval()


def two_moons(count: int = 500) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    angle = rng.random(count) * math.pi
    upper = np.stack([np.cos(angle), np.sin(angle)], 1)
    lower = np.stack([1 - np.cos(angle), 0.5 - np.sin(angle)], 1)
    points = np.concatenate([upper, lower]) + rng.normal(0, 0.1, (2 * count, 2))
    return points.astype(np.float32), np.repeat([0, 1], count)


def test_a_linear_head_gives_the_models_own_numbers(torch, net) -> None:
    images = torch.randn(2, 3, 6, 8)
    before = net(images)
    assert torch.equal(fs.uncertainty.replace_head(net, "linear")(images).logits, before)


@pytest.mark.parametrize("place", ["linear", "convolution"])
def test_one_member_is_the_linear_layer(torch, net, place: str) -> None:
    if place == "linear":
        net, images = (
            torch.nn.Sequential(torch.nn.Linear(3, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, CLASSES)),
            torch.randn(7, 3),
        )
    else:
        images = torch.randn(2, 3, 6, 8)
    before = net(images)
    said = fs.uncertainty.replace_head(net, "batch-ensemble", members=1)(images)
    torch.testing.assert_close(said.members[:, 0], before, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(said.logits.exp(), before.softmax(1), rtol=1e-5, atol=1e-6)


def test_members_share_one_weight(torch) -> None:
    head = heads_of(torch, "batch-ensemble")
    assert [tuple(p.shape) for name, p in head.named_parameters() if name == "weight"] == [(CLASSES, WIDTH)]


def test_fast_weights_start_normal_around_one_as_the_paper_says() -> None:
    alpha = head_named("batch-ensemble").build(4000, 2, None, 0, members=5, spread=0.5).alpha.detach()
    assert abs(float(alpha.mean()) - 1) < 0.02
    assert abs(float(alpha.std()) - 0.5) < 0.02


def test_the_layer_within_a_network_is_the_head_of_each_members_part(torch) -> None:
    from faultscape.uncertainty.heads.batch_ensemble import BatchEnsembleLinear

    layer = torch.nn.Linear(WIDTH, CLASSES)
    made = BatchEnsembleLinear(layer, 3)
    x = torch.randn(2, 7, WIDTH)
    held = made(x.repeat(3, 1, 1)).reshape(3, 2, 7, CLASSES)
    for e in range(3):
        torch.testing.assert_close(
            held[e], ((x * made.alpha[e]) @ layer.weight.T) * made.gamma[e] + made.bias[e]
        )


def test_noise_is_drawn_anew_in_training_and_is_that_of_the_seed_in_use(torch) -> None:
    head, x = heads_of(torch, "heteroscedastic", samples=30), torch.randn(7, WIDTH)
    assert torch.equal(head(x), head(x))
    head.train()
    first, second = head(x), head(x)
    assert not torch.equal(first, second)
    torch.testing.assert_close(first.exp().sum(1), torch.ones(7))
    shared = heads_of(torch, "heteroscedastic", samples=30, shared_noise=True).train()
    assert [tuple(noise.shape) for noise in shared._noise()] == [(30, 5), (30, 1)]


@pytest.mark.parametrize(("scaled", "prior"), [(True, 1.0), (False, 512.0)])
def test_the_prior_variance_is_one_and_the_authors_half_the_number_of_features(
    torch, scaled: bool, prior: float
) -> None:
    head = heads_of(torch, "gp", scaled=scaled)
    variance = head(torch.randn(200, WIDTH))[:, -1]
    assert abs(float(variance.mean()) / prior - 1) < 0.01
    assert float((variance / prior - 1).abs().max()) < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(4000,), (4, 1000), (4, 20, 50)])
def test_with_the_authors_momentum_the_mean_variance_of_what_was_seen_is_the_number_of_features(
    torch, shape: tuple
) -> None:
    """seed-facts S3: the ridge decays, so that P becomes the mean of phi phi^T over cells, and phi^T P^-1 phi
    its rank.
    """
    head = heads_of(torch, "gp", features=64, scaled=False, momentum=0.9)
    head.train()
    seen = torch.randn(*shape, WIDTH)
    for _ in range(300):
        head(seen)
    head.eval()
    assert abs(float(head(seen)[..., -1].mean()) / 64 - 1) < 0.05


def test_without_variance_the_gaussian_process_is_linear_in_its_random_features(torch) -> None:
    head = heads_of(torch, "gp")
    head.root.zero_()
    x = torch.randn(9, WIDTH)
    held = head(x)
    torch.testing.assert_close(held[:, :CLASSES], head.random_features(x) @ head.beta.T + head.bias[0])
    assert float(held[:, -1].abs().max()) == 0
    head.train()
    torch.testing.assert_close(head(x), held[:, :CLASSES])


def test_the_covariance_is_a_sum_that_forgets_what_was_there_and_does_not_depend_on_batches(torch) -> None:
    head, x = heads_of(torch, "gp", features=32), torch.randn(100, WIDTH)
    fs.uncertainty.fit_covariance(head, [x])
    once = head.precision.clone()
    fs.uncertainty.fit_covariance(head, [x[:1], x[1:40], x[40:]])
    torch.testing.assert_close(head.precision, once, rtol=1e-6, atol=1e-6)
    head.reset_precision()
    assert torch.equal(head.precision[0], torch.eye(32, dtype=torch.float64))


def test_far_from_two_moons_the_variance_is_at_least_ten_times_that_among_them(torch) -> None:
    points, _ = two_moons()
    head = head_named("gp").build(2, 2, None, 0, normalised=False).eval()
    fs.uncertainty.fit_covariance(head, [torch.from_numpy(points)])
    among = head(torch.from_numpy(points))[:, -1]
    angle = torch.arange(64) / 64 * 2 * math.pi
    far = head(torch.stack([0.5 + 6 * torch.cos(angle), 0.25 + 6 * torch.sin(angle)], 1))[:, -1]
    assert float(far.min()) >= 10 * float(among.mean())


def test_members_that_are_drawn_have_the_mean_and_the_variance_of_the_posterior(torch) -> None:
    head = heads_of(torch, "gp", features=64, ridge=0.7)
    seen, x = torch.randn(30, WIDTH), torch.randn(5, WIDTH)
    fs.uncertainty.fit_covariance(head, [seen])
    head.draws = 4000
    held = head(x)
    drawn = held[:, CLASSES:-1].reshape(5, 4000, CLASSES)
    raw = head.random_features(x) @ head.beta.T + head.bias[0]
    torch.testing.assert_close(drawn.mean(1), raw, rtol=0, atol=0.06)
    torch.testing.assert_close(drawn.var(1).mean(1) / held[:, -1], torch.ones(5), rtol=0, atol=0.05)


def test_without_noise_the_heteroscedastic_head_is_the_softmax_of_its_location(torch) -> None:
    from faultscape.uncertainty.heads.heteroscedastic import mean_softmax

    location, noise = torch.randn(7, CLASSES), torch.randn(50, CLASSES)
    held = mean_softmax(
        location, torch.zeros(7, CLASSES, 2), torch.zeros(7, CLASSES), noise[:, :2], noise, temperature=0.5
    )
    torch.testing.assert_close(held.exp(), (location / 0.5).softmax(1), rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize(
    ("shared", "expected"), [(False, (0.550, 0.299, 0.151)), (True, (0.665, 0.245, 0.090))]
)
def test_independent_noise_and_the_authors_shared_noise_are_those_of_the_reference(
    torch, shared: bool, expected: tuple[float, ...]
) -> None:
    from faultscape.uncertainty.heads.heteroscedastic import mean_softmax

    noise = torch.randn(400_000, 1 if shared else 3, generator=torch.Generator().manual_seed(0))
    held = mean_softmax(
        torch.tensor([[2.0, 1.0, 0.0]]),
        torch.zeros(1, 3, 1),
        torch.full((1, 3), 1.5),
        torch.zeros(400_000, 1),
        noise,
    )
    np.testing.assert_allclose(held.exp()[0].numpy(), expected, atol=1.5e-3)


def test_blocks_change_nothing_of_the_heteroscedastic_head_in_training_or_use(
    torch, monkeypatch: pytest.MonkeyPatch
) -> None:
    from faultscape.uncertainty.heads import heteroscedastic

    torch.set_grad_enabled(True)
    head, x = heads_of(torch, "heteroscedastic", samples=50), torch.randn(3, 11, WIDTH)
    results = []
    for at_once in (1 << 22, 50 * CLASSES * 4):
        monkeypatch.setattr(heteroscedastic, "_AT_ONCE", at_once)
        used = head.eval()(x)
        head.train().zero_grad()
        torch.manual_seed(1)  # training draws anew
        head(x).square().sum().backward()
        results.append((used, head.factor.grad.clone()))
    torch.testing.assert_close(results[0], results[1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", HEADS, ids=lambda kind: kind.name)
def test_every_head_says_which_channels_it_gives_and_can_be_trained(torch, net, kind) -> None:
    torch.set_grad_enabled(True)
    net = fs.uncertainty.replace_head(
        net, kind.name, classes=4, **({"samples": 20} if "samples" in kind.options else {})
    )
    images = torch.randn(2, 3, 6, 8)
    said = net.train()(images)
    assert said.logits.shape == (2, 4, 6, 8)
    assert said.variance is None
    fs.uncertainty.loss(said, torch.zeros(2, 6, 8, dtype=torch.long)).backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name
    net.head.draws = 3
    said = net.eval()(images)
    assert said.logits.shape == (2, 4, 6, 8)
    assert (said.members is None) == (kind.name == "linear")
    assert (said.variance is None) == (not kind.name.endswith("gp"))
    assert torch.isfinite(said.logits).all()


@pytest.mark.parametrize("kind", HEADS, ids=lambda kind: kind.name)
def test_a_head_says_of_an_image_the_same_in_any_batch(torch, net, kind) -> None:
    net = fs.uncertainty.replace_head(net, kind.name).eval()
    net.head.draws = 2
    images = torch.randn(3, 3, 6, 8)
    together, alone = net(images), net(images[1:2])
    torch.testing.assert_close(together.logits[1:2], alone.logits, rtol=1e-5, atol=1e-5)
    if together.members is not None:
        torch.testing.assert_close(together.members[1:2], alone.members, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "kind", [kind for kind in HEADS if "features" not in kind.options], ids=lambda kind: kind.name
)
def test_a_head_starts_from_the_layer_that_it_takes_the_place_of(torch, net, kind) -> None:
    weight = net[2].weight.detach()[:, :, 0, 0].clone()
    made = fs.uncertainty.replace_head(net, kind.name)
    torch.testing.assert_close(made.head.start()[0].detach(), weight)
    again = fs.uncertainty.replace_head(made, "heteroscedastic", samples=10)
    torch.testing.assert_close(again.head.location.detach(), weight)


def test_the_layer_of_a_transformers_network_is_found_and_its_forward_is_its_own(torch) -> None:
    from transformers import SegformerConfig, SegformerForSemanticSegmentation

    small = SegformerConfig(
        hidden_sizes=[8, 8, 16, 16],
        depths=[1, 1, 1, 1],
        num_attention_heads=[1, 1, 2, 2],
        decoder_hidden_size=16,
        num_labels=7,
    )
    net = SegformerForSemanticSegmentation(small).eval()
    images = torch.randn(1, 3, 64, 96)
    before = net(pixel_values=images).logits
    made = fs.uncertainty.replace_head(net)
    assert made.layer == "decode_head.classifier"
    assert torch.equal(made(pixel_values=images).logits, before)
    assert fs.uncertainty.replace_head(made, "gp", classes=3).eval()(pixel_values=images).variance.shape == (
        1,
        16,
        24,
    )


def test_auxiliary_heads_are_not_the_last_layer(torch) -> None:
    net = torch.nn.ModuleDict(
        {"classifier": torch.nn.Conv2d(8, 3, 1), "aux_classifier": torch.nn.Conv2d(8, 3, 1)}
    )
    assert fs.uncertainty.last_layer(net)[0] == "classifier"


def test_what_cannot_be_replaced_is_said(torch, net) -> None:
    with pytest.raises(
        ModelError,
        match=(
            r"Sequential: has no linear layer or 1x1 convolution as a classifier; its last layers are 0 \(ReLU\)"
        ),
    ):
        fs.uncertainty.replace_head(torch.nn.Sequential(torch.nn.ReLU()), "gp")
    with pytest.raises(ModelError, match=r"has no layer '3'\. Replaceable layers: 2"):
        fs.uncertainty.replace_head(net, "gp", layer="3")
    with pytest.raises(
        ModelError, match="layer '0' is Conv2d; only linear layers and 1x1 convolutions can be replaced"
    ):
        fs.uncertainty.replace_head(net, "gp", layer="0")
    with pytest.raises(OptionError, match=r"head 'gpp' is not known; use linear, .* Did you mean 'gp'\?"):
        fs.uncertainty.replace_head(net, "gpp")
    with pytest.raises(
        OptionError, match="head batch-ensemble has no option 'member'; it has members, fast_start, spread"
    ):
        fs.uncertainty.replace_head(net, "batch-ensemble", member=3)
    with pytest.raises(ModelError, match="no linear layer or 1x1 convolution as a classifier"):
        # its border is another
        fs.uncertainty.replace_head(torch.nn.Sequential(torch.nn.Conv2d(3, 2, 1, padding=1)), "gp")
    with pytest.raises(OptionError, match="classes must be a whole number, 1 or more; got 0"):
        fs.uncertainty.replace_head(net, "gp", classes=0)
    with pytest.raises(ModelError, match="expected a torch module; got str"):
        fs.uncertainty.replace_head("net", "gp")
    with pytest.raises(OptionError, match=r"layers is a list of names; got '0'"):
        fs.uncertainty.add_dropout(net, "0")
    with pytest.raises(ModelError, match="batches is a list of batches; got one tensor"):
        fs.uncertainty.fit_covariance(
            fs.uncertainty.replace_head(net, "gp", features=8), torch.zeros(1, 3, 4, 4)
        )
    with pytest.raises(ModelError, match="is a single layer"):
        fs.uncertainty.replace_head(torch.nn.Linear(3, 2), "gp")


@pytest.mark.parametrize("kind", HEADS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("precision", ["float64", "bfloat16"])
def test_a_head_fits_a_network_of_another_precision(torch, net, kind, precision: str) -> None:
    net, images = net.to(getattr(torch, precision)), torch.randn(1, 3, 6, 8)
    before = net(images.to(getattr(torch, precision)))
    made = fs.uncertainty.replace_head(
        net, kind.name, **({"samples": 20} if "samples" in kind.options else {})
    ).eval()
    said = made(images.to(getattr(torch, precision)))
    assert torch.isfinite(said.logits).all()
    if kind.name == "linear":
        torch.testing.assert_close(said.logits, before)
        assert said.logits.dtype == before.dtype
    if kind.name == "gp":
        assert made.head.precision.dtype == torch.float64


def test_a_head_does_not_go_into_a_network_that_has_dropout_already(net) -> None:
    made = fs.uncertainty.add_dropout(net, ["1"])
    with pytest.raises(
        ModelError,
        match="has MC dropout already; replace its head first, then call add_dropout on the result",
    ):
        fs.uncertainty.replace_head(made, "gp")


def test_blocks_of_rows_change_nothing_of_the_gaussian_process(
    torch, monkeypatch: pytest.MonkeyPatch
) -> None:
    from faultscape.uncertainty.heads import gaussian_process

    head, seen, x = heads_of(torch, "gp", features=32), torch.randn(50, WIDTH), torch.randn(3, 9, WIDTH)
    held = []
    for rows in (1 << 14, 7):
        monkeypatch.setattr(gaussian_process, "_ROWS", rows)
        fs.uncertainty.fit_covariance(head, [seen])
        held.append(head(x))
    torch.testing.assert_close(*held, rtol=1e-4, atol=1e-5)


def test_the_covariance_is_summed_of_a_loader_and_stays_where_that_fails(torch, net) -> None:
    made = fs.uncertainty.replace_head(net, "gp", features=16)
    images, counted = torch.randn(4, 3, 6, 8), torch.rand(4, 6, 8) < 0.5
    fs.uncertainty.fit_covariance(made, [(images, counted)])
    once = made.head.precision.clone()
    data = torch.utils.data.TensorDataset(images, counted)
    fs.uncertainty.fit_covariance(made, torch.utils.data.DataLoader(data, batch_size=2))
    torch.testing.assert_close(made.head.precision, once)
    with pytest.raises(
        ModelError,
        match=r"counted is true where a pixel has a label that counts; got torch\.int64: give labels >= 0",
    ):
        fs.uncertainty.fit_covariance(made, [(images, torch.zeros(4, 6, 8, dtype=torch.long))])
    with pytest.raises(ModelError, match="no batches given"):
        fs.uncertainty.fit_covariance(made, [])
    with pytest.raises(
        ModelError, match=r"the network does not take images of shape \(1, 5, 6, 8\) and type"
    ):
        fs.uncertainty.fit_covariance(made, [images, torch.zeros(1, 5, 6, 8)])
    torch.testing.assert_close(made.head.precision, once)
    assert not made.head.gathering


def test_a_layer_that_the_output_does_not_come_from_is_found_out(torch) -> None:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used, self.idle = torch.nn.Conv2d(3, 4, 1), torch.nn.Conv2d(3, 4, 1)

        def forward(self, x):
            return self.used(x)

    with pytest.raises(ModelError, match="the replaced layer is not the one that produces the output"):
        fs.uncertainty.replace_head(Net(), "batch-ensemble")(torch.zeros(1, 3, 4, 4))


@pytest.mark.parametrize(
    ("head", "told", "why"),
    [
        (
            "batch-ensemble",
            {"members": 0},
            "head batch-ensemble: members is a whole number, 1 or more; got 0",
        ),
        ("gp", {"ridge": 0}, "head gp: ridge is above 0; got 0"),
        ("gp", {"momentum": 1.0}, "head gp: momentum is from 0 to below 1; got 1.0"),
        (
            "heteroscedastic",
            {"temperature": float("nan")},
            "head heteroscedastic: temperature is above 0; got nan",
        ),
        ("gp", {"scaled": "no"}, "head gp: scaled is true or false; got 'no'"),
        (
            "heteroscedastic",
            {"shared_noise": "false"},
            "head heteroscedastic: shared_noise is true or false; got 'false'",
        ),
        (
            "batch-ensemble",
            {"fast_start": "ones"},
            "head batch-ensemble: fast_start is normal or signs; got 'ones'",
        ),
    ],
)
def test_a_value_that_a_head_cannot_have_is_refused(net, head: str, told: dict, why: str) -> None:
    with pytest.raises(OptionError, match=why):
        fs.uncertainty.replace_head(net, head, **told)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.usefixtures("torch")
def test_new_weights_start_as_the_decoder_or_as_the_authors_start_these_two_heads(wide: bool) -> None:
    """Truncated at two deviations: of variance .02 / D before it, or 1 / D after it (lecun_normal)."""
    wanted = 1.0 if wide else 0.02**0.5 * 0.8796
    made = [
        head_named(name).build(400, 50, None, 0, **{**head_named(name).options, "wide_start": wide})
        for name in ("gp", "batch-ensemble+gp", "heteroscedastic")
    ]
    weights = [made[0].weight, made[1].weight, made[2].location, made[2].factor, made[2].scale]
    for weight in weights:
        assert float(weight.std()) * weight.shape[1] ** 0.5 == pytest.approx(wanted, rel=0.02)
        assert float(weight.abs().max()) < 2.3 * wanted / weight.shape[1] ** 0.5


@pytest.mark.parametrize("name", ["gp", "heteroscedastic", "batch-ensemble+gp"])
def test_variances_and_draws_are_made_in_whole_precision(torch, name: str) -> None:
    head, x = heads_of(torch, name), torch.randn(7, WIDTH).bfloat16()
    with torch.autocast("cpu", torch.bfloat16):
        mixed = head(x)
    assert mixed.dtype == torch.float32
    torch.testing.assert_close(mixed, head(x.float()))


def test_a_precision_that_training_left_singular_is_still_taken_into_use(torch) -> None:
    head = heads_of(torch, "gp", features=128, momentum=0.5)
    head.train()
    plane = torch.randn(500, 2) @ torch.randn(2, WIDTH)
    for _ in range(200):
        head(plane)
    assert torch.isfinite(head.eval()(plane)).all()
    head.precision.fill_(float("nan"))
    with pytest.raises(
        ModelError,
        match="the precision matrix of the Gaussian process is not finite or not positive definite",
    ):
        head.invert_precision()


def test_a_head_draws_no_more_members_than_it_has_samples(torch, net) -> None:
    made = fs.uncertainty.replace_head(net, "heteroscedastic", samples=4).eval()
    made.head.draws = 8
    assert made(torch.randn(1, 3, 6, 8)).members.shape[1] == 4
