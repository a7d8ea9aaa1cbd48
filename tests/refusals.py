"""What a person may not do, and what is said of it: one line, with exit status 2 where it was typed, as one
of our errors in Python.

Conventions: who refuses is called within ``with refused(ERROR, WORDS):``, or its line is given to
`refused_line`; `told` runs a line that must end well, `typed` makes one of words. None of them needs capsys.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field

from faultscape.errors import FaultscapeError


@dataclass
class Refusal:
    """What came of a call that was refused; ``value`` is there once it was."""

    value: FaultscapeError = field(init=False)


@contextlib.contextmanager
def refused(error: type[FaultscapeError] = FaultscapeError, says: str = "") -> Iterator[Refusal]:
    """Hold that what is done within is refused with this error, in one line in which ``says`` (a regular
    expression) is found.
    """
    found = Refusal()
    try:
        yield found
    except error as mistake:
        found.value = mistake
    else:
        raise AssertionError(f"nothing was refused; expected {error.__name__}: {says}")
    text = str(found.value)
    assert len(text.splitlines()) == 1, f"is not one line: {text!r}"
    assert re.search(says, text), f"expected {says!r}; got {text!r}"


def refused_line(*words: object) -> str:
    """Run a command line that must end with status 2 and one line on standard error, and return that line as
    it was printed.
    """
    status, _, err = _run(words)
    assert status == 2, f"status {status}: {err}"
    assert err.startswith("faultscape: "), err
    assert err.count("\n") == 1, err
    assert err.endswith("\n"), err
    return err


def refused_text(*words: object) -> str:
    """Run a command line that must be refused, and return what is said: the line without our name and its
    end.
    """
    return refused_line(*words).removeprefix("faultscape: ").removesuffix("\n")


def typed(line: str, **places: object) -> list[str]:
    """Return the words of a line as a person types it, with what its ``{names}`` stand for.

    >>> typed("measure {truth} m=maps --classes 2", truth="my truth")
    ['measure', 'my truth', 'm=maps', '--classes', '2']
    """
    return [word.format(**places) for word in shlex.split(line)]


def told(*words: object) -> list[str]:
    """Run a command line that must end well, and return the lines that it prints."""
    status, out, err = _run(words)
    assert status == 0, f"status {status}: {err}"
    return out.splitlines()


def _run(words: tuple[object, ...]) -> tuple[int, str, str]:
    from faultscape.cli import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main([str(word) for word in words])
    return status, out.getvalue(), err.getvalue()
