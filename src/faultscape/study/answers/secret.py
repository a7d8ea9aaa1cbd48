"""What only the answers of a study know: it decides what stands for items on pages, and which model stands on
the left, so that nobody works either out from names of models.

Conventions: it is made once and kept in ``about``, so that all servers of a study share it, and goes along to
another database. What was handed before it was made stands for itself: pages of then know it by the id that
the campaign does.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from dataclasses import dataclass

from faultscape.study.answers.database import Database
from faultscape.study.answers.schema import SALT


@dataclass(frozen=True)
class Secret:
    """A secret word, and since when it is there."""

    word: str
    since: float

    def id_of(self, item: str) -> str:
        """Return what stands for an item on pages.

        >>> Secret("a", 0.0).id_of("x") == Secret("a", 1.0).id_of("x") != Secret("b", 0.0).id_of("x")
        True
        """
        return hashlib.blake2b(
            item.encode("utf-8", "surrogateescape"), key=self.word.encode(), digest_size=9
        ).hexdigest()


def secret_of(database: Database) -> Secret:
    """Return the secret of a study's answers, made where there is none; of several who ask at once all get
    the same.
    """
    word, _, since = database.settle(SALT, f"{secrets.token_hex(16)} {time.time():.3f}").partition(" ")
    return Secret(word, float(since))
