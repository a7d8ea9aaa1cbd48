"""The pages of `view`: the grid, one image, one pair; and the images and lists that they load.

Conventions: an image is identified by its position in the corpus, a number; models, truths and everything
else by names in the study. No part of an address is ever a path. Every page is rendered from the study as it
was read, and works without scripts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from faultscape.corpus.photos import read_photo
from faultscape.errors import ImageError, OptionError
from faultscape.reporting.pictures import colour_words
from faultscape.reporting.template import template
from faultscape.verbs.view import facts
from faultscape.verbs.view.between import MapCounts
from faultscape.verbs.view.cards import Card, cards, choices, layers, line_of, version_of
from faultscape.verbs.view.filters import PAIR, ImageQuery, check, find, read_query
from faultscape.verbs.view.layers import draw, overlay_key, read_layer, truth_for
from faultscape.verbs.view.library import Library, Opened
from faultscape.web.app import NotFoundError, page, send_picture
from faultscape.web.overlays import png
from faultscape.web.photos import SIZES, Pictures, shrink

_LARGE = SIZES[-1]
_LONGEST_NUMBER = 9  # digits


def _opening(study: Opened) -> ImageQuery:
    """Return what `view` opens on: most disagreement first, and over the images where the two models differ
    that agree least.
    """
    if len(study.models) < 2:
        return ImageQuery()
    pair = study.said.furthest if isinstance(study.said, MapCounts) else None
    if pair is None:
        return ImageQuery(sort="-disagreement")
    return ImageQuery(sort="-disagreement", a=pair[0], b=pair[1], show=PAIR)


def router(library: Library) -> APIRouter:
    """Return the routes of a study's pages."""
    routes = APIRouter()
    pictures = Pictures()
    for name in ("base", "parts", "browse", "images", "image", "pair", "walk"):
        # read now, so that the first request does not wait
        template(f"app/{name}.html.jinja")

    @routes.get("/", response_class=HTMLResponse)
    def browse(request: Request) -> Response:
        study = library.now
        query = _query(request)
        opening = query == ImageQuery()
        if opening:
            query = _opening(study)
        found = find(query, study)
        return page(
            request,
            "browse.html.jinja",
            200,
            None,
            unfolded=not opening and (query.narrows or bool(query.a or query.model)),
            **_shared(library, study, query),
            **_found(study, query, found),
            choices=choices(study, query),
        )

    @routes.get("/images", response_class=HTMLResponse)
    def images(request: Request) -> Response:
        study = library.now
        query = _query(request)
        found = find(query, study)
        address = {"hx-push-url": f"/?{query.address()}"}
        return page(
            request,
            "images.html.jinja",
            200,
            address,
            **_shared(library, study, query),
            **_found(study, query, found),
        )

    @routes.get("/image/{number}", response_class=HTMLResponse)
    def image(request: Request, number: str) -> Response:
        study = library.now
        query = _query(request)
        place = _place(number, study)
        found = find(query, study)
        truth = truth_for(query, study, place)
        if query.show and query.show != PAIR:
            read_layer(query.show, study)
        return page(
            request,
            "image.html.jinja",
            200,
            None,
            **_shared(library, study, query),
            **_around(found, place),
            card=_card(study, query, place),
            truth=truth,
            layers=layers(study, query, place, truth),
            rows=facts.model_rows(study, place, truth),
            learners=facts.learners(study, place) if truth else [],
            agreements=facts.agreements(study, place),
            about=_about(study, place),
            size=_LARGE,
            choices=choices(study, query),
            chosen=0 if truth else facts.choices_on(study, place),
        )

    @routes.get("/pair", response_class=HTMLResponse)
    def pair(request: Request) -> Response:
        study = library.now
        given = request.query_params.multi_items()
        numbers = [value for name, value in given if name == "image"]
        if len(numbers) != 1:
            raise OptionError("expected an image and two models: /pair?image=NUMBER&a=MODEL&b=MODEL")
        query = read_query([row for row in given if row[0] != "image"])
        place = _place(numbers[0], study)
        found = find(query, study)
        if not query.a or not query.b:
            raise OptionError("a pair needs two models: name them with a and b")
        truth = truth_for(query, study, place)
        known = None if study.settings.classifies else facts.pair_facts(study, place, query.a, query.b, truth)
        return page(
            request,
            "pair.html.jinja",
            200,
            None,
            **_shared(library, study, query),
            **_around(found, place),
            card=_card(study, query, place),
            truth=truth,
            pair=known,
            rows={row.name: row for row in facts.model_rows(study, place, truth)},
            size=_LARGE,
            choices=choices(study, query),
        )

    @routes.get("/photo/{number}")
    def photo(request: Request, number: str) -> Response:
        study = library.now
        place = _place(number, study)
        longest = _size(request)
        row = study.columns.image(place)
        version = version_of(study, place)
        if request.query_params.get("v", version) != version:
            raise NotFoundError("the study changed since this page was loaded; reload the page")
        key = f"photo\n{row.id}\n{row.digest}\n{longest}"

        def made() -> tuple[bytes, str]:
            try:
                return shrink(read_photo(row)[0], longest)
            except ImageError as error:
                raise NotFoundError(f"the image cannot be shown: {error}") from None

        return send_picture(request, pictures, key, made, for_ever="v" in request.query_params)

    @routes.get("/overlay/{number}")
    def overlay(request: Request, number: str) -> Response:
        study = library.now
        longest = _size(request)
        place = _place(number, study)
        given = [row for row in request.query_params.multi_items() if row[0] != "size"]
        query = read_query(given)
        check(query, study.columns, study.models, study.classes)

        def made() -> tuple[bytes, str]:
            drawn = draw(study, query, place, longest)
            if drawn is None:
                raise NotFoundError(f"image {number} has no map for this overlay")
            return png(drawn), "image/png"

        return send_picture(request, pictures, overlay_key(study, query, place, longest), made)

    @routes.get("/list.txt", response_class=PlainTextResponse)
    def list_(request: Request) -> Response:
        study = library.now
        query = _query(request)
        ids = study.columns.ids_at(find(query, study))
        return PlainTextResponse(
            "".join(f"{line_of(id_)}\n" for id_ in ids), headers={"cache-control": "no-store"}
        )

    @routes.get("/reload")
    def reload() -> Response:
        library.read_again()
        return RedirectResponse("/", 303)

    return routes


@dataclass(frozen=True)
class Shared:
    """What every page shows about the study: its name, how many images and models, how many images are read
    and lack counts, and whether it changed.
    """

    name: str
    images: int
    models: tuple[str, ...]
    read: int
    lacking: int
    classifies: bool
    changed: bool


def _shared(library: Library, study: Opened, query: ImageQuery) -> dict[str, object]:
    """Return the variables that every template gets."""
    name = study.now.root.resolve().name
    said = study.said
    about = Shared(
        name,
        len(study.columns),
        study.models,
        said.read,
        said.lacking,
        study.settings.classifies,
        library.changed(),
    )
    return {"study": about, "query": query, "title": name, "colours": colour_words(study.classes)}


def _found(study: Opened, query: ImageQuery, found: np.ndarray) -> dict[str, object]:
    """Return one page of results; OptionError for a page after the last."""
    pages = max(1, -(-len(found) // query.per))
    if query.page > pages:
        raise OptionError(
            f"page={query.page}: there {'is 1 page' if pages == 1 else f'are {pages} pages'} of these images"
        )
    first = (query.page - 1) * query.per
    shown = cards(study, query, found[first : first + query.per].tolist())
    return {
        "cards": shown,
        "number": len(found),
        "first": first + 1,
        "last": first + len(shown),
        "pages": pages,
    }


def _around(found: np.ndarray, place: int) -> dict[str, object]:
    """Return the previous and next image in the results, and the position of an image in them, or None."""
    at = np.flatnonzero(found == place)
    k = int(at[0]) if len(at) else None
    before = None if k is None or k == 0 else int(found[k - 1])
    behind = (
        int(found[0])
        if k is None and len(found)
        else None
        if k is None or k + 1 == len(found)
        else int(found[k + 1])
    )
    return {
        "before": before,
        "behind": behind,
        "position": None if k is None else k + 1,
        "number": len(found),
    }


def _card(study: Opened, query: ImageQuery, place: int) -> Card:
    return cards(study, query, [place], _LARGE)[0]


def _about(study: Opened, place: int) -> list[tuple[str, str]]:
    """Return (term, text) of what the corpus contains about an image."""
    row = study.columns.image(place)
    near = row.near_duplicate_of if row.near_duplicate_of not in ("", row.id) else ""
    chosen = [name for name, mask in study.columns.chosen.items() if mask[place]]
    tags = [tag for tag, mask in study.columns.tags.items() if mask[place]]
    said = [
        ("set", row.set),
        ("role", row.role),
        ("condition", row.condition),
        ("made from", row.parent),
        ("group", row.group),
        ("near-duplicate of", near),
        ("size", f"{row.width} × {row.height}" if row.width else ""),
        (
            "labels",
            ", ".join(truth for truth, mask in study.columns.labelled.items() if mask[place]) or "none",
        ),
        ("discarded", study.columns.reasons.get(place, "")),
        ("chosen by", ", ".join(chosen)),
        ("tags", ", ".join(tags)),
    ]
    return [(term, words) for term, words in said if words]


def _query(request: Request) -> ImageQuery:
    return read_query(request.query_params.multi_items())


def _place(number: str, study: Opened) -> int:
    """Return the position that an address names; NotFoundError if the study has no such image."""
    if not (
        number.isascii()
        and number.isdecimal()
        and len(number) <= _LONGEST_NUMBER
        and int(number) < len(study.columns)
    ):
        raise NotFoundError(
            f"there is no image {number[:40]!r}; this study has images 0 to {len(study.columns) - 1}"
        )
    return int(number)


def _size(request: Request) -> int:
    """Return the longest side to show, one of `SIZES`."""
    given = request.query_params.get("size", str(SIZES[0]))
    if given not in map(str, SIZES):
        raise OptionError(f"size={given[:40]}: images are made at {', '.join(map(str, SIZES))}")
    return int(given)
