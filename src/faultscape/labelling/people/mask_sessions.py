"""Who draws the masks of which images, and in which session: each image goes to ``overlap`` people, and
everyone has about the same number (Yan et al. 2021, section 4.1.4).

Conventions: only the seed decides the order of the images, and who of those with the fewest images gets the
next one. No two people's numbers of images differ by more than one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence

from faultscape.errors import OptionError, counted


def share_images(
    images: Collection[str], annotators: Sequence[str], *, overlap: int = 2, session: int = 20, seed: int = 0
) -> dict[str, list[list[str]]]:
    """Return {annotator: sessions of images}, of at most ``session`` images each; each image goes to
    ``overlap`` people. OptionError for numbers that are impossible, and for an annotator named twice.

    >>> found = share_images("abcd", ["ann", "ben"], overlap=1, session=1)
    >>> (
    ...     {who: len(sessions) for who, sessions in found.items()},
    ...     sorted(image for mine in found.values() for (image,) in mine),
    ... )
    ({'ann': 2, 'ben': 2}, ['a', 'b', 'c', 'd'])
    """
    if len(set(annotators)) < len(annotators) or not annotators:
        raise OptionError(
            f"expected one annotator or more, each named once; got {', '.join(annotators) or 'none'}"
        )
    if not 1 <= overlap <= len(annotators):
        raise OptionError(
            f"--overlap {overlap}: expected 1 to {len(annotators)} people per image, since"
            f" {counted(len(annotators), 'annotator is', 'annotators are')} named"
        )
    if session < 1:
        raise OptionError(f"--session {session}: expected 1 or more images per session")
    mine: dict[str, list[str]] = {who: [] for who in annotators}
    for image in sorted(images, key=lambda image: by_chance(seed, "image", image)):
        first = sorted(mine, key=lambda who: (len(mine[who]), by_chance(seed, "annotator", image, who)))[
            :overlap
        ]
        for who in first:
            mine[who].append(image)
    return {who: [held[k : k + session] for k in range(0, len(held), session)] for who, held in mine.items()}


def by_chance(seed: int, *words: str) -> bytes:
    """Return a sort key that puts words into an order that only the seed decides.

    >>> by_chance(0, "a") == by_chance(0, "a"), by_chance(0, "a") == by_chance(1, "a")
    (True, False)
    """
    return hashlib.blake2b(
        "\0".join([str(seed), *words]).encode("utf-8", "surrogateescape"), digest_size=16
    ).digest()
