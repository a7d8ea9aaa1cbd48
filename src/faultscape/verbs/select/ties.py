"""Report how many slots of a selection ties and near-duplicates decided, and warn about too many ties.

Conventions: a slot is decided by a tie if an image that was left out is equally good.
"""

from __future__ import annotations

from faultscape.errors import counted
from faultscape.nouns import Definition
from faultscape.ties import tie_seed

MANY = 0.25


def tell_moved(moved: int) -> None:
    """Report how many slots went to another image than by the papers' equations, which have no rule on
    near-duplicates.

    >>> tell_moved(62)
    near-duplicates: 62 choices went to the next image, if there is one, because the better one is a
    near-duplicate of another one that is chosen there; --keep-duplicates --as NAME draws with them
    """
    if moved:
        print(
            f"near-duplicates: {counted(moved, 'choice')} went to the next image, if there is one, because"
            " the better one is a near-duplicate of another one that is chosen there; --keep-duplicates"
            " --as NAME draws with them"
        )


def tell_ties(tied: int, slots: int, define: Definition) -> None:
    """Report the share of choices that ties decided, and warn above a quarter.

    >>> tell_ties(1, 8, {"ties": "digest", "seed": 0})
    ties: 1 of 8 choices (12 %) had other, equally good images; chance decided
    """
    if not tied:
        return
    by_id = tie_seed(define) is None
    decided = "the order of ids decided, as when the selection was drawn" if by_id else "chance decided"
    print(
        f"ties: {tied:,} of {slots:,} choices ({100 * tied / slots:.0f} %) had other, equally good images; "
        f"{decided}"
    )
    if tied <= MANY * slots:
        return
    if by_id:
        print(
            "warning: if files are sorted by class or time, these slots cluster; draw a new selection "
            "with --as NAME"
        )
    else:
        print(
            "warning: ties decide more than a quarter of the slots: disagreement hardly shows which "
            "images matter, and another --seed would choose others; use --goal order, which draws with "
            "known probabilities"
        )
