"""The current names of classes in the rows of one table of answers, which store the names of their time.

Conventions: a new name is a row of ``renamed`` of the ``kind`` of the table, which applies to all answers up
to number ``until``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path

from faultscape.study.answers.database import Database
from faultscape.study.answers.new_rows import chains, latest_name
from faultscape.study.answers.schema import RENAMED
from faultscape.study.settings import ClassSettings


class RenamedClasses:
    """How the classes in the answers of one table are called now; ``classes`` returns those of the study."""

    def __init__(self, root: Path, held: Database, kind: str, classes: Callable[[], ClassSettings]) -> None:
        self._root = root
        self._held = held
        self._kind = kind
        self._classes = classes

    @cached_property
    def _chains(self) -> Callable[[str, int], tuple[str, ...]]:
        return chains(self._held.read(RENAMED, "until", "was", "now", kind=self._kind))

    @cached_property
    def _known(self) -> dict[str, str]:
        """{name, or first name: current name} of the study's classes; a name that is the first name of
        another class is its own.
        """
        if not (self._root / "study.toml").exists():
            return {}
        classes = self._classes()
        return {first: name for name, first in classes.first_name_of.items()} | {
            name: name for name in classes.names
        }

    def now(self, word: str, number: int) -> str:
        """Return the current name of the class that answer ``number`` calls ``word``."""
        return latest_name(self._chains(word, number), self._known)

    def rename(self, last: int, words: Iterable[tuple[int, str]], renamed: Mapping[str, str]) -> None:
        """Rename classes, {name: a name that no class of the study has}, in all answers up to the ``last``,
        whose words are (number, name).

        Answers in older files under the first name of a class that was renamed before are entered under its
        current name, so that no later list loses them.
        """
        names_of = dict.fromkeys(self._chains(word, number) for number, word in words)
        settled = {
            names[-1]: now for names in names_of if (now := latest_name(names, self._known)) != names[-1]
        }
        about = {"until": last, "kind": self._kind}
        self._held.add(
            RENAMED, [{**about, "was": was, "now": now} for was, now in [*settled.items(), *renamed.items()]]
        )
