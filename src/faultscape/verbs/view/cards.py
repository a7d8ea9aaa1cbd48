"""What templates show of images, and what forms offer: plain text, numbers and addresses.

Conventions: every address is built here from numbers and encoded names. A list of more than `FEW` values is
offered as a completing field, not as a menu.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

import numpy as np

from faultscape.verbs.view import facts
from faultscape.verbs.view.filters import ALL, ANY, PAIR, SOME, ImageQuery, agreement_of, score_of
from faultscape.verbs.view.layers import MODEL, TRUTH, Layer, size_at
from faultscape.verbs.view.library import Opened
from faultscape.web.photos import SIZES, tag_of

FEW = 60
_SMALL, _, _LARGE = SIZES


@dataclass(frozen=True)
class Card:
    """One image: its number, id and facts, and the addresses of its page, its file and its overlay ('' for
    none).
    """

    number: int
    id: str
    page: str
    photo: str
    overlay: str
    width: int
    height: int
    marks: tuple[str, ...]
    label: str
    discarded: str
    disagreement: float | None
    agreement: float | None
    score: float | None
    others: int  # near-duplicates of it that are folded
    near: str


@dataclass(frozen=True)
class Choice:
    """A field of the form: name, title, the options as (value, text), the current value, and whether it is a
    menu.
    """

    name: str
    title: str
    words: tuple[tuple[str, str], ...]
    chosen: str
    menu: bool


@dataclass(frozen=True)
class LayerLink:
    """A layer that can be overlaid: title, key, the addresses of the page with it and of its overlay, and
    whether it is shown now.
    """

    title: str
    key: str
    page: str
    overlay: str
    small: str
    shown: bool
    model: str = ""


def version_of(study: Opened, place: int) -> str:
    """Return a version that changes when the images or their numbers change."""
    return tag_of(f"{study.columns.id_at(place)}\n{study.columns.digest(place)}").strip('"')


def cards(study: Opened, query: ImageQuery, places: Sequence[int], size: int = _SMALL) -> list[Card]:
    """Return the cards of images, with images at the given size."""
    columns = study.columns
    agreement = agreement_of(query, study.said) if query.a and query.b else None
    score = score_of(query, study) if query.model and study.truths else None
    sizes = np.bincount(columns.alike, minlength=len(columns))
    folded = not (query.alike or query.near)
    sources = columns.table["source"]
    out = []
    for place in places:
        width, height = size_at(study, place, size)
        words = [columns.words[name] for name in ("set", "role", "condition", "group")]
        marks = [word.at(place) for word in words if len(word.words) > 1 and word.at(place)]
        photo = {"size": size, "v": version_of(study, place)}
        labelled = [truth for truth, has in columns.labelled.items() if has[place]]
        out.append(
            Card(
                place,
                columns.id_at(place),
                f"/image/{place}{_behind(query.address())}",
                f"/photo/{place}?{urlencode(photo)}" if sources[place].as_py() else "",
                _overlay(query, place, size) if query.show and not study.settings.classifies else "",
                width,
                height,
                tuple(marks),
                ", ".join(labelled),
                columns.reasons.get(place, ""),
                facts.disagreement(study, place),
                None if agreement is None or np.isnan(agreement[place]) else float(agreement[place]),
                None if score is None or np.isnan(score[place]) else float(score[place]),
                int(sizes[columns.alike[place]]) - 1 if folded else 0,
                f"/?{ImageQuery(near=columns.id_at(place)).address(show=query.show, a=query.a, b=query.b)}",
            )
        )
    return out


def layers(study: Opened, query: ImageQuery, place: int, truth: str) -> list[LayerLink]:
    """Return the layers that can be overlaid on one image, the plain image first."""

    def link(title: str, key: str, show: str, model: str = "") -> LayerLink:
        shown = query.show == show
        address = query.address(show=show, **({"as_": "fill"} if show == PAIR else {}))
        there = (
            _overlay(query, place, _LARGE, show=show),
            _overlay(query, place, _SMALL, show=show, as_="fill"),
        )
        return LayerLink(
            title, key, f"/image/{place}{_behind(address)}", *(there if show else ("", "")), shown, model
        )

    out = [link("image", "p", "")]
    if study.settings.classifies:
        return out
    out += (
        [link(f"truth {truth}" if truth != "labels" else "truth", "t", str(Layer(TRUTH, truth)))]
        if truth
        else []
    )
    out += [
        link(name, str(k) if k < 10 else "", str(Layer(MODEL, name)), name)
        for k, name in enumerate(study.models, 1)
    ]
    if query.a and query.b:
        out.append(link(f"{query.a} against {query.b}", "d", PAIR))
    return out


def choices(study: Opened, query: ImageQuery) -> dict[str, Choice]:
    """Return the fields of the form by name, leaving out those with nothing to choose."""
    columns = study.columns
    models = study.models
    named = {
        "set": ("set", columns.words["set"].words, query.set),
        "role": ("role", columns.words["role"].words, query.role),
        "condition": ("condition", columns.words["condition"].words, query.condition),
        "group": ("group", columns.words["group"].words, query.group),
        "selection": ("chosen by selection", tuple(columns.chosen), query.selection),
        "tag": ("tag", tuple(columns.tags), query.tag),
        "truth": ("labels of", study.truths, query.truth),
    }
    least = {"selection": 1, "tag": 1}
    out = {
        name: _choice(name, title, [w for w in words if w], chosen)
        for name, (title, words, chosen) in named.items()
        if len(words) >= least.get(name, 2)
    }
    states = (
        ("labelled", "labelled"),
        ("unlabelled", "not labelled"),
        ("discarded", "discarded"),
        ("kept", "not discarded"),
    )
    out["label"] = Choice("label", "label", (("", "any"), *states), query.label, menu=True)
    if models:
        out["class"] = _choice("class", "class", study.classes.names, query.class_)
        by = (
            (ANY, "any model"),
            (ALL, "all models"),
            (SOME, "some models, not all"),
            *((m, m) for m in models),
        )
        out["by"] = Choice("by", "shown by", by, query.by, menu=True)
    if len(models) > 1:
        out["a"], out["b"] = (
            _choice("a", "model a", models, query.a, "none"),
            _choice("b", "model b", models, query.b, "none"),
        )
    if (columns.alike != np.arange(len(columns))).any():
        folded = (("", "folded"), ("all", "shown"))
        out["alike"] = Choice("alike", "near-duplicates", folded, query.alike, menu=True)
    scored = bool(models and study.truths)
    if scored:
        out["model"] = _choice("model", "score of model", models, query.model, "none")
    orders = [
        ("collected", "as collected"),
        ("id", "by id"),
        ("-disagreement", "most disagreement first"),
        ("disagreement", "least disagreement first"),
    ]
    orders += [("agreement", "a and b agree least first"), ("-agreement", "a and b agree most first")]
    offered = orders if len(models) > 1 else orders[:2]
    if scored:
        offered += [
            ("score", "the model's lowest scores first"),
            ("-score", "the model's highest scores first"),
        ]
    out["sort"] = Choice("sort", "order", tuple(offered), query.sort or "collected", menu=True)
    if not study.settings.classifies:
        layered = [(str(Layer(TRUTH, t)), f"truth {t}") for t in study.truths] + [
            (str(Layer(MODEL, m)), m) for m in models
        ]
        first = query.a or "a"
        second = query.b or "b"
        layered += [(PAIR, f"where {first} and {second} differ")] if len(models) > 1 else []
        out["show"] = Choice("show", "over the images", (("", "nothing"), *layered), query.show, menu=True)
    return out


def line_of(id_: str) -> str:
    r"""Return an id as one line of a list; ids with unprintable characters are written as JSON.

    >>> line_of("night/a 1"), line_of("a\nb")
    ('night/a 1', '"a\\nb"')
    """
    return id_ if id_.isprintable() else json.dumps(id_)


def _choice(name: str, title: str, words: Sequence[str], chosen: str, empty: str = "any") -> Choice:
    return Choice(name, title, (("", empty), *((word, word) for word in words)), chosen, len(words) <= FEW)


def _overlay(query: ImageQuery, place: int, size: int, **changes: object) -> str:
    """Return the address of an overlay, with only the parts of the query that it needs."""
    kept = {"show": query.show, "as_": query.as_, "truth": query.truth, **changes}
    if kept["show"] == PAIR:
        kept |= {"a": query.a, "b": query.b}
    return f"/overlay/{place}?{ImageQuery().address(**kept)}&size={size}"


def _behind(address: str) -> str:
    return f"?{address}" if address else ""
