"""The page on which people answer: the items that it loads ahead, their images, and the answers that it
sends.

Conventions: neither a page nor an answer's address names a model: left and right are the maps that this
person was given. Bodies are JSON of limited size; a rejected answer comes back with a reason and does not
block the others. Each answer has its own key, so that it counts once however often it is sent.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, Response

from faultscape.errors import FaultscapeError, OptionError
from faultscape.formats.label_tools.point_labels import letters_of
from faultscape.nouns import CANNOT_TELL, VOID
from faultscape.reporting.pictures import colour_words
from faultscape.reporting.point_crops import crop_size
from faultscape.study.answers.annotators import ORGANISER
from faultscape.verbs.serve.agenda import Given
from faultscape.verbs.serve.asked_items import CHOICES, POINTS, ChoiceItem, PointItem, QuestionItem, item_id
from faultscape.verbs.serve.assignment import HELD_FOR
from faultscape.verbs.serve.campaign import Campaign
from faultscape.verbs.serve.image_cache import DecodedImages
from faultscape.verbs.serve.pages.site import Site
from faultscape.verbs.serve.pictures import LONGEST, POINT_WAYS, WAYS, draw_map, photo, point_picture
from faultscape.web.app import NotFoundError, json_answer, send_picture
from faultscape.web.bodies import json_body

_MOST_AHEAD = 10
_MOST_ROWS = 100
_TAKEN = "bvniux"  # keys of a page of points that mean no class
SETTLE = 250  # milliseconds after an item appeared, or after a press, in which presses are no answers
_NO_CLASS = "none of the classes"
REASONS = ("not a natural image", _NO_CLASS, "unreadable", "something else")


def router(site: Site) -> APIRouter:
    """Return the routes on which people answer."""
    routes = APIRouter()
    campaign = site.campaign
    gate = site.gate
    pictures = site.pictures
    decoded = DecodedImages()

    @routes.get("/work", response_class=HTMLResponse)
    def work(request: Request) -> Response:
        who = gate.annotator(request)
        return site.page(
            request,
            "work.html.jinja",
            who,
            task=campaign.task,
            user=who.pseudonym,
            store=campaign.title,
            forced=campaign.options.forced,
            # a point may show none of the classes, which is an answer
            reasons=[one for one in REASONS if campaign.task != POINTS or one != _NO_CLASS],
            nothing=campaign.nothing,
            colours=colour_words(campaign.settings.class_list),
            minutes=int(HELD_FOR // 60),
            settle=SETTLE,
            keys=_keys(campaign),
            instructions=campaign.instructions,
            repeats=campaign.asks_again,
            organiser=who.role == ORGANISER,
            letters=letters_of(campaign.settings.class_list.names, _TAKEN) if campaign.task == POINTS else {},
            neither=((VOID, "None of the classes", "v"), (CANNOT_TELL, "Cannot tell", "n")),
        )

    @routes.get("/api/items")
    def items(request: Request) -> Response:
        who = gate.asker(request)
        asked = request.query_params
        number = asked.get("number", "1")
        if not (
            number.isascii() and number.isdecimal() and len(number) < 4 and 0 < int(number) <= _MOST_AHEAD
        ):
            raise OptionError(f"number={number[:20]}: ask for 1 to {_MOST_AHEAD} items at once")
        have = {tuple(word.rpartition(":")[::2]) for word in asked.get("have", "").split(",") if word}
        given = campaign.items_for(
            who.pseudonym, {(id_, int(r)) for id_, r in have if r in ("0", "1")}, int(number)
        )
        left = campaign.left_for(who.pseudonym)
        held = 0 if given else campaign.held_by_others(who.pseudonym)
        return json_answer(
            {
                "items": [_shown(campaign, one) for one in given],
                "left": left,
                "done": campaign.done_by(who.pseudonym),
                "held": held,
                "finished": not given and not left,
                "instructions": campaign.instructions,
            }
        )

    @routes.post("/api/answers")
    async def answers(request: Request) -> Response:
        who = await run_in_threadpool(gate.writer, request)
        rows = (await json_body(request)).get("answers")
        if not isinstance(rows, list) or len(rows) > _MOST_ROWS:
            raise OptionError(f"expected a list of at most {_MOST_ROWS} answers")
        taken, refused = await run_in_threadpool(_take_all, campaign, who.pseudonym, rows)
        return json_answer({"taken": taken, "refused": refused})

    @routes.get("/item/{id}/photo")
    def item_photo(request: Request, id: str) -> Response:
        gate.annotator(request)
        image = campaign.image_of(campaign.find(id))
        return send_picture(
            request, pictures, f"photo\n{image.id}\n{image.digest}\n{LONGEST}", lambda: photo(image)
        )

    @routes.get("/item/{id}/point/{way}")
    def item_point(request: Request, id: str, way: str) -> Response:
        gate.annotator(request)
        item = campaign.find(id)
        if way not in POINT_WAYS or not isinstance(item, PointItem):
            raise NotFoundError("this image does not exist")
        image = campaign.image_of(item)
        key = f"point\n{image.id}\n{image.digest}\n{item.row}\n{item.column}\n{way}"

        def made() -> tuple[bytes, str]:
            return point_picture(decoded, image, item.row, item.column, way)

        return send_picture(request, pictures, key, made)

    @routes.get("/item/{id}/{repeat}/{side}/{way}")
    def item_map(request: Request, id: str, repeat: str, side: str, way: str) -> Response:
        who = gate.annotator(request)
        item = campaign.find(id)
        if (
            side not in ("left", "right")
            or way not in WAYS
            or repeat not in ("0", "1")
            or not isinstance(item, ChoiceItem)
        ):
            raise NotFoundError("this image does not exist")
        model = campaign.model_on(who.pseudonym, item, int(repeat), side)
        image = campaign.image_of(item)
        key = "\n".join(
            [
                "map 3",
                model,
                campaign.shown_digest(model, item.image),
                image.id,
                way,
                *(item.classes if way == "mark" else ()),
            ]
        )

        def made() -> tuple[bytes, str]:
            return draw_map(campaign.study(), image, way, model=model, marked=item.classes)

        return send_picture(request, pictures, key, made)

    @routes.get("/example/{number}")
    def example(request: Request, number: str) -> Response:
        gate.annotator(request)
        image = campaign.example(number)
        return send_picture(
            request, pictures, f"photo\n{image.id}\n{image.digest}\n320", lambda: photo(image, 320)
        )

    return routes


def _keys(campaign: Campaign) -> list[tuple[tuple[str, ...], str]]:
    """Return (keys, what they do) of the page."""
    sides = [(("1", "←"), "Left"), (("2", "→"), "Right")]
    neither = [(("3",), "Both good"), (("4",), "Both bad"), (("5",), "Not sure"), (("s",), "Skip")]
    looks = [
        (("f",), "Filled maps"),
        (("o",), "Outlines of the maps"),
        (("p",), "The image without the maps, until f or o"),
        (("i",), "Held: the image without the maps"),
        (("space",), "Flicker between image and maps"),
        (("h",), "Mark the classes in question"),
    ]
    questions = [(("y",), "Yes"), (("n",), "No"), (("5",), "Not sure")]
    if campaign.task == POINTS:
        return [
            (("1 … 9",), "The classes in the first row"),
            (("a … z",), "The class with this letter"),
            (("/",), "Search a class"),
            (("b",), "On a border: then its two classes"),
            (("v",), "None of the classes (void)"),
            (("n",), "Cannot tell"),
            (("i",), "Held: more of the image"),
            (("u",), "Undo the last answer"),
            (("x",), "Discard the image"),
            (("0",), "Unzoomed"),
            (("?",), "This help"),
        ]
    choices = campaign.task == CHOICES
    answers = [*sides, *([] if campaign.options.forced else neither)] if choices else questions
    every = [(("u",), "Undo the last answer"), (("x",), "Discard the image"), (("0",), "Whole image")]
    return [*answers, *every, *(looks if choices else []), (("?",), "This help")]


def warm(campaign: Campaign) -> None:
    """Read one map and image, so that the code is loaded before the first person would wait two seconds for
    it; errors are left to the request that meets them.
    """
    with suppress(FaultscapeError):
        if item := campaign.some_choice():
            image = campaign.image_of(item)
            draw_map(campaign.study(), image, WAYS[0], model=item.first)
            photo(image)


def _take_all(campaign: Campaign, pseudonym: str, rows: list[Any]) -> tuple[list[str], list[dict[str, str]]]:
    """Store answers one by one; return the keys of the stored ones, and the reasons for the others."""
    taken = []
    refused = []
    for row in rows:
        key = str(row.get("key", ""))[:100] if isinstance(row, dict) else ""
        why = campaign.take(pseudonym, row) if isinstance(row, dict) else "it is not a JSON object"
        if why:
            refused.append({"key": key, "why": why})
        else:
            taken.append(key)
    return taken, refused


def _shown(campaign: Campaign, given: Given) -> dict[str, Any]:
    """Return what the page is told about an item; nothing in it names a model."""
    item = given.item
    image = campaign.image_of(given.item)
    at = f"/item/{item.id}"
    photo_at = f"{at}/photo"
    about: dict[str, Any] = {
        "id": item.id,
        "repeat": given.repeat,
        "image_id": campaign.number_of(item),
        "photo": photo_at,
        "width": image.width,
        "height": image.height,
        "training": given.training,
        "expected": given.expected,
        "session": {
            "number": given.session,
            "done": given.position,
            "size": campaign.options.campaign.session,
        },
    }
    if campaign.task == CHOICES and isinstance(item, ChoiceItem):
        sides = {}
        for side in ("left", "right"):
            sides[side] = {
                way: f"{at}/{given.repeat}/{side}/{way}" for way in WAYS if way != "mark" or item.classes
            }
        about |= {"classes": list(item.classes), **sides}
        about["pictures"] = [
            photo_at,
            *(sides[side][way] for way in ("fill", "mark") for side in sides if way in sides[side]),
        ]
    elif isinstance(item, QuestionItem):
        about |= {
            "class": item.class_,
            "gloss": item.gloss,
            "examples": campaign.examples(item),
            "pictures": [photo_at],
        }
    elif isinstance(item, PointItem):
        ways = {way: f"{at}/point/{way}" for way in POINT_WAYS}
        by_chance = (str(campaign.options.seed), item.id, str(given.repeat))
        width, height = crop_size((image.width, image.height), item.row, item.column)
        about |= {
            "photo": ways["crop"],
            "width": width,
            "height": height,
            "wide": ways["wide"],
            "place": ways["place"],
            # not in the order of the models, and not by how many say so
            "predicted": sorted(item.predicted, key=lambda name: item_id(*by_chance, name)),
            "pictures": [*ways.values()],
        }
    return about
