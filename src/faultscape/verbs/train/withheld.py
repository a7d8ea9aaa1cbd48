"""The classes that a network does not learn: those of a holdout of the study.

Conventions: learnt classes are 0..K-1 in the order of the study's list; pixels of withheld ones are IGNORED,
void pixels OUTSIDE (uncertainty.training.labels).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultscape.errors import OptionError, closest
from faultscape.nouns import Classes
from faultscape.stressors.holdout import Holdout, hold_out
from faultscape.study.tables.stress_sets import StressSets
from faultscape.uncertainty.training.labels import IGNORED, OUTSIDE

ALL = "none"  # the word for withholding nothing


@dataclass(frozen=True)
class Withheld:
    """The classes that are learnt, those that are not, and (C + 1,) int16, the training label of each place
    of the study's class list.
    """

    classes: Classes
    names: tuple[str, ...]
    places: np.ndarray


def find_withheld(stress: StressSets, classes: Classes, asked: str | None) -> Withheld:
    """Return the classes that a command lets a network learn; OptionError for an unknown holdout, or if there
    are several and none is named.
    """
    held = stress.holdouts
    if asked is not None and asked != ALL and asked not in held:
        raise OptionError(
            f"the study has no holdout {asked!r}; it has"
            f" {', '.join(held) or 'none'}.{closest(asked, [*held])}"
        )
    if asked is None and len(held) > 1:
        raise OptionError(
            f"the study has several holdouts ({', '.join(held)}); choose one with --withhold, or `--withhold"
            " none`"
        )
    name = asked if asked is not None else next(iter(held), ALL)
    places = np.arange(len(classes) + 1, dtype=np.int16)
    places[-1] = OUTSIDE
    if name == ALL:
        return Withheld(classes, (), places)
    found: Holdout = hold_out(classes, held[name])
    places[:-1] = found.kept_places[:-1]
    places[found.is_withheld] = IGNORED
    return Withheld(found.kept, found.withheld, places)
