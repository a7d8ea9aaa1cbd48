"""Serve a study for browsing: open it, listen on this machine, and respond until Ctrl-C.

Conventions: nothing is written. The address is printed once the server responds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from faultscape.reading.study import opened
from faultscape.verbs.view.library import Library
from faultscape.verbs.view.pages import router
from faultscape.verbs.view.result import Viewed
from faultscape.web import server
from faultscape.web.app import make_app

if TYPE_CHECKING:
    from faultscape.verbs.options import ViewOptions


def view_study(options: ViewOptions) -> Viewed:
    """Serve the pages of a study until Ctrl-C, and return its address; StudyError if the study cannot be
    read, OptionError if the address is not available.
    """
    study = options.study
    library = Library(opened(study))
    with server.bind(options.host, options.port) as listener:
        address = server.address_of(listener)

        def begun() -> None:
            if not server.is_private(listener):
                print(
                    f"warning: anyone who can reach {options.host} can see this study; there is no password"
                )
            if note := server.port_note(listener, options.port):
                print(note, flush=True)
            print(f"{study}: viewing at {address} (read-only; press Ctrl-C to stop)", flush=True)

        server.serve(
            make_app([router(library)], names=server.names_of(listener, options.host)), listener, begun
        )
    return Viewed(study, address)
