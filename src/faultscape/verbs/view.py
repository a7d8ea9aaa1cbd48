"""view: look at a study in a browser."""

from __future__ import annotations

from importlib.util import find_spec

from faultscape.arguments import Place, needed_text
from faultscape.errors import OptionError
from faultscape.stages.view.options import Viewed, ViewOptions


def view(study: Place, *, host: str = "127.0.0.1", port: int = 8750) -> Viewed:
    """Show a study in a browser: every image with its maps and what models say, filtered, sorted and laid
    over each other. Nothing is written.

    Parameters
    ----------
    study
        The study folder.
    host
        The address to listen on; on another than that of this machine alone, whoever can reach it sees the
        study.
    port
        The port to listen on, 0 for any that is free; where it is taken, the next that is free.
    """
    study = needed_text(study, "study")
    options = ViewOptions(host=host, port=port)
    if lacking := [name for name in ("fastapi", "uvicorn") if find_spec(name) is None]:
        raise OptionError(
            f"view needs {' and '.join(lacking)}, which is not installed: pip install 'faultscape[app]'"
        )
    from faultscape.stages.view.serve import view_study

    return view_study(study, options)
