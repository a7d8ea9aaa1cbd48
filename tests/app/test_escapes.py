"""Whatever images, classes, models, people and their words are called, a page shows it as words: nothing of
it is run, or changes what stands beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="no fastapi: the extra app is not installed")

import made_entrance
from faultscape.study.answers.annotators import ORGANISER
from faultscape.study.answers.labels import Answers
from made_entrance import HARM, IDS, Entrance, Person

TAGS = {
    "a",
    "b",
    "body",
    "br",
    "button",
    "caption",
    "circle",
    "code",
    "dd",
    "details",
    "dialog",
    "div",
    "dl",
    "dt",
    "form",
    "g",
    "h1",
    "h2",
    "h3",
    "head",
    "header",
    "html",
    "img",
    "input",
    "kbd",
    "label",
    "li",
    "link",
    "main",
    "meta",
    "nav",
    "noscript",
    "option",
    "p",
    "progress",
    "rect",
    "script",
    "section",
    "select",
    "span",
    "summary",
    "svg",
    "table",
    "tbody",
    "td",
    "text",
    "textarea",
    "th",
    "thead",
    "title",
    "tr",
    "ul",
}
LOADED = {"src", "href", "action", "data-over", "formaction", "srcdoc"}


class Seen(HTMLParser):
    """What a browser makes of a page: its tags, addresses, words and what stands in attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.words = ""
        self.wrong: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        told = dict(attrs)
        self.wrong += [
            f"<{tag} {name}>"
            for name in told
            if name.startswith("on") or name in ("style", "srcdoc", "formaction")
        ]
        self.addresses += [value or "" for name, value in attrs if name in LOADED]
        self.words += "".join(f"\n{value}" for value in told.values())
        if tag == "script" and not str(told.get("src", "")).startswith("/static/"):
            self.wrong.append("<script>")

    def handle_data(self, data: str) -> None:
        self.words += data


@pytest.fixture(scope="module")
def entrance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Entrance]:
    root = made_entrance.study(tmp_path_factory.mktemp("escapes"))
    text = (root / "study.toml").read_text()
    (root / "study.toml").write_text(text + "\n[tags]\n" + "'<b>tag</b>{{7*7}}' = \"<\"\n")
    with made_entrance.entrance(root) as held:
        yield held


@pytest.fixture(scope="module")
def organiser(entrance: Entrance) -> Person:
    return entrance.invited(HARM, ORGANISER)


def seen(answer: Any) -> Seen:
    """A page, which holds no tag and no address that its template does not have."""
    assert answer.headers["content-type"].startswith("text/html")
    found = Seen(answer.text)
    assert not found.wrong, found.wrong
    assert set(found.tags) <= TAGS
    assert all(
        address in ("", "#main") or (address.startswith("/") and not address.startswith("//"))
        for address in found.addresses
    )
    return found


@pytest.mark.slow
def test_ids_of_images_are_words(entrance: Entrance, organiser: Person) -> None:
    for number, image in enumerate(entrance.campaign._asked.numbered):
        for path in (f"/check/{number}?truth=labels", f"/tags/{number}", f"/tags/{number}?model=okapinet"):
            page = seen(organiser.get(path))
            assert image in page.words
            assert page.tags.count("h1") == 1
            chips = len(entrance.campaign.settings.class_list) if "?" in path else 0  # where a map is shown
            assert page.tags.count("svg") == 1 + chips
    listed = seen(organiser.get("/checks"))
    assert all(image in listed.words for image in IDS)
    assert "alert" not in "".join(listed.tags)


def test_names_of_people_are_words_on_every_page_that_has_them(entrance: Entrance, organiser: Person) -> None:
    harm = "\"'><img src=x onerror=alert(2)>{{7*7}}\u202e"
    invited = organiser.form("/people", act="invite", name=harm)
    for answer in (
        invited,
        *(organiser.get(path) for path in ("/people", "/work", "/results", "/checks", "/tags/0")),
    ):
        assert HARM in seen(answer).words
    assert harm in seen(invited).words
    token = invited.text.partition("/join/")[2].partition("<")[0]
    assert f"Welcome, {harm}" in seen(entrance.client().get(f"/join/{token}")).words
    twice = organiser.form("/people", act="invite", name=harm)
    assert twice.status_code == 422
    assert "an annotator called" in seen(twice).words


def test_comments_and_kinds_of_failure_are_words(organiser: Person) -> None:
    said = f"</li></ul><form action='https://evil.example'>{HARM}"
    assert (
        organiser.form("/check/1", truth="labels", kind="other", comment=said, x="3", y="4").status_code
        == 303
    )
    page = seen(organiser.get("/check/1?truth=labels"))
    assert said in page.words
    assert page.tags.count("form") == 3
    tag = "<b>tag</b>{{7*7}}"
    assert organiser.form("/tags/1", tag=tag, region="1,1,5,5").status_code == 303
    page = seen(organiser.get("/tags/1"))
    assert page.words.count(tag) >= 3
    assert page.tags.count("b") == 0


def test_what_people_say_of_a_discard_is_kept_as_words(entrance: Entrance) -> None:
    ann = entrance.invited("ann")
    (item,) = ann.items(1)
    row = {
        "key": "a-discard-of-harm",
        "id": item["id"],
        "repeat": item["repeat"],
        "discard": "something else",
        "text": HARM,
    }
    assert ann.send(row)["taken"]
    votes = Answers(entrance.root, entrance.campaign.database).discard_votes().values()
    assert any(HARM in reason for of_image in votes for reason in of_image.values())


def test_classes_come_as_json_and_are_run_by_nobody(entrance: Entrance) -> None:
    answer = entrance.invited("cleo").get("/api/items?number=10")
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.json()["items"]


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/check/0?truth=<script>alert(1)</script>", "there are no masks under"),
        ('/model/0/fill?model="><img src=x onerror=alert(1)>', "there is no model"),
        ("/static/<script>", "not found"),
        ("/tags/<img src=x>", "there is no image"),
        ("/{{7*7}}<script>", "page not found"),
        ("/tags/0?model={{7*7}}\u202e", "there is no model '{{7*7}}"),
    ],
)
def test_what_an_address_says_is_words_in_the_error(organiser: Person, path: str, says: str) -> None:
    page = seen(organiser.get(path))
    assert says in page.words
    assert page.tags.count("img") == 0


@pytest.mark.parametrize("field", ["act", "kind", "tag"])
def test_what_a_form_says_is_words_in_the_error(organiser: Person, field: str) -> None:
    path = {"act": "/people", "kind": "/check/0", "tag": "/tags/0"}[field]
    answer = organiser.form(path, truth="labels", **{field: "<script>{{7*7}}"})
    assert answer.status_code == 400
    assert "'<script>{{7*7}}'" in seen(answer).words
