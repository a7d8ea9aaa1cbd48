"""Kinds of failure, tagged image by image: what an image is like, and how a model fails on it or on a region
of it (Yan et al. 2021, Wang et al. 2020).

Conventions: only organisers tag, because they see which model is which. Pressing a tag again removes it.
Regions are `X,Y,WIDTH,HEIGHT` in pixels of the image.
"""

from __future__ import annotations

import secrets
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from faultscape.errors import OptionError
from faultscape.reporting.pictures import colour_words
from faultscape.study.answers.annotators import Annotator
from faultscape.study.answers.tags import Tag, Tags, region_within
from faultscape.study.tables.corpus import Image
from faultscape.verbs.serve.campaign import Campaign
from faultscape.verbs.serve.pages import work
from faultscape.verbs.serve.pages.site import Site
from faultscape.verbs.serve.pictures import MAP_WAYS, send_map
from faultscape.web.app import NotFoundError
from faultscape.web.bodies import form_body
from faultscape.web.words import plain_text


def router(site: Site) -> APIRouter:
    """Return the routes of tags."""
    routes = APIRouter()
    campaign = site.campaign
    gate = site.gate
    tags = Tags(campaign.root, campaign.database)

    @routes.get("/tags")
    def first(request: Request) -> Response:
        gate.organiser(request)
        places = _places(campaign)
        if not places:
            raise NotFoundError("the selection has no images to tag")
        return RedirectResponse(f"/tags/{places[0]}", 303)

    @routes.get("/tags/{number}", response_class=HTMLResponse)
    def one(request: Request, number: str) -> Response:
        who = gate.organiser(request)
        image = campaign.image_at(number)
        model = _model(campaign, request.query_params.get("model", ""))
        every = tags.tags()
        given = [tag for tag in every if tag.image == image.id]
        tagged = {tag.image for tag in every}
        proposals: dict[str, list[str]] = {}
        for name, why in campaign.proposals(campaign.study(), image, model):
            proposals.setdefault(name, []).append(why)
        places = _places(campaign)
        at = places.index(int(number)) if int(number) in places else -1
        return site.page(
            request,
            "tags.html.jinja",
            who,
            image=image,
            number=int(number),
            model=model,
            models=list(campaign.settings.models),
            kinds=campaign.kinds(),
            pressed={
                tag.tag
                for tag in given
                if (tag.model, tag.region, tag.annotator) == (model, "", who.pseudonym)
            },
            given=given,
            proposals=proposals,
            known=_known(campaign, image),
            walk=[(place, campaign.image_at(str(place)).id in tagged) for place in places],
            before=places[at - 1] if at > 0 else None,
            behind=places[at + 1] if 0 <= at < len(places) - 1 else None,
            position=at + 1,
            total=len(places),
            query=f"?{urlencode({'model': model})}" if model else "",
            maps=not campaign.settings.classifies,
            colours=colour_words(campaign.settings.class_list),
            asked=campaign.classes_of(image),
            settle=work.SETTLE,
        )

    @routes.post("/tags/{number}")
    async def press(request: Request, number: str) -> Response:
        given = await form_body(request)
        who = await run_in_threadpool(gate.writer, request, organiser=True, token=given.get("token", ""))
        return await run_in_threadpool(_press, who, number, given)

    def _press(who: Annotator, number: str, given: dict[str, str]) -> Response:
        image = campaign.image_at(number)
        model = _model(campaign, given.get("model", ""))
        word = given.get("tag", "")
        if word not in _known(campaign, image):
            raise OptionError(f"unknown kind of failure: {word[:40]!r}; add it to [tags] in study.toml")
        region = _region(given.get("region", ""), image)
        held = {
            (tag.tag, tag.model, tag.region, tag.annotator) for tag in tags.tags() if tag.image == image.id
        }
        there = (word, model, region, who.pseudonym) in held
        tags.add(
            Tag(image.id, word, who.pseudonym, model, region, given=not there),
            "label serve",
            f"{who.pseudonym}:{plain_text(given.get('key', ''))[:64] or secrets.token_hex(8)}",
        )
        query = f"?{urlencode({'model': model})}" if model else ""
        return RedirectResponse(f"/tags/{number}{query}", 303)

    @routes.get("/model/{number}/{way}")
    def model_map(request: Request, number: str, way: str) -> Response:
        gate.organiser(request)
        image = campaign.image_at(number)
        model = _model(campaign, request.query_params.get("model", ""))
        if way not in MAP_WAYS or not model:
            raise NotFoundError("this image does not exist")
        return send_map(request, site.pictures, campaign.study(), image, way, model=model)

    return routes


def _known(campaign: Campaign, image: Image) -> set[str]:
    """Return what an image can be tagged with: the kinds of failure, and the name of its group."""
    return {*campaign.kinds(), *([image.group] if image.group else [])}


def _places(campaign: Campaign) -> list[int]:
    return [place for image in campaign.chosen if (place := campaign.place_of(image)) is not None]


def _model(campaign: Campaign, name: str) -> str:
    """Return a model of the study, or '' for none; NotFoundError for any other."""
    if name and name not in campaign.settings.models:
        raise NotFoundError(f"there is no model {name[:40]!r}")
    return name


def _region(text: str, image: Image) -> str:
    """Return a region within the image in stored form; OptionError for an invalid one."""
    try:
        return region_within(text, (image.width, image.height))
    except ValueError as error:
        raise OptionError(str(error)) from None
