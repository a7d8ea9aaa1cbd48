"""Streams of random numbers: the same whoever draws them, in whatever order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultscape.errors import OptionError
from faultscape.stressors.kernels.streams import word_at
from faultscape.stressors.streams import Stream, stream_start, words_at


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**40))
def test_kernels_arrays_and_single_draws_have_the_same_bits(start: int, first: int) -> None:
    expected = [int(word) for word in words_at(start, 3, first)]
    assert [int(word_at(np.uint64(start), np.uint64(first + k))) for k in range(3)] == expected


def test_a_stream_draws_the_bits_of_its_start() -> None:
    stream = Stream(3, "key", "fog", 2)
    assert [stream.bits() for _ in range(4)] == words_at(stream_start(3, "key", "fog", 2), 4).tolist()


def test_the_first_numbers_of_a_stream_are_these_on_every_machine() -> None:
    stream = Stream(0, "a", "fog", 3)
    # SplitMix64 of the seed 0, as published
    assert words_at(0, 2).tolist() == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4]
    assert stream.start == 0x247D12721206FD8
    assert [stream.uniform(), stream.normal(), stream.integer(10)] == [
        0.08036577927768351,
        -1.5596411228179932,
        7,
    ]


def test_other_seeds_keys_and_words_begin_other_streams_wherever_words_are_cut() -> None:
    starts = [
        stream_start(*of)
        for of in [(0, "a", "b"), (1, "a", "b"), (0, "ab"), (0, "a", "b", ""), (0, "", "ab"), (0, "b", "a")]
    ]
    assert len(set(starts)) == len(starts)


@pytest.mark.parametrize("seed", [1.0, True, None, "1"])
def test_a_seed_that_is_no_whole_number_is_refused_since_it_would_begin_another_stream(seed: object) -> None:
    assert stream_start(np.int64(1), "a") == stream_start(1, "a")
    with pytest.raises(OptionError, match=f"^seed {seed!r}: expected a whole number$"):
        stream_start(seed, "a")


def test_normal_numbers_are_normal() -> None:
    stream = Stream(0, "", "normal")
    drawn = np.array([stream.normal() for _ in range(4000)])
    assert drawn.mean() == pytest.approx(0, abs=0.05)
    assert drawn.std() == pytest.approx(1, abs=0.05)
