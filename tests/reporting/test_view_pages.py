"""Pages of `view` in a browser: what a filter, a key and a click do, without a script and on a phone too; and
that the browser finds nothing that the policy forbids.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import made_view
from answering import click, press
from faultscape.reading.study import Study
from faultscape.verbs.view.library import Library
from faultscape.verbs.view.pages import router

uvicorn = pytest.importorskip("uvicorn", reason="no uvicorn: the extra app is not installed")
PAGES = (
    "/",
    "/?a=model-0&b=model-1&show=pair",
    "/image/4?show=model:model-1",
    "/image/4?show=model:model-1&as=right",
    "/pair?image=4&a=model-0&b=model-2",
)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    from faultscape.web import server
    from faultscape.web.app import make_app

    library = Library(Study(made_view.shown(tmp_path_factory.mktemp("view")).root))
    library.wait()
    with server.bind(port=0) as listener:
        held = uvicorn.Server(server.configured(make_app([router(library)])))
        thread = threading.Thread(target=held.run, args=([listener],))
        thread.start()
        yield server.address_of(listener).rstrip("/")
        held.should_exit = True
        thread.join(20)


def opened(browser: Any, said: list[str], **more: Any) -> Any:
    """A page of a browser of its own, whose console is noted in ``said``."""
    page = browser.new_context(**more).new_page()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    return page


@pytest.mark.slow
def test_no_page_does_what_its_policy_forbids_and_every_picture_is_there(browser: Any, address: str) -> None:
    said: list[str] = []
    page = opened(browser, said)
    for path in PAGES:
        page.goto(address + path)
        page.wait_for_load_state("networkidle")
        broken = page.evaluate(
            "[...document.images].filter(i => i.src && !i.hidden && i.loading != 'lazy' &&"
            " !i.naturalWidth).map(i => i.src)"
        )
        assert broken == []
    assert said == []


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_is_wider_than_a_phone(browser: Any, address: str, scheme: str) -> None:
    page = opened(browser, [], viewport={"width": 390, "height": 844}, color_scheme=scheme)
    for path in PAGES:
        page.goto(address + path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path


@pytest.mark.slow
def test_a_filter_changes_what_is_shown_and_the_address(browser: Any, address: str) -> None:
    said: list[str] = []
    page = opened(browser, said)
    page.goto(address + "/?sort=id")
    page.click("summary")
    page.select_option("select[name=set]", "dusk")
    page.wait_for_url("**/?set=dusk&sort=id")
    assert page.inner_text(".count b") == "5"
    page.fill("#id-asked", "part1")
    page.wait_for_url("**/?id=part1&set=dusk&sort=id")
    assert page.inner_text(".count b") == "2"
    page.select_option("select[name=sort]", "agreement")
    page.wait_for_selector("[role=alert]")
    assert "name them with a and b" in page.inner_text("#results")
    assert [words for words in said if "400" not in words] == []


@pytest.mark.slow
def test_keys_walk_the_images_lay_maps_over_them_and_blend(browser: Any, address: str) -> None:
    page = opened(browser, [])
    page.goto(address + "/image/4?set=main")
    assert page.is_hidden("#over")
    page.keyboard.press("2")
    assert page.is_visible("#over")
    assert page.get_attribute("#over", "src") == "/overlay/4?show=model%3Amodel-1&size=1600"
    assert "show=model%3Amodel-1" in page.url
    page.keyboard.press("]")
    assert page.evaluate("document.getElementById('over').style.opacity") == "0.6"
    press(page, "f", "#over", state="hidden")
    page.keyboard.press("f")
    assert page.is_visible("#over")
    page.keyboard.press("p")
    assert page.is_hidden("#over")
    page.keyboard.press("2")
    with page.expect_navigation():
        page.keyboard.press("ArrowRight")
    assert page.url == address + "/image/5?set=main&show=model%3Amodel-1"
    assert page.is_visible("#over")
    with page.expect_navigation():
        page.keyboard.press("u")
    assert page.url == address + "/?set=main&show=model%3Amodel-1"


@pytest.mark.slow
def test_the_first_page_says_what_its_colours_mean(browser: Any, address: str) -> None:
    page = opened(browser, [])
    page.goto(address)
    said = page.inner_text(".legend")
    for words in ("differ:", "model-1 is wrong", "both are wrong", "no truth is known"):
        assert words in said
    page.goto(address + "/?id=a")
    assert page.locator(".legend").count() == 0


@pytest.mark.slow
def test_ids_are_copied(browser: Any, address: str) -> None:
    page = opened(browser, [], permissions=["clipboard-read", "clipboard-write"])
    page.goto(address + "/?tag=rain")
    click(page, "a[data-copy]", "text=2 ids copied")
    assert (
        page.evaluate("navigator.clipboard.readText()").splitlines()
        == page.locator(".tile .id").all_inner_texts()
    )


@pytest.mark.slow
def test_without_a_script_forms_and_links_do_the_same(browser: Any, address: str) -> None:
    page = opened(browser, [], java_script_enabled=False)
    page.goto(address + "/?set=main")
    page.select_option("select[name=set]", "dusk")
    page.click("button[type=submit]")
    assert page.inner_text(".count b") == "5"
    page.click(".tile a >> nth=0")
    page.click("text=model-2 >> nth=0")
    assert "show=model%3Amodel-2" in page.url
    assert page.is_visible("#over")
    page.click("text=75 %")
    assert "blend-75" in page.get_attribute("#over", "class")
    page.click("a[rel=next]")
    assert "show=model%3Amodel-2" in page.url


@pytest.mark.slow
def test_pages_work_where_htmx_was_not_fetched(
    browser: Any, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from faultscape.web import app

    real = app._file
    monkeypatch.setattr(app, "_file", lambda name: b"" if name == "htmx.min.js" else real(name))
    said: list[str] = []
    page = opened(browser, said)
    page.goto(address + "/?set=main")
    assert "htmx.min.js" not in page.content()
    page.select_option("select[name=set]", "dusk")
    page.click("button[type=submit]")
    page.wait_for_url("**set=dusk**")
    assert page.inner_text(".count b") == "5"
    assert "id=" not in page.url  # empty fields are left out
    assert said == []
