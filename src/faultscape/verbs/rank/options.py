"""The options of `rank` that belong together."""

from __future__ import annotations

from dataclasses import dataclass

from faultscape.arguments import Place


@dataclass(frozen=True)
class Looks:
    """How often the result is read.

    Parameters
    ----------
    anytime
        Intervals that hold however often you look, so that you may rank after every label and stop when the
        result is clear; for images drawn at random.
    indifference
        With --anytime: a difference of fewer points (hundredths of the score) is not worth more labels.
    """

    anytime: bool = False
    indifference: float | None = None


@dataclass(frozen=True)
class NearMisses:
    """How two wrong answers of classifiers are compared.

    Parameters
    ----------
    distance
        For pairs of classifiers with labels that name the class: also rank by which of two wrong answers is
        nearer to it: wordnet, path, hops, or a file of distances between classes.
    """

    distance: Place | None = None


@dataclass(frozen=True)
class OtherStudies:
    """Other studies to compare the rankings with.

    Parameters
    ----------
    against_study
        Another study of these models, with standings, to compare the rankings with. Repeatable.
    """

    against_study: list[str] | None = None


@dataclass(frozen=True)
class VoteRules:
    """How people's answers count.

    Parameters
    ----------
    weight_annotators
        Weight people's answers and choices by estimated accuracy p (Dawid and Skene's one-coin model): by
        log(p / (1 - p)), with p from 0.5 to 0.95; people whose accuracy is unknown count like the mean of the
        others.
    """

    weight_annotators: bool = False
