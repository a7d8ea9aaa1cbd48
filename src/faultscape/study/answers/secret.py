"""A secret of a study's answers: it decides the ids of items on pages, and which model is on the left, so
that nobody can infer either from the names of models.

Conventions: it is created once and stored in ``about``, so that all servers of a study share it, and is
copied to another database. Items handed out before it was created keep their own ids on pages.
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
    """A secret word, and when it was created."""

    word: str
    since: float

    def id_of(self, item: str) -> str:
        """Return the id of an item on pages.

        >>> Secret("a", 0.0).id_of("x") == Secret("a", 1.0).id_of("x") != Secret("b", 0.0).id_of("x")
        True
        """
        return hashlib.blake2b(
            item.encode("utf-8", "surrogateescape"), key=self.word.encode(), digest_size=9
        ).hexdigest()


def secret_of(database: Database) -> Secret:
    """Return the secret of a study's answers, created if there is none; concurrent callers all get the
    same.
    """
    word, _, since = database.settle(SALT, f"{secrets.token_hex(16)} {time.time():.3f}").partition(" ")
    return Secret(word, float(since))
