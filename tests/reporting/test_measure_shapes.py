"""The page of `measure` holds for documents of every shape: whatever is missing or undefined, it is whole,
the same, and shows no word of the machine.
"""

from __future__ import annotations

import copy
import re
from typing import Any

import numpy as np
import pytest

from faultscape.reporting.measure import page as measures
from faultscape.reporting.measure.leaders import beaten
from made_document import HOSTILE, METRICS, Page, document

WORST = measures.Card(
    "data",
    HOSTILE,
    "a b",
    "rum",
    "data:image/png;base64,AAAA",
    "",
    bars={"rum": 0.7, "miou": None},
    says=HOSTILE,
)  # type: ignore[dict-item]
MACHINE = re.compile(r"\b(nan|NaN|None|inf|Infinity|undefined)\b")


class Words(Page):
    """A page whose texts stand apart, so that two cells do not make one word."""

    def handle_data(self, data: str) -> None:
        super().handle_data(f" {data}\n")


def undefined(but: int) -> dict[str, Any]:
    """A document in which nothing has a value, but for the first models."""
    what = document(4, scores=True)
    for of in list(what["models"].values())[but:]:
        for entry in of.values():
            entry.update(value=None, low=None, high=None)
            if "per_class" in entry:
                entry["per_class"] = dict.fromkeys(entry["per_class"])
    for row in what["paired"]:
        row.update(difference=None, low=None, high=None)
    for row in what["gaps"]:
        row.update(low=None, high=None)
    for of in what["curves"].values():
        of["confidence"] |= {"area": None, "rom": [None] * 11, "rum": [None] * 11}
        of["reliability"] |= {"accuracy": [None] * 11}
    return what


def class_free() -> dict[str, Any]:
    pixels = ("miou", "dice", "pixel_accuracy", "boundary_f", "boundary_iou")
    what = document(3, metrics=tuple(m for m in METRICS if m not in pixels))
    return what | {"classes": [], "confusion": {}, "gaps": []}


SHAPES: dict[str, dict[str, Any]] = {
    "full": document(3, scores=True),
    "ten models": document(10, scores=True, seed=3),
    "no intervals": document(5, intervals=False),
    "undefined everywhere": undefined(0),
    "undefined but for one model": undefined(1),
    "no classes": class_free(),
    "two data sets, one poor": {
        "datasets": {"town": document(3, scores=True), HOSTILE: {"models": {"alone": {}}}}
    },
    "one model": document(1, scores=True),
    "nothing": {"models": {}},
}


def page(what: dict[str, Any]) -> str:
    return measures.page(what, measures.Facts(title=HOSTILE, worst=[WORST], left_out=1))


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_unknown_is_never_a_word_of_the_machine(shape: str) -> None:
    read = Words(page(SHAPES[shape]))
    said = re.sub(
        r"\b\d+ undefined\b|^\s*undefined\s*$", "", read.text, flags=re.MULTILINE
    )  # the page's own word for it
    assert not MACHINE.search(said)
    drawn = [
        (name, value)
        for _, attrs in read.tags
        for name, value in attrs.items()
        if name not in ("class", "alt", "title")
    ]
    assert not [pair for pair in drawn if MACHINE.search(pair[1] or "")]


@pytest.mark.parametrize("shape", SHAPES)
def test_ids_are_unique_and_links_lead_to_them(shape: str) -> None:
    tags = Page(page(SHAPES[shape])).tags
    ids = [attrs["id"] for _, attrs in tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert {str(attrs["href"])[1:] for tag, attrs in tags if tag == "a"} <= set(ids)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_document_is_only_read_and_gives_the_same_bytes(shape: str) -> None:
    what = copy.deepcopy(SHAPES[shape])
    assert page(what) == page(SHAPES[shape])
    assert what == SHAPES[shape]


@pytest.mark.parametrize(
    "part", ["images", "classes", "confusion", "paired", "gaps", "curves", "notes", "failures", "provenance"]
)
def test_any_one_part_may_be_missing(part: str) -> None:
    what = copy.deepcopy(SHAPES["full"])
    del what[part]
    assert "unet" in Page(page(what)).text


def test_every_error_of_the_document_stands_in_a_table() -> None:
    what = SHAPES["ten models"]
    found = {round(float(value), 9) for value in re.findall(r'data-value="([^"]+)"', page(what))}
    for of in what["models"].values():
        for metric, entry in of.items():
            assert round(1 - entry["value"] if entry["better"] == "high" else entry["value"], 9) in found, (
                metric
            )


def test_a_page_of_one_model_compares_nothing_and_options_stand_in_the_details() -> None:
    for models, compared in ((1, False), (3, True)):
        text = page(document(models) | {"provenance": {"definitions": {"void": "cut"}}})
        assert ("Shaded: the best model" in text) == compared
        assert ("Each dot is a model" in text) == compared
        assert ('href="#plane"' in text) == compared
        seen = re.sub("<details.*?</details>", "", text, flags=re.DOTALL)
        assert "void cut" in text
        assert "void cut" not in seen


def test_nobody_leads_alone_where_no_difference_is_decided() -> None:
    what = copy.deepcopy(SHAPES["full"])
    for row in what["paired"]:
        row.update(low=-0.9, high=0.9)
    said = measures.headline(what)
    assert said.endswith(" has the highest mIoU")
    assert all(name in said for name in what["models"])


@pytest.mark.parametrize("seed", range(10))
def test_unbeaten_models_are_those_of_brute_force(seed: int) -> None:
    what = document(8, seed=seed)
    for of in what["models"].values():
        for metric in ("miou", "rom", "rum"):
            of[metric]["value"] = round(of[metric]["value"] * 4) / 4  # so that models tie
    for row in what["paired"]:
        row["difference"] = (
            what["models"][row["first"]][row["metric"]]["value"]
            - what["models"][row["second"]][row["metric"]]["value"]
        )
    points = {
        n: np.array([1 - of["miou"]["value"], of["rom"]["value"], of["rum"]["value"]])
        for n, of in what["models"].items()
    }
    kept = [
        n
        for n, mine in points.items()
        if not any((o <= mine).all() and (o < mine).any() for o in points.values())
    ]
    assert [name for name, by in beaten(what).items() if not by] == kept
