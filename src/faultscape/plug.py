"""Find a function by name: a built-in one, or the user's own as ``file.py:function``.

Conventions: a room's built-ins are a literal dict; nothing registers itself. A user's file is run when it is
named, like any Python file, but its folder is not on the path.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from faultscape.errors import FaultscapeError, OptionError, closest, said_by

if TYPE_CHECKING:
    import numpy as np

Found = TypeVar("Found")


def find(kind: str, name: str, built_in: Mapping[str, Found], *, of: type | None = None) -> Found:
    """Return the built-in called ``name``, or the function (an object of the class ``of``) that
    ``file.py:function`` names; OptionError with the known names otherwise.

    >>> find("number", "two", {"one": 1, "two": 2})
    2
    """
    if name in built_in:
        return built_in[name]
    path, colon, attribute = name.rpartition(":")
    if colon and path.endswith(".py"):
        return _load(kind, Path(path), attribute, of)
    own = "file.py:function" if of is None else "file.py:NAME"
    if not built_in:
        raise OptionError(f"{kind} {name!r} is not known; give one of your own as {own}")
    known = sorted(built_in)
    raise OptionError(
        f"{kind} {name!r} is not known; known are {', '.join(known)}, or {own}.{closest(name, known)}"
    )


def load(kind: str, name: str) -> Any:
    """Return whatever ``file.py:NAME`` names, as an entry for a catalogue; OptionError if the file or the
    name does not exist.
    """
    path, _, attribute = name.rpartition(":")
    module = _run(kind, Path(path), attribute)
    if not hasattr(module, attribute):
        raise OptionError(f"{kind} {name}: {path} holds no {attribute!r}")
    return getattr(module, attribute)


def _load(kind: str, path: Path, attribute: str, of: type | None) -> Any:
    found = getattr(_run(kind, path, attribute), attribute, None)
    if of is not None and not isinstance(found, of):
        raise OptionError(f"{kind} {path}:{attribute}: {path} holds no {of.__name__} called {attribute!r}")
    if of is None and not callable(found):
        raise OptionError(f"{kind} {path}:{attribute}: {path} holds no function {attribute!r}")
    return found


def _run(kind: str, path: Path, attribute: str) -> ModuleType:
    """Run a user's file and return it as a module."""
    if not path.is_file():
        raise OptionError(f"{kind} {path}:{attribute}: there is no file {path}")
    place = hashlib.sha256(os.fsencode(path.absolute())).hexdigest()[:16]
    module = ModuleType(f"faultscape_plug_{path.stem}_{place}")
    module.__file__ = str(path)
    # dataclasses and type hints look their module up by its name, while it runs and later
    sys.modules[module.__name__] = module
    try:
        with plain_errors(f"{kind} {path}:{attribute}: running {path} failed", OptionError):
            exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)  # noqa: S102 - the user's own file; never an older compiled form of it
    except OptionError as error:
        raise OptionError(f"{error}{import_hint(path, error.__cause__)}") from error.__cause__
    return module


def import_hint(path: Path, failure: BaseException | None) -> str:
    """Return what to do, as the end of a message, if a user's file failed because it imports a module that
    lies beside it; '' otherwise.

    Its folder is not on the path: two files may each have a model.py beside them, of which the first would
    be taken for both, and a change in one would not be noticed.
    """
    name = (failure.name or "").partition(".")[0] if isinstance(failure, ModuleNotFoundError) else ""
    if not name or not (path.with_name(f"{name}.py").is_file() or path.with_name(name).is_dir()):
        return ""
    return (
        f"; a file is loaded alone, without the modules in its folder: write {name} into it, install it, or"
        f" set PYTHONPATH={path.parent.absolute()}"
    )


@contextmanager
def plain_errors(called: str, error: type[FaultscapeError], more: str = "") -> Iterator[None]:
    """Raise ``error`` in one line for anything that a user's code raises, including SystemExit; ``called``
    goes before the message and ``more`` after it.

    >>> with plain_errors("ranking own.py:mine", OptionError, "; it was given 2 models"):
    ...     raise SystemExit(3)
    Traceback (most recent call last):
    ...
    faultscape.errors.OptionError: ranking own.py:mine: SystemExit: 3; it was given 2 models
    """
    try:
        yield
    except MemoryError:
        raise
    except (Exception, SystemExit) as failure:
        raise error(f"{called}: {said_by(failure)}{more}") from failure


def read_only(array: np.ndarray) -> np.ndarray:
    """Return a view of an array through which a user's code cannot change it for later readers."""
    view = array.view()
    view.flags.writeable = False
    return view


def absolute(name: str) -> str:
    """Return ``file.py:NAME`` with the absolute path of its file, so that what is recorded means the same in
    any folder; other names unchanged.

    >>> absolute("/home/me/own.py:mine"), absolute("miou")
    ('/home/me/own.py:mine', 'miou')
    """
    path, colon, attribute = name.rpartition(":")
    return f"{os.path.abspath(path)}:{attribute}" if colon and path.endswith(".py") else name


def is_own(name: str) -> bool:
    """Return whether a name has the form ``file.py:function``.

    >>> is_own("own.py:mine"), is_own("miou")
    (True, False)
    """
    return Path(name.rpartition(":")[0]).suffix == ".py"


def digest(name: str) -> str:
    """Return a digest of the file of ``file.py:function``, or '' for a built-in: with it a definition can
    tell that the function is unchanged.
    """
    path = Path(name.rpartition(":")[0])
    return (
        hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.suffix == ".py" and path.is_file() else ""
    )
