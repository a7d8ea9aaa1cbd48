"""The review page: safe whatever the web says, usable with keys alone, remembering, and saving what collect
reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from faultscape.reporting import review
from faultscape.reporting.contact_sheets import objects_page, stress_page
from faultscape.reporting.review import ReviewCard, review_pages
from faultscape.study.tables.web_pictures import read_decisions
from serving import picture


def card(k: int, **more: Any) -> ReviewCard:
    file = f"pictures/p{k:04d}.png"
    about = {
        "query": "cat",
        "title": f"Cat {k}",
        "licence": "CC0 1.0",
        "creator": "somebody",
        "source": "flickr",
        "date": "2024-03-05T10:00",
    }
    return ReviewCard(f"p{k:04d}", file, file, 64, 48, **about | {"page": f"https://example.org/{k}"} | more)


def test_a_page_loads_nothing_and_shows_what_is_known() -> None:
    (page,) = review_pages("study", [card(1)]).values()
    assert "default-src 'none'" in page
    assert not re.search(r'(src|href)="(?!pictures/|https://example\.org/1")', page)
    for words in ("CC0 1.0", "somebody", "flickr", "2024-03-05", "64 × 48", ">cat<", "Cat 1"):
        assert words in page
    assert review_pages("study", [card(1)]) == review_pages("study", [card(1)])


def test_words_of_strangers_stay_words() -> None:
    evil = "</script><script>alert(1)</script>\"'"
    (page,) = review_pages(
        evil, [card(1, title=evil, query=evil, creator=evil, page="javascript:alert(1)", decision="accept")]
    ).values()
    assert page.count("<script>") == 1
    assert "javascript:" not in page


def test_many_pictures_are_pages_of_500() -> None:
    pages = review_pages("study", [card(k, decision="reject" if k == 700 else "") for k in range(1200)])
    assert list(pages) == ["review.html", "review-2.html", "review-3.html"]
    assert [page.count('class="picture"') for page in pages.values()] == [500, 500, 200]
    assert all('href="review-3.html"' in pages[name] for name in ("review.html", "review-2.html"))
    assert [page.count('"p0700": "reject"') for page in pages.values()] == [0, 1, 0]


def test_nothing_to_review_is_said() -> None:
    assert "There is nothing to review" in review_pages("study", [])["review.html"]


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Any]:
    (tmp_path / "pictures").mkdir()
    for k in range(8):
        (tmp_path / "pictures" / f"p{k:04d}.png").write_bytes(picture(k))
    for name, page in review_pages("study", [card(k) for k in range(8)], per_page=6).items():
        (tmp_path / name).write_text(page, encoding="utf-8")
    context = browser.new_context(viewport={"width": 1000, "height": 800}, accept_downloads=True)
    page = context.new_page()
    page.complaints = []
    page.on("console", lambda message: page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.goto((tmp_path / "review.html").as_uri())
    yield page
    assert page.complaints == []
    context.close()


def saved(page: Any, to: Path, press: str = "") -> dict[str, str]:
    with page.expect_download() as download:
        page.keyboard.press(press) if press else page.click("#save")
    assert download.value.suggested_filename == "accept.csv"
    download.value.save_as(to)
    return read_decisions(to)


@pytest.mark.slow
def test_keys_alone_decide_undo_and_save(opened: Any, tmp_path: Path) -> None:
    for key in "aarjauua":  # accept 0 and 1, reject 2, pass 3, accept 4, undo 4, undo 2, accept 2
        opened.keyboard.press(key)
    assert opened.inner_text("#said") == "3 accepted, 0 rejected, 3 to go"
    opened.keyboard.press("ArrowLeft")
    opened.keyboard.press("k")
    opened.keyboard.press("r")
    assert saved(opened, tmp_path / "a.csv", "s") == {"p0000": "accept", "p0001": "reject", "p0002": "accept"}
    assert opened.evaluate("[...document.images].filter((i) => i.naturalWidth).length") == 6


@pytest.mark.slow
def test_a_page_remembers_and_saves_other_pages_too(opened: Any, tmp_path: Path) -> None:
    opened.keyboard.press("r")
    opened.wait_for_function("document.querySelector('#said').innerText.includes('1 rejected')")
    opened.reload()
    assert opened.inner_text("#said") == "0 accepted, 1 rejected, 5 to go"
    opened.click("nav a")
    assert opened.url.endswith("review-2.html")
    opened.click("#rest")
    opened.click("#undo")
    opened.click("li.picture:last-child [data-choice=accept]")
    assert opened.inner_text("#said") == "1 accepted, 0 rejected, 1 to go"
    assert saved(opened, tmp_path / "a.csv") == {"p0000": "reject", "p0007": "accept"}


def test_only_what_is_asked_for_is_shown_and_arrows_go_by_rows(opened: Any) -> None:
    opened.keyboard.press("a")
    opened.select_option("#filter", "accept")
    assert opened.locator("li.picture:visible").count() == 1
    opened.select_option("#filter", "all")
    opened.locator("li.picture").nth(0).focus()
    opened.keyboard.press("ArrowDown")
    first, now = (
        opened.locator(which).bounding_box() for which in ("li.picture >> nth=0", "li.picture:focus")
    )
    assert now["x"] == first["x"]
    assert now["y"] > first["y"]


@pytest.mark.parametrize("width", [360, 1400])
def test_nothing_is_wider_than_the_screen(opened: Any, width: int) -> None:
    opened.set_viewport_size({"width": width, "height": 700})
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    assert opened.locator("[data-choice=accept]").first.bounding_box()["height"] >= 44


def test_one_shell_heads_all_pages_and_only_a_page_with_a_script_may_run_one() -> None:
    templates = Path(review.__file__).parent / "templates"
    heads = [file.name for file in templates.rglob("*.jinja") if "<!doctype" in file.read_text()]
    assert heads == ["page.html.jinja"]
    pages = (review_pages("s", []).popitem()[1], stress_page("s", []), objects_page("s", []))
    assert ["script-src 'unsafe-inline'; " in page for page in pages] == [False, False, True]
    assert ["<script>" in page for page in pages] == [False, False, True]
