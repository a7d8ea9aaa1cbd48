"""Every page of the apps by the rules of accessibility: in the light, in the dark and on a phone, without
scrolling across and without a word in the browser's console.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from answering import (
    Asked,
    Serving,
    all_sent,
    answer,
    click,
    enter,
    others_take_all_but,
    press,
    rules,
    running,
)

AXE = Path(__file__).parent / "axe.min.js"
DESK, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
WAYS = (
    ("light", "light", DESK, {}),
    ("dark", "dark", DESK, {"runOnly": ["color-contrast"]}),
    ("phone", "light", PHONE, {}),
)
SERIOUS = """async (options) => {
  const found = await axe.run(document, { resultTypes: ["violations"], ...options });
  return found.violations.filter((one) => ["serious", "critical"].includes(one.impact))
    .map((one) => one.id + ": " + one.nodes.map((node) => node.html.slice(0, 120)).join(" | "));
}"""
COLOURS = (
    "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.querySelector('h1,"
    " label')).color]"
)
WIDER = (
    "[document.documentElement, ...document.querySelectorAll('nav')].some((one) => one.scrollWidth >"
    " one.clientWidth)"
)


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page into which the rules may be brought, and what its console says."""
    if not AXE.exists():
        pytest.skip("no axe-core: `make` fetches it")
    context = browser.new_context(viewport=DESK, bypass_csp=True, reduced_motion="reduce")
    opened = context.new_page()
    opened.said = []
    opened.on("console", lambda message: opened.said.append(message.text))
    opened.on("pageerror", lambda error: opened.said.append(str(error)))
    yield opened
    context.close()


def look(page: Any, name: str, *, silent: bool = True) -> list[str]:
    """What is wrong with the page as it is, each line with its name; pictures of it go to the folder that
    FAULTSCAPE_SHOTS names.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    wrong = list(page.said) if silent else []
    page.said.clear()
    for way, scheme, size, options in WAYS:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size(size)
        wrong += [f"{way}: {words}" for words in page.evaluate(SERIOUS, options)]
        if page.evaluate(WIDER):
            wrong.append(f"{way}: it has to be scrolled across")
        if scheme == "dark":
            paper, ink = (
                [int(part) for part in colour[4:-1].split(",")] for colour in page.evaluate(COLOURS)
            )
            if max(paper) > 60 or min(ink) < 150:
                wrong.append(f"{way}: paper is {paper} and ink {ink}")
        if folder := os.environ.get("FAULTSCAPE_SHOTS"):
            page.wait_for_load_state("networkidle")
            page.screenshot(path=Path(folder) / f"{way} {name}.png", full_page=name != "discard")
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(DESK)
    return [f"{name}, {words}" for words in wrong]


@pytest.mark.slow
def test_pages_of_choices_break_no_rule(page: Any, duels: Asked, serve: Callable[..., Serving]) -> None:
    held = serve(duels, campaign=rules(session=2, discard_votes=2))
    page.goto(held.url)
    wrong = look(page, "enter")
    enter(page, held.url)
    wrong += look(page, "work")
    page.keyboard.press("?")
    wrong += look(page, "help")
    press(page, "Escape", "#help", state="hidden")
    page.keyboard.down("i")
    wrong += look(page, "image alone")
    page.keyboard.up("i")
    page.keyboard.press("x")
    wrong += look(page, "discard")
    press(page, "Escape", "#reasons", state="hidden")
    answer(page, "1")
    press(page, "1", "#pause:not([hidden])")
    wrong += look(page, "pause")
    all_sent(page)
    assert wrong == []


@pytest.mark.slow
def test_pages_of_points_break_no_rule(page: Any, pointed: Asked, serve: Callable[..., Serving]) -> None:
    held = serve(pointed, selection="points")
    enter(page, held.url)
    wrong = look(page, "points")
    page.keyboard.press("b")
    page.keyboard.press(page.get_attribute("#likely [data-say]", "data-letter"))
    wrong += look(page, "border")
    page.keyboard.press("Escape")
    page.keyboard.down("i")
    wrong += look(page, "more of the image")
    page.keyboard.up("i")
    page.keyboard.press("?")
    wrong += look(page, "help of points")
    press(page, "Escape", "#help", state="hidden")
    page.keyboard.press("/")
    page.keyboard.type("c")
    wrong += look(page, "search")
    page.keyboard.press("Escape")
    answer(page, "v")
    all_sent(page)
    page.goto(f"{held.url}results")
    wrong += look(page, "results of points")
    page.goto(f"{held.url}people")
    wrong += look(page, "people of points")
    assert wrong == []


@pytest.mark.slow
def test_pages_of_the_second_round_and_of_tags_break_no_rule(page: Any, held: Serving) -> None:
    enter(page, held.url)
    page.goto(f"{held.url}checks")
    wrong = look(page, "checks")
    page.click("tbody a >> nth=0")
    page.click("#board")
    page.fill("#finding [name=comment]", "a lamp post")
    press(page, "Enter", ".finding")
    wrong += look(page, "check")
    page.goto(f"{held.url}tags")
    page.click("text=model-1")
    click(page, ".tags button >> nth=0", "[aria-pressed=true][value]")
    wrong += look(page, "tags")
    page.goto(f"{held.url}masks")
    wrong += look(page, "masks")
    page.set_input_files(
        "#sending [name=file]", {"name": "x.zip", "mimeType": "application/zip", "buffer": b"not a zip"}
    )
    click(page, "#sending button", "#told.notice.wrong:has-text('Not imported')")
    wrong += look(page, "masks refused", silent=False)  # the console names the status
    assert wrong == []


@pytest.mark.slow
def test_pages_of_people_and_results_break_no_rule(page: Any, held: Serving) -> None:
    enter(page, held.url)
    for _ in range(6):
        answer(page, "1")
    all_sent(page)
    page.goto(f"{held.url}people")
    page.fill(".invitation [name=name]", "ben")
    page.keyboard.press("Enter")
    link = page.inner_text(".invite")
    page.fill("[name=instructions]", "Look at people first.\n\nSigns count twice.")
    click(page, "text=Save instructions", ".notice:has-text('Saved.')")
    wrong = look(page, "people")
    page.click("[data-dialog]")
    wrong += look(page, "removal")
    page.keyboard.press("Escape")
    page.click("main details summary")
    page.goto(page.url + "/remove/" + page.get_attribute("dialog", "id").removeprefix("remove-"))
    wrong += look(page, "removal without a script")
    page.goto(f"{held.url}results")
    page.evaluate("document.querySelectorAll('#live details').forEach((one) => { one.open = true; })")
    wrong += look(page, "results")
    page.goto(f"{held.url}people")
    click(page, "text=Results without >> nth=0", ".notice:has-text('Nothing is deleted')")
    page.goto(page.url + "&weighted=1")
    wrong += look(page, "results without somebody")
    page.goto(link)
    wrong += look(page, "welcome")
    page.goto(f"{held.url}people")
    assert page.inner_text(".skip") == "Skip to the content"
    wrong += look(page, "problem", silent=False)  # the console names its status
    assert wrong == []


@pytest.mark.slow
def test_pages_of_questions_break_no_rule(
    page: Any, classified: Asked, serve: Callable[..., Serving]
) -> None:
    held = serve(classified, campaign=rules(overlap=1))
    others_take_all_but(held, 2)
    enter(page, held.url)
    wrong = look(page, "questions")
    answer(page, "y")
    press(page, "y", "#finished:not([hidden])")
    wrong += look(page, "finished")
    page.goto(f"{held.url}results")
    wrong += look(page, "results of questions")
    assert "nan" not in page.inner_text("main")
    assert wrong == []


@pytest.mark.slow
def test_pages_of_view_break_no_rule(page: Any, viewed: str) -> None:
    wrong = []
    for name, address in {
        "browse": "/?sort=-disagreement",
        "filters": "/?class=car&by=some&a=model-0&b=model-1",
        "image": "/image/0?show=model:model-1",
        "right": "/image/0?show=model:model-1&as=right",
        "pair": "/pair?image=0&a=model-0&b=model-1",
        "problem of view": "/?set=zebra",
    }.items():
        page.goto(viewed.rstrip("/") + address)
        wrong += look(page, name, silent="problem" not in name)
    assert wrong == []


@pytest.mark.slow
def test_the_look_above_sees_what_is_wrong(page: Any, viewed: str) -> None:
    page.goto(viewed)
    page.evaluate(
        "document.body.insertAdjacentHTML('beforeend', '<img src=\"/icon.png\"><svg width=\"500\"></svg>')"
    )
    page.evaluate("console.log('a word')")
    found = look(page, "browse")
    assert "browse, a word" in found
    assert any(words.startswith("browse, light: image-alt") for words in found)
    assert "browse, phone: it has to be scrolled across" in found


@pytest.fixture(scope="module")
def viewed(duels: Asked, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The pages of `view` of a study with labels of some images."""
    from faultscape.reading.study import Study
    from faultscape.verbs.view.library import Library
    from faultscape.verbs.view.pages import router
    from faultscape.web import server
    from faultscape.web.app import make_app

    root = tmp_path_factory.mktemp("viewed") / duels.root.name
    shutil.copytree(duels.root, root)
    library = Library(Study(root))
    library.wait()
    with server.bind(port=0) as listener, running(make_app([router(library)]), listener) as url:
        yield url
