"""view: browse a study."""

from __future__ import annotations

from importlib.util import find_spec

from faultscape.arguments import Place
from faultscape.errors import OptionError
from faultscape.verbs.verb import verb
from faultscape.verbs.view.result import Viewed


def _need_libraries(_: object) -> None:
    lacking = [name for name in ("fastapi", "uvicorn") if find_spec(name) is None]
    if lacking:
        raise OptionError(f"view needs {' and '.join(lacking)}; install with: pip install 'faultscape[app]'")


@verb("faultscape.verbs.view.serve:view_study", check=_need_libraries)
def view(study: Place, *, host: str = "127.0.0.1", port: int = 8750) -> Viewed:
    """Browse a study: every image with its maps and predictions, filtered, sorted and overlaid. Nothing is
    written.

    Parameters
    ----------
    study
        The study folder.
    host
        The address to listen on; on any address other than this machine's own, anyone who can reach it sees
        the study.
    port
        The port to listen on; if it is taken, the next free one; 0 for any.

    >>> fs.view("study")  # until Ctrl-C  # doctest: +SKIP
    """
    ...
