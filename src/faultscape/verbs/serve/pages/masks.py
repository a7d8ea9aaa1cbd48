"""Masks that people drew with their own tool, sent from the browser: each person's become their own truth.

Conventions: a request body is the file itself, at most `MOST_BYTES`, kept in a temporary folder until it is
read; its declared name is not used, and its contents decide what it is. Files are read one at a time, under
the study's lock; the others wait. The page shows what importing printed, and why labels could not be used, as
the command line does, but without paths of this machine; failures.csv and log.jsonl name the file after its
sender.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import re
import sys
import threading
from pathlib import Path
from typing import TextIO

from fastapi import APIRouter, Request
from fastapi.concurrency import contextmanager_in_threadpool, run_in_threadpool
from fastapi.responses import HTMLResponse, Response
from starlette.requests import ClientDisconnect

from faultscape.errors import FaultscapeError, LabellingError, OptionError, StudyError
from faultscape.formats.label_tools.archive import count_files, is_zip, unpack
from faultscape.labelling.catalogue import FORMATS
from faultscape.labelling.format_calls import recognises
from faultscape.process.made_aside import held_folder
from faultscape.study.tables import label_maps
from faultscape.study.tables.logs import UPLOADED, read_failures
from faultscape.verbs.label.exchange import import_masks
from faultscape.verbs.serve.campaign import Campaign
from faultscape.verbs.serve.gate import TooOftenError
from faultscape.verbs.serve.pages.site import Site
from faultscape.web.app import NotFoundError, json_answer

MOST_BYTES = 256 << 20  # of one file
MOST_UNPACKED = 2 << 30
MOST_FILES = 10_000  # of one zip: while they are read, others wait
AT_ONCE = 4  # most concurrent uploads
SECONDS = 1800.0  # most seconds per upload
_UNPACKED = "unpacked"
_SHOWN = 20  # most unusable labels to list
_ENDINGS = frozenset({".png", ".json", ".xml", ".txt"})
_KINDS = ((b"PK", ".zip"), (b"<", ".xml"), (b"{", ".json"), (b"[", ".json"))


class TooLargeError(OptionError):
    """The upload is larger than the limit."""

    status = 413


def router(site: Site) -> APIRouter:
    """Return the routes that receive masks."""
    routes = APIRouter()
    campaign = site.campaign
    gate = site.gate
    senders = set[str]()
    reader = threading.Lock()

    @routes.get("/masks", response_class=HTMLResponse)
    def masks(request: Request) -> Response:
        who = gate.annotator(request)
        _refuse_classifiers(campaign)
        truth = f"{campaign.options.truth}-{who.pseudonym}"
        study = campaign.study()
        parts = study.manifest(label_maps.truth(study.root, truth))
        return site.page(
            request,
            "masks.html.jinja",
            who,
            truth=truth,
            held=sum(part.rows for part in parts.values()),
            formats=[one.title for one in FORMATS if one.kind == "bundle"],
            most=MOST_BYTES >> 20,
        )

    @routes.post("/masks")
    async def send(request: Request) -> Response:
        try:
            who = await run_in_threadpool(gate.writer, request)
            _refuse_classifiers(campaign)
            announced = request.headers.get("content-length", "")
            if announced.isdecimal() and (len(announced) > 15 or int(announced) > MOST_BYTES):
                raise _too_large()
            if who.pseudonym in senders:
                raise TooOftenError("your previous file is still being read; wait until it is done")
            if len(senders) >= AT_ONCE:
                raise TooOftenError("others are sending masks; try again in a minute")
            senders.add(who.pseudonym)
            try:
                said = await _received(request, campaign, who.pseudonym, reader)
            finally:
                senders.discard(who.pseudonym)
        except FaultscapeError as error:
            usual = 400 if isinstance(error, OptionError) else 409 if isinstance(error, StudyError) else 422
            return json_answer({"words": [str(error)]}, getattr(error, "status", usual))
        words, partly = said
        return json_answer({"words": words, "partly": partly})

    return routes


async def _received(
    request: Request, campaign: Campaign, who: str, reader: threading.Lock
) -> tuple[list[str], bool]:
    """Store an upload in a temporary folder, read it, and return the report, and whether some of it cannot be
    used.
    """
    async with contextmanager_in_threadpool(held_folder("masks-")) as folder:
        file = Path(folder, "sent")
        size = 0
        try:
            async with asyncio.timeout(SECONDS):
                with await run_in_threadpool(file.open, "wb") as out:
                    async for part in request.stream():
                        size += len(part)
                        if size > MOST_BYTES:
                            raise _too_large()
                        await run_in_threadpool(out.write, part)
        except (TimeoutError, ClientDisconnect):
            raise OptionError("the upload is incomplete; send it again") from None
        except OSError as error:
            raise LabellingError(f"the file cannot be stored: {error.strerror}") from None
        return await run_in_threadpool(_read, campaign, file, who, reader)


def _read(campaign: Campaign, file: Path, who: str, reader: threading.Lock) -> tuple[list[str], bool]:
    """Import a file, and return what the command line would print about it, and whether some of it cannot be
    used.
    """
    study = campaign.study()
    truth = f"{campaign.options.truth}-{who}"
    called = f"{UPLOADED}{who}"

    def plain(text: str) -> str:
        found = text.replace(f"{file.parent}{os.sep}{_UNPACKED}{os.sep}", "")
        found = found.replace(study.called, "the study").replace(str(study.root), "the study")
        found = found.replace(f"{called}{os.sep}", "").replace(called, "the file")
        return " ".join(re.sub(re.escape(str(file.parent)) + r"[\\/]?\w*(\.\w+)?", "the file", found).split())

    try:
        source = _source(file)
        with reader, contextlib.redirect_stdout(said := _Mine(sys.stdout)):
            result = import_masks(study, source, truth, called)
    except FaultscapeError as error:
        raise type(error)(plain(str(error))) from None
    wrong = [row for row in read_failures(study.root) if (row.stage, row.name) == ("label", truth)]
    lines = [
        *said.lines(),
        *repr(result).splitlines(),
        *(f"{row.image}: {row.reason}" for row in wrong[:_SHOWN]),
    ]
    more = [f"and {len(wrong) - _SHOWN} more"] if len(wrong) > _SHOWN else []
    return [plain(line) for line in [*lines, *more]], bool(wrong)


def _source(file: Path) -> Path:
    """Return what to read of a file: the file itself, renamed after its contents, or the folder that it was
    unpacked to. LabellingError for an unknown kind of file.
    """
    with file.open("rb") as opened:
        start = opened.read(64).lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n\0")
    ending = next((ending for begin, ending in _KINDS if start.startswith(begin)), None)
    if ending is None:
        raise LabellingError(
            "the file is not a zip, XML or JSON file; send a zip of masks, or a labelling tool's export"
        )
    called = file.rename(file.with_suffix(ending))
    if is_zip(called) and (count := count_files(called, LabellingError)) > MOST_FILES:
        raise LabellingError(
            f"the zip lists {count:,} files, and at most {MOST_FILES:,} are read; send fewer images at once"
        )
    if not is_zip(called) or any(form.kind == "bundle" and recognises(form, called) for form in FORMATS):
        return called
    folder = file.parent / _UNPACKED
    folder.mkdir()
    if not unpack(called, folder, _ENDINGS, LabellingError, most=MOST_UNPACKED):
        raise LabellingError("the zip contains neither masks (PNG) nor files of a labelling tool")
    return folder


class _Mine(io.TextIOBase):
    """Captures what its own thread prints; output of other threads goes where it did before."""

    def __init__(self, others: TextIO) -> None:
        self._others, self._me, self._mine = others, threading.get_ident(), io.StringIO()

    def write(self, text: str) -> int:
        return (self._mine if threading.get_ident() == self._me else self._others).write(text)

    def lines(self) -> list[str]:
        return self._mine.getvalue().splitlines()


def _refuse_classifiers(campaign: Campaign) -> None:
    if campaign.settings.classifies:
        raise NotFoundError("this is a study of classifiers, which have no masks")


def _too_large() -> TooLargeError:
    return TooLargeError(f"the limit is {MOST_BYTES >> 20} MB per upload; send fewer images at once")
