"""Which images a page shows, and in which order: the query of an address, parsed strictly and applied to the
columns of all images.

Conventions: a query is the part of an address after ``?``; an empty value counts as absent, and an unknown
name or value is an OptionError. Positions come in corpus order, or sorted by a number, with missing numbers
last and ties in corpus order. Bounds are inclusive; an image without the number is outside them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import urlencode

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pydantic

from faultscape.errors import OptionError, closest
from faultscape.nouns import Classes
from faultscape.verbs.view.between import Between
from faultscape.verbs.view.columns import Columns

if TYPE_CHECKING:
    from faultscape.verbs.view.library import Opened

Label = Literal["labelled", "unlabelled", "discarded", "kept"]
# '' where nothing is asked for, in corpus order too
Sort = Literal[
    "", "collected", "-disagreement", "disagreement", "agreement", "-agreement", "score", "-score", "id"
]
Share = Annotated[float, pydantic.Field(ge=0, le=1, allow_inf_nan=False)]
Text = Annotated[str, pydantic.Field(max_length=300)]
PAIR = "pair"  # the value of `show` for the difference of a and b
ANY, ALL, SOME = "any", "all", "some"  # how many models show a class; otherwise the name of one
KEYS = {"class_": "class", "as_": "as"}  # fields with a different name in an address
WORDS = ("set", "role", "condition", "group")


@dataclass(frozen=True)
class ImageQuery:
    """The query of an address: which images, in which order, which page of them, and the overlay (``show``: a
    layer, see `layers`; ``as_`` how, ``blend`` how strongly in percent).
    """

    id: Text = ""
    set: Text = ""
    role: Text = ""
    condition: Text = ""
    group: Text = ""
    class_: Text = ""
    by: Text = ANY
    label: Label | Literal[""] = ""
    truth: Text = ""
    selection: Text = ""
    tag: Text = ""
    low: Share | None = None
    high: Share | None = None
    a: Text = ""
    b: Text = ""
    agree_low: Share | None = None
    agree_high: Share | None = None
    model: Text = ""
    score_low: Share | None = None
    score_high: Share | None = None
    near: Text = ""
    alike: Literal["", "all"] = ""
    sort: Sort = ""
    page: Annotated[int, pydantic.Field(ge=1, le=10_000_000)] = 1
    per: Literal[24, 48, 96] = 48
    show: Text = ""
    as_: Literal["fill", "outline", "right"] = "fill"
    blend: Literal[0, 25, 50, 75, 100] = 50

    def address(self, **changes: object) -> str:
        """Return the query as the part of an address after ``?``, with some fields changed; defaults are left
        out.

        >>> ImageQuery(set="night", page=3).address(page=1, class_="car")
        'set=night&class=car'
        """
        given = {f.name: changes.get(f.name, getattr(self, f.name)) for f in fields(self)}
        kept = {
            KEYS.get(f.name, f.name): given[f.name]
            for f in fields(self)
            if given[f.name] not in (f.default, None)
        }
        return urlencode(kept, errors="surrogateescape")

    @property
    def narrows(self) -> bool:
        """Whether the query may leave out images."""
        return bool(self.address(a="", b="", model="", truth="", by=ANY, **_AT_REST))


# fields that do not leave out images
_AT_REST = {"sort": "", "alike": "", "page": 1, "per": 48, "show": "", "as_": "fill", "blend": 50}
_NUMBERS = ("per", "page", "blend")
_QUERY = pydantic.TypeAdapter(ImageQuery)
_NAMES = {KEYS.get(f.name, f.name): f.name for f in fields(ImageQuery)}


def read_query(pairs: Iterable[tuple[str, str]]) -> ImageQuery:
    """Return the query for the (name, value) pairs of an address; OptionError for a name that is unknown or
    repeated, or an invalid value.

    >>> read_query([("class", "car"), ("page", "2"), ("low", "")])
    ImageQuery(id='', set='', ..., class_='car', ..., page=2, ...)
    """
    given: dict[str, object] = {}
    for name, value in pairs:
        if name not in _NAMES:
            raise OptionError(f"unknown parameter {name!r}.{closest(name, tuple(_NAMES))}")
        if _NAMES[name] in given:
            raise OptionError(f"{name} is given twice; give it once")
        if value := value.strip():
            given[_NAMES[name]] = (
                int(value) if name in _NUMBERS and value.isdecimal() and len(value) < 9 else value
            )
    try:
        return _QUERY.validate_python(given)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        value = f"{given.get(name)!s:.80}"
        said = f"{first['msg'][:1].lower()}{first['msg'][1:]}"
        if first["type"] == "literal_error":
            allowed = str(first.get("ctx", {}).get("expected", "")).replace(" or ", ", ").split(", ")
            words = [word for one in allowed if (word := one.strip("'"))]
            said = f"use {', '.join(words[:-1])} or {words[-1]}.{closest(value, words)}".rstrip(".")
        raise OptionError(f"{KEYS.get(name, name)}={value}: {said}") from None


def check(query: ImageQuery, columns: Columns, models: Sequence[str], classes: Classes) -> None:
    """OptionError for a query that names something the study does not have."""
    asked: list[tuple[str, str, Sequence[str]]] = [
        (name, getattr(query, name), columns.words[name].words) for name in WORDS
    ]
    asked += [
        ("class", query.class_, classes.names),
        ("by", query.by, (ANY, ALL, SOME, *models)),
        ("truth", query.truth, tuple(columns.labelled)),
        ("selection", query.selection, tuple(columns.chosen)),
        ("tag", query.tag, tuple(columns.tags)),
        ("a", query.a, models),
        ("b", query.b, models),
        ("model", query.model, models),
    ]
    for name, word, known in asked:
        if word and word not in known:
            raise OptionError(
                f"{name}={word!r}: the study has no such"
                f" {_KIND.get(name, name)}.{closest(word, tuple(known))}"
            )
    of_pair = (
        query.agree_low is not None
        or query.agree_high is not None
        or query.sort in ("agreement", "-agreement")
    )
    if (of_pair or query.show == PAIR) and (not query.a or not query.b):
        raise OptionError("agreement needs two models: name them with a and b")
    if query.a and query.a == query.b:
        raise OptionError(f"a and b are both {query.a}; name two models")
    if _asks_score(query) and not query.model:
        raise OptionError("a score needs a model: name it with model")
    if query.near and not len(columns.place_of(query.near)):
        raise OptionError(f"near={query.near!r}: the study has no such image")


def _asks_score(query: ImageQuery) -> bool:
    bounds = query.score_low, query.score_high
    return bounds != (None, None) or query.sort in ("score", "-score")


_KIND = {"a": "model", "b": "model", "by": "model"}


def find(query: ImageQuery, study: Opened) -> np.ndarray:
    """Return the positions of all images that match a query, in its order; of near-duplicates the first one
    alone, unless the query asks for all or for those of one image. OptionError as for `check`, and if no
    labels can score a model.
    """
    columns = study.columns
    check(query, columns, study.models, study.classes)
    places = np.flatnonzero(_mask(query, study))
    places = places[_order(query, study, places)]
    if query.alike or query.near:
        return places
    _, first = np.unique(columns.alike[places], return_index=True)
    return places[np.sort(first)]


def _order(query: ImageQuery, study: Opened, places: np.ndarray) -> np.ndarray:
    """Return the order of images at places."""
    if query.sort == "id":
        ids = study.columns.ids.take(pa.array(places)).combine_chunks()
        return pc.call_function("array_sort_indices", [ids]).to_numpy()
    by = query.sort.removeprefix("-")
    if by in ("", "collected"):
        return np.arange(len(places))
    values = {
        "agreement": lambda: agreement_of(query, study.said),
        "score": lambda: score_of(query, study),
        "disagreement": lambda: study.said.disagreement,
    }[by]()[places]
    return np.argsort(-values if query.sort.startswith("-") else values, kind="stable")  # NaN last either way


def agreement_of(query: ImageQuery, said: Between) -> np.ndarray:
    """Return (I,) the agreement of the two models that a query names."""
    return said.agreement(said.models.index(query.a), said.models.index(query.b))


def score_of(query: ImageQuery, study: Opened) -> np.ndarray:
    """Return (I,) the score of the model that a query names, against the truth that it names, or the first
    that has labels; NaN without a label.
    """
    return study.scores(query.truth)[study.models.index(query.model)]


def _mask(query: ImageQuery, study: Opened) -> np.ndarray:
    """Return (I,) whether an image matches a query."""
    columns = study.columns
    said = study.said
    mask = np.ones(len(columns), bool)
    for name in WORDS:
        if word := getattr(query, name):
            mask &= columns.words[name].is_(word)
    if query.id:
        options = pc.MatchSubstringOptions(query.id, ignore_case=True)
        mask &= pc.call_function("match_substring", [columns.ids], options).to_numpy()
    if query.class_:
        mask &= _shown(said, study.classes.names.index(query.class_), query.by)
    if query.label in ("discarded", "kept"):
        mask &= _discarded(columns) == (query.label == "discarded")
    elif query.label:
        mask &= _labelled(columns, query.truth) == (query.label == "labelled")
    if query.selection:
        mask &= columns.chosen[query.selection]
    if query.tag:
        mask &= columns.tags[query.tag]
    if query.near:
        mask &= columns.alike == columns.alike[columns.place_of(query.near)[0]]
    mask &= _within(lambda: said.disagreement, query.low, query.high)
    mask &= _within(lambda: score_of(query, study), query.score_low, query.score_high)
    return mask & _within(lambda: agreement_of(query, said), query.agree_low, query.agree_high)


def _within(values: Callable[[], np.ndarray], low: float | None, high: float | None) -> np.ndarray | bool:
    """Return whether numbers, computed only if there is a bound, are within bounds."""
    if low is None and high is None:
        return True
    found = values()
    return (found >= np.float32(0 if low is None else low)) & (
        found <= np.float32(1 if high is None else high)
    )


def _shown(said: Between, class_: int, by: str) -> np.ndarray:
    """Return whether any, all, some but not all, or one model shows a class."""
    if by in said.models:
        return said.shows(said.models.index(by), class_)
    found = [said.shows(model, class_) for model in range(len(said.models))]
    some = np.logical_or.reduce(found)
    every = np.logical_and.reduce(found)
    return {ANY: some, ALL: every, SOME: some & ~every}[by]


def _labelled(columns: Columns, truth: str) -> np.ndarray:
    """Return whether an image has a label of a truth, or of any if none is named."""
    found = [columns.labelled[truth]] if truth else list(columns.labelled.values())
    return np.logical_or.reduce(found) if found else np.zeros(len(columns), bool)


def _discarded(columns: Columns) -> np.ndarray:
    mask = np.zeros(len(columns), bool)
    mask[list(columns.reasons)] = True
    return mask
