"""view's way: open the study, listen on this machine, and answer until Ctrl-C.

Conventions: nothing is written. The address is printed once it answers.
"""

from __future__ import annotations

from faultscape.stages.view.library import Library
from faultscape.stages.view.options import Viewed, ViewOptions
from faultscape.stages.view.pages import router
from faultscape.study.folder import existing
from faultscape.web import server
from faultscape.web.app import make_app


def view_study(study: str, options: ViewOptions) -> Viewed:
    """Serve the pages of a study until Ctrl-C, and return where that was; StudyError where it cannot be
    read, OptionError for an address that cannot be had.
    """
    root = existing(study)
    library = Library(root)
    with server.bind(options.host, options.port) as listener:
        address = server.address_of(listener)

        def begun() -> None:
            if not server.is_private(listener):
                print(
                    f"warning: whoever can reach {options.host} can look at this study; there is no password"
                )
            if note := server.port_note(listener, options.port):
                print(note, flush=True)
            print(f"{study} is shown at {address} (read-only; Ctrl-C ends)", flush=True)

        server.serve(
            make_app([router(library)], names=server.names_of(listener, options.host)), listener, begun
        )
    return Viewed(study, address)
