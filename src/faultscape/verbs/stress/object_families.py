"""Which family of unknown objects a set shows: a score that learnt from one may not find another.

Conventions: a blended set names the families of its objects; those of a set from before they were recorded
follow from its options. A set that was made from another shows the objects of that one. Objects of a data set
are what it labelled.
"""

from __future__ import annotations

from collections.abc import Mapping

from faultscape.reading.study import Study
from faultscape.stressors.objects.cutout import FAMILIES


def family_of_set(study: Study, name: str) -> str:
    """Return the families of the unknown objects of a set in words."""
    known = study.stress.sets
    while name in known and known[name].kind != "blend":
        name = known[name].of
    if name not in known:
        return f"objects labelled in {name}"
    about = known[name]
    return " and ".join(FAMILIES[one] for one in about.families or (family_of_line(about.line),))


def family_of_line(line: Mapping[str, object]) -> str:
    """Return the family of objects that say nothing of theirs: those of a folder are cut-outs of images, and
    without a folder they are drawn.

    >>> family_of_line({"objects": "voc"}), family_of_line({})
    ('cut-outs', 'drawn')
    """
    return "cut-outs" if line.get("objects") else "drawn"
