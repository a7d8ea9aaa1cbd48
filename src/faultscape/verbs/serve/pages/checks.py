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
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from faultscape.errors import OptionError
from faultscape.reading.second_round import is_by
from faultscape.reading.study import Study
from faultscape.reporting.pictures import colour_words
from faultscape.study.answers.annotators import ORGANISER, Annotator
from faultscape.study.answers.checks import COMMENT, KINDS, NOTHING, OPEN, RESOLVED, Check, Checks
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image
from faultscape.verbs.serve.campaign import Campaign
from faultscape.verbs.serve.gate import RefusedError
from faultscape.verbs.serve.pages import work
from faultscape.verbs.serve.pages.site import Site
from faultscape.verbs.serve.pictures import LONGEST, MAP_WAYS, photo, send_map
from faultscape.web.app import NotFoundError, send_picture
from faultscape.web.bodies import form_body
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
class Reviewer:
    """One person who looks at masks, while one request is answered."""

    campaign: Campaign
    study: Study
    who: Annotator

    @property
    def checks(self) -> Checks:
        """What was found in masks."""
        return Checks(self.study.root, self.study.database)

    @property
    def truths(self) -> list[str]:
        """The truths of masks that the person may see: all for an organiser, otherwise those of this
        campaign's annotators.
        """
        ours = f"{self.campaign.options.truth}-"
        return [
            name
            for name in self.study.label_folders
            if self.who.role == ORGANISER or self.is_own(name) or name.startswith(ours)
        ]

    def truth(self, name: str) -> str:
        """Return a truth of masks that the study has and the person may see; NotFoundError for any other."""
        if name not in self.truths:
            raise NotFoundError(f"there are no masks under {name[:40]!r}")
        return name

    def is_own(self, truth: str) -> bool:
        """Return whether a truth holds the masks that the person drew."""
        return is_by(truth, self.who.pseudonym) or is_by(truth, self.who.name)

    def may_resolve(self, found: Check) -> bool:
        """Return whether the person may resolve a finding: the finder, or an organiser who did not draw the
        mask.
        """
        return found.annotator in {self.who.pseudonym, self.who.name} or (
            self.who.role == ORGANISER and not self.is_own(found.truth)
        )

    def masks(self) -> list[tuple[str, str]]:
        """Return (image, truth) of all masks of others that the person may see."""
        out = []
        for truth in self.truths:
            if self.is_own(truth):
                continue
            folder = label_maps.truth(self.study.root, truth)
            out += [
                (id_, truth)
                for name, part in sorted(self.study.manifest(folder).items())
                for id_ in label_maps.read_ids(folder, int(name), part)
            ]
        return [(id_, truth) for id_, truth in out if self.campaign.place_of(id_) is not None]

    def rows(self) -> list[MaskRow]:
        """Return the person's list: their own masks with findings, and all masks of others."""
        found: dict[tuple[str, str], list[Check]] = {}
        for check in self.checks.checks():
            found.setdefault((check.image, check.truth), []).append(check)
        rows = []
        truths = self.truths
        own = [
            key
            for key in found
            if key[1] in truths and self.is_own(key[1]) and self.campaign.place_of(key[0]) is not None
        ]
        for image, truth in (*own, *self.masks()):
            mine = found.get((image, truth), [])
            real = [check for check in mine if check.kind != NOTHING]
            looked = ", ".join(dict.fromkeys(check.annotator for check in mine))
            opened = sum(not check.resolved for check in real)
            address = self.address_of(image, truth)
            rows.append(MaskRow(address, image, truth, opened, len(real) - opened, looked))
        return rows

    def behind(self, image: str, truth: str) -> str:
        """Return the address of the next mask that no one has reviewed, or ''."""
        looked = {(check.image, check.truth) for check in self.checks.checks()}
        masks = self.masks()
        at = masks.index((image, truth)) if (image, truth) in masks else -1
        others = [*masks[at + 1 :], *masks[: max(at, 0)]]
        return next((self.address_of(*one) for one in others if one not in looked), "")

    def address_of(self, image: str, truth: str) -> str:
        """Return the address of the page of a mask."""
        return f"/check/{self.campaign.place_of(image)}?truth={quote(truth)}"


@dataclass(frozen=True)
class Pin:
    """One finding on the page of a mask: its number, its position, and its comments."""

    number: int
    check: Check
    x: float | None
    y: float | None


def router(site: Site) -> APIRouter:
    """Return the routes of the second round."""
    routes = APIRouter()
    campaign = site.campaign
    gate = site.gate
    pictures = site.pictures

    def reviewer(who: Annotator) -> Reviewer:
        return Reviewer(campaign, campaign.study(), who)

    @routes.get("/checks", response_class=HTMLResponse)
    def listed(request: Request) -> Response:
        who = gate.annotator(request)
        rows = reviewer(who).rows()
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
        return site.page(
            request,
            "checks.html.jinja",
            who,
            rows=shown[:500],
            number=len(shown),
            counts=counts,
            only=only,
        )

    @routes.get("/check/{number}", response_class=HTMLResponse)
    def one(request: Request, number: str) -> Response:
        who = gate.annotator(request)
        image = campaign.image_at(number)
        mine = reviewer(who)
        truth = mine.truth(request.query_params.get("truth", ""))
        found = mine.checks.checks(truth)
        pins = _pins([check for check in found if check.image == image.id and check.kind != NOTHING])
        return site.page(
            request,
            "check.html.jinja",
            who,
            image=image,
            number=int(number),
            truth=truth,
            pins=pins,
            kinds=KINDS,
            own=mine.is_own(truth),
            resolves={pin.check.number for pin in pins if mine.may_resolve(pin.check)},
            behind=mine.behind(image.id, truth),
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
        mine = reviewer(who)
        checks = mine.checks
        truth = mine.truth(given.get("truth", ""))
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
            if act == "resolve" and not mine.may_resolve(found):
                raise RefusedError(
                    "only the finder, or an organiser who did not draw the mask, can resolve this; add a"
                    " comment instead"
                )
            checks.answer(found, states[act], comment, who.pseudonym, source="label serve", key=key)
            return back
        kind = given.get("kind", "")
        if kind not in (*KINDS, NOTHING):
            raise OptionError(f"{kind[:40]!r} is not a kind of error; use {', '.join(KINDS)}")
        if mine.is_own(truth):
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
        behind = mine.behind(image.id, truth) if kind == NOTHING else ""
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
        mine = reviewer(who)
        truth = mine.truth(request.query_params.get("truth", ""))
        if way not in MAP_WAYS:
            raise NotFoundError("this image does not exist")
        return send_map(request, pictures, mine.study, image, way, truth=truth)

    return routes


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
