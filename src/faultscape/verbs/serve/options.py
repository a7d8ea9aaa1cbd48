"""The options of `label serve` that belong together, and what it returns."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from faultscape.errors import OptionError

MOST_OVERLAP = 100
MOST_SESSION = 1000


@dataclass(frozen=True)
class CampaignRules:
    """How items are shared among annotators.

    Parameters
    ----------
    overlap
        How many people answer each item; default: 2, for points, and choices on images drawn at random, 1.
    session
        How many items to answer before a pause.
    repeats
        The share of choices that a person is asked again, in the other order, and of points; as many points
        more lie in images with a mask, which says what is right. Default: 0.1, for points 0.05.
    discard_votes
        The minimum number of people needed to discard an image; they must also be more than three of five of
        those who saw it, or of overlap if fewer saw it (Wang et al. 2020).
    training
        A CSV file of items with a known answer, which everyone is asked first: image, model, other, expected;
        for classifiers image, class, answer.
    adaptive
        Ask first about the pairs of models whose order is least certain; useful for 7 models or more.
    """

    overlap: int | None = None
    session: int = 20
    repeats: float | None = None
    discard_votes: int = 1
    training: str | None = None
    adaptive: bool = False

    def of(self, *, points: bool, drawn: bool = False) -> SettledRules:
        """Return the rules of a campaign that asks about ``points``, or for choices on ``drawn`` images, or
        anything else.

        >>> CampaignRules(overlap=3).of(points=True)
        SettledRules(overlap=3, session=20, repeats=0.05, discard_votes=1)
        """
        # a point that two people answer teaches less than two points, and many answers show who errs
        overlap = (1 if points or drawn else 2) if self.overlap is None else self.overlap
        repeats = (0.05 if points else 0.1) if self.repeats is None else self.repeats
        return SettledRules(overlap, self.session, repeats, self.discard_votes)

    def check(self) -> None:
        """Raise OptionError for numbers out of range."""
        if self.overlap is not None and not 1 <= self.overlap <= MOST_OVERLAP:
            raise OptionError(f"--overlap must be 1 to {MOST_OVERLAP} people per item; got {self.overlap}")
        if not 1 <= self.session <= MOST_SESSION:
            raise OptionError(
                f"--session must be 1 to {MOST_SESSION} items before a pause; got {self.session}"
            )
        if self.repeats is not None and not 0 <= self.repeats <= 0.5:
            raise OptionError(f"--repeats must be a share from 0 to 0.5 of the items; got {self.repeats}")
        if self.discard_votes < 1:
            raise OptionError(f"--discard-votes must be 1 or more people; got {self.discard_votes}")


@dataclass(frozen=True)
class SettledRules:
    """`CampaignRules` whose defaults are settled by what the campaign asks."""

    overlap: int
    session: int
    repeats: float
    discard_votes: int


def origin_of(address: str) -> str:
    """Return an address as browsers write the origin of its pages; OptionError for an invalid address, or one
    with more than a name and a port.

    >>> origin_of("https://Label.example.org:443/"), origin_of("http://10.0.0.7:8080")
    ('https://label.example.org', 'http://10.0.0.7:8080')
    """
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        parts = urlsplit("")
        port = None
    name = parts.hostname or ""
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    if (
        usual is None
        or not name
        or parts.path not in ("", "/")
        or parts.query
        or parts.fragment
        or "@" in parts.netloc
    ):
        raise OptionError(
            f"--address {address}: is not an address that people can open; expected https://NAME, without a"
            " path"
        )
    host = f"[{name}]" if ":" in name else name
    return f"{parts.scheme}://{host}" + ("" if port in (None, usual) else f":{port}")


@dataclass(frozen=True)
class Served:
    """A study that was served until Ctrl-C, and its address."""

    study: str
    address: str

    def __repr__(self) -> str:
        return f"{self.study}: server stopped; all confirmed answers are kept"
