"""What the organiser of a campaign tells the people who answer.

Conventions: a plain text with line breaks, one for each campaign, stored in ``about`` and not in a table of
answers, since it is rewritten. It is copied to another database with the answers.
"""

from __future__ import annotations

from faultscape.errors import LabellingError
from faultscape.study.answers.database import Database

LONGEST = 4000  # characters, some 600 words: more is not read before answering


def instructions_of(database: Database, campaign: str) -> str:
    """Return the instructions of a campaign, '' if there are none."""
    return database.noted(_name(campaign))


def instruct(database: Database, campaign: str, text: str) -> None:
    """Replace the instructions of a campaign; LabellingError for more than `LONGEST` characters."""
    if len(text) > LONGEST:
        raise LabellingError(
            f"instructions may have at most {LONGEST:,} characters; these have {len(text):,}: shorten them"
        )
    database.note(_name(campaign), text)


def _name(campaign: str) -> str:
    return f"instructions for {campaign}"
