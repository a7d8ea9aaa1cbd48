"""view: browse a study."""

from __future__ import annotations

from importlib.util import find_spec

from faultscape.arguments import Place, needed_text
from faultscape.errors import OptionError
from faultscape.verbs.view.options import Viewed, ViewOptions


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
    """
    study = needed_text(study, "study")
    options = ViewOptions(host=host, port=port)
    if lacking := [name for name in ("fastapi", "uvicorn") if find_spec(name) is None]:
        raise OptionError(f"view needs {' and '.join(lacking)}; install with: pip install 'faultscape[app]'")
    from faultscape.verbs.view.serve import view_study

    return view_study(study, options)
