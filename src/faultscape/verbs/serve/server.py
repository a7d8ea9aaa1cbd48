"""Serve a study for labelling: open the study and its answers, listen, and let people answer until Ctrl-C.

Conventions: answers are written to the database, and nothing else in the study changes. The address is
printed once the server responds. If others can reach it, people enter by invite links only, and the
organiser's first link is printed when it is created. People stay signed in when the server restarts.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter

from faultscape.reading.study import Study, opened
from faultscape.study.answers.annotators import ORGANISER, Annotators
from faultscape.study.answers.database import Database, bind
from faultscape.study.settings import write_settings
from faultscape.study.tables import selections
from faultscape.verbs.serve.campaign import Campaign
from faultscape.verbs.serve.gate import Gate, server_key
from faultscape.verbs.serve.options import Served, origin_of
from faultscape.verbs.serve.pages import checks, masks, people, results, tags, work
from faultscape.verbs.serve.pages.site import Site
from faultscape.web import server
from faultscape.web.app import make_app
from faultscape.web.photos import Pictures

if TYPE_CHECKING:
    from faultscape.verbs.options import LabelServeOptions

METHODS = ("GET", "HEAD", "POST")


def serve_labels(options: LabelServeOptions) -> Served:
    """Serve a study to annotators until Ctrl-C, and return its address. StudyError if the study cannot be
    read, OptionError if the address is not available.
    """
    study = opened(options.study)
    root = study.root
    options = replace(options, selection=selections.the_name(root, options.selection))
    if options.address is not None:
        options = replace(options, address=origin_of(options.address))
    with study.writing():
        if options.database is not None:
            answers = bind(root, options.database)
            write_settings(root, study.settings.model_copy(update={"answers": answers}))
    with (
        closing(Database(root, stay_open=True, settings=study.settings.answers)) as database,
        server.bind(options.host, options.port) as listener,
    ):
        database.create_tables()
        campaign = Campaign(Study(root, options.study, database=database), options)
        address = server.address_of(listener) if options.address is None else f"{options.address}/"
        open_ = server.is_private(listener) and not options.invites and options.address is None
        gate = Gate(Annotators(root, database), server_key(root), open_=open_, address=options.address)
        names = [*server.names_of(listener, options.host), *([gate.name] if gate.name else [])]

        def begun() -> None:
            threading.Thread(target=work.warm, args=(campaign,), daemon=True).start()
            print(
                f"{options.study}: serving at {address} (press Ctrl-C to stop; answers are stored in"
                f" {database.place})",
                flush=True,
            )
            if note := server.port_note(listener, options.port):
                print(note, flush=True)
            if options.address is not None:
                print(f"the proxy must forward requests to {server.address_of(listener)}", flush=True)
            if campaign.nothing:
                print(campaign.nothing, flush=True)
            if not open_:
                print(_way_in(options.study, gate.people, address), flush=True)

        server.serve(app_of(campaign, gate, names), listener, begun)
    return Served(options.study, address)


def app_of(campaign: Campaign, gate: Gate, names: Sequence[str] = ()) -> Any:
    """Return the ASGI app of a campaign."""
    return make_app(routers_of(campaign, gate), names=names, methods=METHODS)


def routers_of(campaign: Campaign, gate: Gate) -> list[APIRouter]:
    """Return all routes of a campaign."""
    site = Site(campaign, gate, Pictures(secret=campaign.secret.word))
    return [of.router(site) for of in (people, work, checks, tags, results, masks)]


def _way_in(study: str, held: Annotators, address: str) -> str:
    """Return how the first organiser, who is created if there is none, can sign in; an existing link is kept,
    because a new one would sign them out.
    """
    first = next((one.name or one.pseudonym for one in held.everybody() if one.role == ORGANISER), None)
    if first is None:
        return (
            "sign in as the organiser, and invite others, at"
            f" {address}join/{held.invite(ORGANISER, ORGANISER)[1]}"
        )
    who = "the organiser" if first == ORGANISER else f"the organiser {first}"
    return (
        f"{who} signs in with the earlier link; for a new one run: faultscape label invite {quote(study)}"
        f" {quote(first)}"
    )
