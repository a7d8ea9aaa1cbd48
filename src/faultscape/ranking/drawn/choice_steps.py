"""Which of people's choices count beside the masks of drawn images.

Conventions: ``Votes`` are {(image, model, other): {person: vote}}, 1 for the model, 0 for the other, between
them for neither or a changed mind, NaN for a skip; each image and pair is there once, in either order.
Choices are a control variate only if people were asked alike about images with masks and without, so that

- of each pair of models they count on the first draws, up to the last with an answer; at most one draw in
  twenty may lack one (it counts as "neither"), and images that duels chose do not lengthen that beginning;
- they go beyond the images with masks, of which enough have some;
- a person's choices count if some of them are on images with masks: otherwise nobody knows how closely this
  person follows the metric.

Source: ours; the least number of masks: docs/benchmarks/plan.md.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from statistics import fmean
from typing import TypeAlias

import numpy as np

from faultscape.errors import counted as counted_words
from faultscape.ranking.drawn.choice_control import Preferences
from faultscape.ranking.drawn.steps import Steps
from faultscape.standings import SKIPPED

Votes: TypeAlias = Mapping[tuple[str, str, str], Mapping[str, float]]

LEAST_MASKS = 10  # images with masks and choices
BESIDE = "beside masks"  # the words by which notes on choices are known


@dataclass(frozen=True, eq=False)
class ChoiceSteps:
    """The choices that count on the draws, in their order: ``preferences``, None for none; how many votes and
    on how many images, with masks and in all; and why some choices do not count.
    """

    preferences: Preferences | None = None
    votes: int = 0
    images: int = 0
    with_masks: int = 0
    note: str = ""


def choice_steps(
    counted: Steps,
    models: Sequence[str],
    votes: Votes,
    *,
    weights: Mapping[str, float] | None = None,
    elsewhere: Collection[str] = (),
) -> ChoiceSteps:
    """Return the choices that count beside the draws with masks that do (``counted``); ``weights`` are those
    of people, 1 by default, ``elsewhere`` the images that other selections chose for what models predict.

    >>> masks = np.arange(15)
    >>> counted = Steps(masks, np.zeros(15), 90, frozenset(), (), order=tuple(map(str, range(40))))
    >>> votes = {(str(k), "unet", "fcn"): {"ann": k % 2.0} for k in range(30)}
    >>> found = choice_steps(counted, ["fcn", "unet"], votes)
    >>> found.preferences.pairs.tolist(), found.preferences.asked.tolist(), found.with_masks
    ([[0, 1]], [30], 15)
    >>> choice_steps(counted, ["fcn", "unet"], {key: votes[key] for key in [*votes][:15]}).note
    '15 choices between two models do not count beside masks: they are on no more images than the masks'
    """
    number = len(counted.columns)
    said = _by_pair(counted.order, models, votes)
    every = sum(not isnan(vote) for pair in said.values() for own in pair.values() for vote in own.values())
    if not every:
        return ChoiceSteps()
    known = {person for pair in said.values() for k, own in pair.items() if k < number for person in own}
    own_draws = np.array([image not in elsewhere for image in counted.order])
    rows = list[_Asked]()
    why = ""
    for pair, by_draw in sorted(said.items()):
        found = _asked(pair, by_draw, known, own_draws, weights)
        with_masks = int((found.voices[:number] > 0).sum())
        if found.draws > number and with_masks >= LEAST_MASKS:
            rows.append(found)
        elif max(by_draw) < number:
            why = why or "they are on no more images than the masks"
        elif found.draws > number:
            why = why or f"{with_masks} images have both, and it takes {LEAST_MASKS}"
    if not rows:
        return ChoiceSteps(note=f"{_choices(every)} not count {BESIDE}: {why or _HOLES}")
    voices = np.stack([row.voices for row in rows])
    total = int(voices.sum())
    asked = np.asarray((voices > 0).any(0))
    return ChoiceSteps(
        Preferences(
            np.array([row.pair for row in rows]),
            np.stack([row.said for row in rows]),
            np.array([row.draws for row in rows]),
        ),
        total,
        int(asked.sum()),
        int(asked[:number].sum()),
        f"{_choices(every - total)} not count {BESIDE}: {_LATE}" if every > total else "",
    )


@dataclass(frozen=True, eq=False)
class _Asked:
    """What was said about a pair on the first ``draws``: at each draw (M,) from -1 to 1, by how many."""

    pair: tuple[int, int]
    said: np.ndarray
    voices: np.ndarray
    draws: int


def _by_pair(
    order: Sequence[str], models: Sequence[str], votes: Votes
) -> dict[tuple[int, int], dict[int, dict[str, float]]]:
    """Return {places of two models: {draw: {person: vote for the first}}}."""
    place = {image: k for k, image in enumerate(order)}
    model = {name: k for k, name in enumerate(models)}
    out: dict[tuple[int, int], dict[int, dict[str, float]]] = {}
    for (image, a, b), own in votes.items():
        if image in place and a in model and b in model:
            first, second = sorted((model[a], model[b]))
            turned = {person: vote if model[a] == first else 1 - vote for person, vote in own.items()}
            out.setdefault((first, second), {})[place[image]] = turned
    return out


def _asked(
    pair: tuple[int, int],
    by_draw: Mapping[int, Mapping[str, float]],
    known: Collection[str],
    own_draws: np.ndarray,
    weights: Mapping[str, float] | None,
) -> _Asked:
    """Return what ``known`` people said about a pair, up to the last of the selection's ``own_draws`` (M,)
    before which at most one in twenty draws lacks an answer.
    """
    answered = {
        k: own for k, people in by_draw.items() if (own := {p: people[p] for p in people if p in known})
    }
    there = np.zeros(len(own_draws), bool)
    there[[*answered]] = True
    lacking = np.cumsum(~there) <= SKIPPED * np.arange(1, len(there) + 1)
    draws = int(np.flatnonzero(there & own_draws & lacking).max(initial=-1)) + 1
    said = np.zeros(len(there))
    voices = np.zeros(len(there), np.int64)
    for k in (k for k in answered if k < draws):
        own = {person: vote for person, vote in answered[k].items() if not isnan(vote)}
        sizes = {person: 1.0 if weights is None else weights.get(person, 1.0) for person in own}
        voices[k] = sum(size > 0 for size in sizes.values())
        if voices[k]:
            said[k] = 2 * fmean(own.values(), weights=[*sizes.values()]) - 1
    return _Asked(pair, said, voices, draws)


_HOLES = (
    "they are not on the first draws, or are of people who saw no image with a mask; `faultscape label serve`"
    " asks in the order of the draws"
)
_LATE = (
    "they are after draws without any, on last draws that duels chose too, or of people who saw no image with"
    " a mask"
)


def worth_note(found: ChoiceSteps, masks: int, gain: float) -> str:
    """Return a note on what the choices that count are worth beside so many masks, which count ``gain`` times
    for differences with them.

    >>> print(worth_note(ChoiceSteps(votes=400, images=120, with_masks=38), 40, 1.52))
    400 choices between two models count beside masks, on 120 images, 38 of them with a mask: they make 40
    masks worth 61 where models are compared
    """
    worth = round(masks * gain)
    what = f"they make {masks} masks worth {worth} where models are compared"
    if worth <= masks:
        what = f"they do not make {masks} masks worth more where models are compared"
    number = counted_words(found.votes, "choice")
    return (
        f"{number} between two models {'counts' if found.votes == 1 else 'count'} {BESIDE}, on"
        f" {found.images:,} images, {found.with_masks:,} of them with a mask: {what}"
    )


def _choices(number: int) -> str:
    return f"{counted_words(number, 'choice')} between two models {'does' if number == 1 else 'do'}"
