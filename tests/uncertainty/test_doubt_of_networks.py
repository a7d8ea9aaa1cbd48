"""Networks that say their doubt: members and variances on their way through windows, views, ensembles and
scorers, of torch modules and of ONNX files alike.
"""

from __future__ import annotations

import numpy as np
import pytest

from faultscape.errors import OptionError
from faultscape.maps.winners import enlarged
from faultscape.metrics.pixel_facts import facts_of, facts_of_members
from faultscape.prediction.inference import Inference, Way
from faultscape.prediction.keep import Keep, doubt_folder
from faultscape.prediction.sources.ensembles import Ensemble
from faultscape.prediction.sources.network import Answer, Network

CLASSES, SIZE = 3, (12, 8)


class Made(Network):
    """A network whose answers follow from the mean colour of each 2x2 block, so that windows and whole
    pictures agree.
    """

    batch, class_names, channels = 2, [], CLASSES

    def __init__(self, *, own: bool, members: int, variance: bool, name: str = "made") -> None:
        self.own, self.members, self.variance, self.name = own, members, variance, name

    def prepare(self, photo, *_):
        return np.ascontiguousarray(photo.transpose(2, 0, 1), np.float32) / 255

    def run(self, block, _layers=()):
        return [self._of(picture) for picture in block]

    def _of(self, picture):
        small = picture.reshape(3, picture.shape[1] // 2, 2, -1, 2).mean((2, 4))
        members = tuple((small * (1 + t)).astype(np.float32) for t in range(self.members))
        return Answer(
            small if self.own else None, members=members, variance=small[0] + 0.5 if self.variance else None
        )


def photo() -> np.ndarray:
    blocks = np.random.default_rng(0).integers(0, 256, (SIZE[1] // 2, SIZE[0] // 2, 3), dtype=np.uint8)
    return blocks.repeat(2, axis=0).repeat(2, axis=1)


def kept(network, way=None, **keep):
    (output,) = Inference(network, way, Keep(**keep)).predict([photo()], [SIZE])
    assert not output.problem, output.problem
    return output


SCORERS = ("msp", "predictive-entropy", "expected-entropy", "mutual-information")


def test_members_in_place_of_logits_are_averaged_as_probabilities_after_up_sampling() -> None:
    network = Made(own=False, members=3, variance=False)
    facts = facts_of_members(network._of(network.prepare(photo(), SIZE, None)).members, SIZE)
    output = kept(network, scorers=SCORERS, confidence=True, probabilities=0)
    assert np.array_equal(output.labels, facts.labels)
    for name, values in zip(
        SCORERS, (facts.others, facts.entropy, facts.expected, facts.information), strict=True
    ):
        np.testing.assert_allclose(output.kept[doubt_folder(name)][0], values, rtol=1e-6)
    assert np.array_equal(output.kept["probabilities"][0].argmax(0), output.labels)


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("members", [2, 3])
def test_the_correction_knows_how_many_members_a_network_has(own: bool, members: int) -> None:
    network = Made(own=own, members=members, variance=False)
    names = ("mutual-information", "mutual-information-corrected")
    output = kept(network, scorers=names)
    plain, corrected = (output.kept[doubt_folder(name)][0] for name in names)
    np.testing.assert_allclose(corrected, plain * members / (members - 1), rtol=1e-6)


def test_members_beside_logits_say_how_they_differ_and_change_no_label() -> None:
    network = Made(own=True, members=3, variance=False)
    answer = network._of(network.prepare(photo(), SIZE, None))
    output = kept(network, scorers=SCORERS)
    np.testing.assert_allclose(
        output.kept[doubt_folder("msp")][0], facts_of(answer.scores, SIZE).others, rtol=1e-6
    )
    np.testing.assert_allclose(
        output.kept[doubt_folder("mutual-information")][0],
        facts_of_members(answer.members, SIZE).information,
        rtol=1e-6,
    )
    assert np.array_equal(output.labels, kept(Made(own=True, members=0, variance=False)).labels)


def test_the_variance_is_a_scorer_and_is_large_where_the_network_says_so() -> None:
    output = kept(Made(own=True, members=0, variance=True), scorers=("variance",))
    score = output.kept[doubt_folder("variance")][0]
    network = Made(own=True, members=0, variance=True)
    expected = enlarged(network._of(network.prepare(photo(), SIZE, None)).variance[None], SIZE)[0]
    np.testing.assert_allclose(np.exp(score), expected, rtol=1e-6)


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize(
    "way",
    [Way(window=(6, 8)), Way(window=(6, 4), stride=(4, 4)), Way(flip=True)],
    ids=["window", "stride", "flip"],
)
def test_windows_and_views_average_each_member_and_the_variance_by_themselves(way: Way, own: bool) -> None:
    network = Made(own=own, members=2, variance=True)
    whole, merged = (
        kept(network, scorers=(*SCORERS, "variance")),
        kept(network, way, scorers=(*SCORERS, "variance")),
    )
    if way.flip:  # of what is the same mirrored nothing changes
        assert np.array_equal(merged.labels, whole.labels)
        for word in (*SCORERS, "variance"):
            np.testing.assert_allclose(
                merged.kept[doubt_folder(word)][0], whole.kept[doubt_folder(word)][0], rtol=1e-3, atol=1e-5
            )
    inference = Inference(network, way, Keep(scorers=SCORERS))
    (answer,) = inference.run([inference.prepare(photo(), SIZE)])
    assert len(answer.members) == 2
    np.testing.assert_allclose(answer.members[1], 2 * answer.members[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(answer.variance, answer.members[0][0] + 0.5, rtol=1e-5, atol=1e-5)
    if own:
        np.testing.assert_allclose(answer.scores, answer.members[0], rtol=1e-5, atol=1e-6)


def test_labels_are_the_same_whether_or_not_a_scorer_asks_for_members() -> None:
    for own in (True, False):
        network = Made(own=own, members=3, variance=False)
        way = Way(flip=True, scales=(1.0, 0.5))
        assert np.array_equal(kept(network, way).labels, kept(network, way, scorers=SCORERS).labels)


def test_an_ensemble_of_networks_with_members_has_the_members_of_all() -> None:
    one, other = (
        Made(own=False, members=2, variance=True),
        Made(own=False, members=2, variance=True, name="other"),
    )
    ensemble = Ensemble("ensemble:a,b", [Inference(one), Inference(other)], Keep(scorers=SCORERS))
    (output,) = ensemble.predict([photo()], [SIZE])
    np.testing.assert_allclose(
        output.kept[doubt_folder("mutual-information")][0],
        kept(one, scorers=SCORERS).kept[doubt_folder("mutual-information")][0],
        rtol=1e-4,
        atol=1e-6,
    )
    fewer = Ensemble(
        "ensemble:a,b", [Inference(one), Inference(Made(own=True, members=0, variance=False))], Keep()
    )
    (output,) = fewer.predict([photo()], [SIZE])
    assert (
        output.problem
        == "ensemble:a,b: its members have 2, 1 members of their own; an ensemble needs networks with equally many"
    )


def test_what_a_network_does_not_give_is_said_before_anything_is_scored() -> None:
    (output,) = Inference(
        Made(own=True, members=0, variance=False), None, Keep(scorers=("variance",))
    ).predict([photo()], [SIZE])
    assert (
        "--scorer variance needs the variance of logits (a network with the head gp), which this model does"
        " not provide" in output.problem
    )
    (output,) = Inference(Made(own=False, members=2, variance=False), None, Keep(logits=True)).predict(
        [photo()], [SIZE]
    )
    assert "has no logits to keep" in output.problem
    with pytest.raises(OptionError):
        Inference(Made(own=True, members=0, variance=False), Way(flip=True), Keep(embeddings=("x",)))


@pytest.mark.parametrize("temperature", [(2.0,), (0.5, 2.0, 4.0)], ids=["one", "per-class"])
def test_a_temperature_divides_scores_and_those_of_members(temperature: tuple[float, ...]) -> None:
    network = Made(own=True, members=2, variance=False)
    held = network._of(network.prepare(photo(), SIZE, None))
    inference = Inference(network, None, Keep(scorers=SCORERS), temperature)
    (answer,) = inference.run([inference.prepare(photo(), SIZE)])
    by = np.array(temperature)[:, None, None]
    np.testing.assert_allclose(answer.scores, held.scores / by, rtol=1e-6)
    for member, before in zip(answer.members, held.members, strict=True):
        np.testing.assert_allclose(member, before / by, rtol=1e-6)
    (output,) = Inference(network, None, Keep(), (1.0, 2.0)).predict([photo()], [SIZE])
    assert output.problem == "made: has temperatures for 2 classes but 3 channels; fit it again"
