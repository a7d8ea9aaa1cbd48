"""The second round: people review each other's masks, mark errors, and discuss and resolve them (Yan et al.
2021).

Conventions: an image is identified by its position in the corpus, a mask by its truth, and only those of the
study are accepted. Annotators see only masks of annotators, in truths `TRUTH-PERSON`; organisers see those of
all truths, including the data set's own. No one checks their own masks, in the truth that ends in their
pseudonym or name: they see the findings and comment on them, and the finder, or an organiser who did not draw
the mask, resolves them. Positions are pixels of the image.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from faultscape.errors import OptionError
from faultscape.reading.second_round import is_by
from faultscape.reporting.pictures import colour_words
from faultscape.study.answers.annotators import ORGANISER, Annotator
from faultscape.study.answers.checks import COMMENT, KINDS, NOTHING, OPEN, RESOLVED, Check, Checks
from faultscape.study.parts import read_manifest
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image
from faultscape.verbs.serve.campaign import Campaign
from faultscape.verbs.serve.gate import Gate, RefusedError
from faultscape.verbs.serve.pages import work
from faultscape.verbs.serve.pictures import LONGEST, MAP_WAYS, photo, send_map
from faultscape.web.app import NotFoundError, page, send_picture
from faultscape.web.bodies import form_body
from faultscape.web.photos import Pictures
from faultscape.web.words import plain_text

_LONGEST_COMMENT = 1000


@dataclass(frozen=True)
class MaskRow:
    """One mask in the list: its page, how many findings are open and resolved, and who reviewed it."""

    address: str
    image: str
    truth: str
    open: int
    resolved: int
    looked: str


@dataclass(frozen=True)
class Pin:
    """One finding on the page of a mask: its number, its position, and its comments."""

    number: int
    check: Check
    x: float | None
    y: float | None


def router(campaign: Campaign, gate: Gate, pictures: Pictures, links: Any) -> APIRouter:
    """Return the routes of the second round."""
    routes = APIRouter()
    checks = Checks(campaign.root, campaign.database)

    @routes.get("/checks", response_class=HTMLResponse)
    def listed(request: Request) -> Response:
        who = gate.annotator(request)
        rows = _rows(campaign, checks, who)
        only = request.query_params.get("state", "")
        shown = (
            [row for row in rows if row.open]
            if only == OPEN
            else [row for row in rows if not row.looked]
            if only == "new"
            else rows
        )
        counts = {
            "all": len(rows),
            "open": sum(row.open > 0 for row in rows),
            "new": sum(not row.looked for row in rows),
        }
        return page(
            request,
            "checks.html.jinja",
            200,
            None,
            title=campaign.title,
            links=links(who),
            user_name=who.name or who.pseudonym,
            rows=shown[:500],
            number=len(shown),
            counts=counts,
            only=only,
        )

    @routes.get("/check/{number}", response_class=HTMLResponse)
    def one(request: Request, number: str) -> Response:
        who = gate.annotator(request)
        image = campaign.image_at(number)
        truth = _truth(campaign, who, request.query_params.get("truth", ""))
        pins = _pins(
            [check for check in checks.checks(truth) if check.image == image.id and check.kind != NOTHING]
        )
        return page(
            request,
            "check.html.jinja",
            200,
            None,
            title=campaign.title,
            links=links(who),
            user_name=who.name or who.pseudonym,
            token=gate.token(who),
            image=image,
            number=int(number),
            truth=truth,
            pins=pins,
            kinds=KINDS,
            own=_is_own(who, truth),
            resolves={pin.check.number for pin in pins if _may_resolve(who, pin.check)},
            behind=_next(campaign, checks, who, image, truth),
            at=f"/mask/{number}",
            query=f"?truth={quote(truth)}",
            colours=colour_words(campaign.settings.class_list),
            settle=work.SETTLE,
        )

    @routes.post("/check/{number}")
    async def say(request: Request, number: str) -> Response:
        given = await form_body(request)
        who = await run_in_threadpool(gate.writer, request, token=given.get("token", ""))
        return await run_in_threadpool(_say, who, number, given)

    def _say(who: Annotator, number: str, given: dict[str, str]) -> Response:
        image = campaign.image_at(number)
        truth = _truth(campaign, who, given.get("truth", ""))
        comment = plain_text(given.get("comment", ""))[:_LONGEST_COMMENT]
        key = f"{who.pseudonym}:{plain_text(given.get('key', ''))[:64] or secrets.token_hex(8)}"
        back = RedirectResponse(f"/check/{number}?truth={quote(truth)}", 303)
        if act := given.get("act", ""):
            found = next(
                (
                    one
                    for one in checks.checks(truth)
                    if str(one.number) == given.get("of") and one.image == image.id
                ),
                None,
            )
            if found is None:
                raise NotFoundError("this finding does not exist")
            states = {"comment": COMMENT, "resolve": RESOLVED, "open again": OPEN}
            if act not in states:
                raise OptionError(f"unknown action for a finding: {act[:40]!r}")
            if act == "comment" and not comment:
                raise OptionError("a comment needs text")
            if act == "resolve" and not _may_resolve(who, found):
                raise RefusedError(
                    "only the finder, or an organiser who did not draw the mask, can resolve this; add a"
                    " comment instead"
                )
            checks.answer(found, states[act], comment, who.pseudonym, source="label serve", key=key)
            return back
        kind = given.get("kind", "")
        if kind not in (*KINDS, NOTHING):
            raise OptionError(f"{kind[:40]!r} is not a kind of error; use {', '.join(KINDS)}")
        if _is_own(who, truth):
            raise RefusedError("you cannot review your own masks; comment on what others find")
        checks.open(
            truth,
            image.id,
            kind,
            comment,
            who.pseudonym,
            at=_position(given, image),
            source="label serve",
            key=key,
        )
        behind = _next(campaign, checks, who, image, truth) if kind == NOTHING else ""
        return RedirectResponse(behind, 303) if behind else back

    @routes.get("/mask/{number}/photo")
    def mask_photo(request: Request, number: str) -> Response:
        gate.annotator(request)
        image = campaign.image_at(number)
        return send_picture(
            request, pictures, f"photo\n{image.id}\n{image.digest}\n{LONGEST}", lambda: photo(image)
        )

    @routes.get("/mask/{number}/{way}")
    def mask(request: Request, number: str, way: str) -> Response:
        who = gate.annotator(request)
        image = campaign.image_at(number)
        truth = _truth(campaign, who, request.query_params.get("truth", ""))
        if way not in MAP_WAYS:
            raise NotFoundError("this image does not exist")
        folder = label_maps.truth(campaign.root, truth)
        return send_map(request, pictures, campaign.root, campaign.settings, folder, image, way, None)

    return routes


def _truth(campaign: Campaign, who: Annotator, name: str) -> str:
    """Return a truth of masks that the study has and a person may see; NotFoundError for any other."""
    if name not in _truths(campaign, who):
        raise NotFoundError(f"there are no masks under {name[:40]!r}")
    return name


def _truths(campaign: Campaign, who: Annotator) -> list[str]:
    """Return the truths of masks that a person may see: all for an organiser, otherwise those of this
    campaign's annotators.
    """
    all_ = label_maps.truths(campaign.root)
    return [
        name
        for name in all_
        if who.role == ORGANISER or _is_own(who, name) or name.startswith(f"{campaign.options.truth}-")
    ]


def _is_own(who: Annotator, truth: str) -> bool:
    """Return whether a truth holds the masks that a person drew."""
    return is_by(truth, who.pseudonym) or is_by(truth, who.name)


def _may_resolve(who: Annotator, found: Check) -> bool:
    """Return whether a person may resolve a finding: the finder, or an organiser who did not draw the
    mask.
    """
    return found.annotator in {who.pseudonym, who.name} or (
        who.role == ORGANISER and not _is_own(who, found.truth)
    )


def _masks(campaign: Campaign, who: Annotator) -> list[tuple[str, str]]:
    """Return (image, truth) of all masks of others that a person may see."""
    out = []
    for truth in _truths(campaign, who):
        if _is_own(who, truth):
            continue
        folder = label_maps.truth(campaign.root, truth)
        out += [
            (id_, truth)
            for name, part in sorted(read_manifest(folder).items())
            for id_ in label_maps.read_ids(folder, int(name), part)
        ]
    return [(id_, truth) for id_, truth in out if campaign.place_of(id_) is not None]


def _rows(campaign: Campaign, checks: Checks, who: Annotator) -> list[MaskRow]:
    """Return a person's list: their own masks with findings, and all masks of others."""
    found: dict[tuple[str, str], list[Check]] = {}
    for check in checks.checks():
        found.setdefault((check.image, check.truth), []).append(check)
    rows = []
    truths = _truths(campaign, who)
    own = [
        key
        for key in found
        if key[1] in truths and _is_own(who, key[1]) and campaign.place_of(key[0]) is not None
    ]
    for image, truth in (*own, *_masks(campaign, who)):
        mine = found.get((image, truth), [])
        real = [check for check in mine if check.kind != NOTHING]
        looked = ", ".join(dict.fromkeys(check.annotator for check in mine))
        opened = sum(not check.resolved for check in real)
        rows.append(
            MaskRow(_address(campaign, image, truth), image, truth, opened, len(real) - opened, looked)
        )
    return rows


def _next(campaign: Campaign, checks: Checks, who: Annotator, image: Image, truth: str) -> str:
    """Return the address of the next mask that no one has reviewed, or ''."""
    looked = {(check.image, check.truth) for check in checks.checks()}
    masks = _masks(campaign, who)
    at = masks.index((image.id, truth)) if (image.id, truth) in masks else -1
    return next(
        (_address(campaign, *one) for one in [*masks[at + 1 :], *masks[: max(at, 0)]] if one not in looked),
        "",
    )


def _address(campaign: Campaign, image: str, truth: str) -> str:
    return f"/check/{campaign.place_of(image)}?truth={quote(truth)}"


def _pins(found: Sequence[Check]) -> list[Pin]:
    return [
        Pin(k, check, *(None if math.isnan(v) else v for v in (check.x, check.y)))
        for k, check in enumerate(found, 1)
    ]


def _position(given: dict[str, str], image: Image) -> tuple[float, float] | None:
    """Return the position in a form, within the image, or None."""
    if not given.get("x") or not given.get("y"):
        return None
    try:
        x = float(given["x"])
        y = float(given["y"])
    except ValueError:
        raise OptionError("a position must be two numbers") from None
    if not (0 <= x <= image.width and 0 <= y <= image.height):
        raise OptionError(f"a position must be within the image, {image.width} x {image.height} pixels")
    return round(x, 1), round(y, 1)
