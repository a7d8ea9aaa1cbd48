"""The report in a browser: images enlarge, maps are compared, what is folded opens, words explain themselves;
by mouse, keys and touch, without a script, in print, and by the rules of accessibility.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
import made
from faultscape.maps.paint import VOID
from made_page import Page

AXE = Path(__file__).parents[1] / "app" / "axe.min.js"
DESK, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
BROKEN = """async (rule) => {
  const given = rule ? { runOnly: [rule] } : {};
  const found = await axe.run(document, { resultTypes: ["violations"], ...given });
  return found.violations.map((one) => one.id + ": " + one.nodes.map((node) => node.html.slice(0, 150)).join(" | "));
}"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Reports of one study: of duels before a label, and with standings, and of draws."""
    root = tmp_path_factory.mktemp("report-page")
    corpus, study = made.corpus(root / "corpus", images=30, models=4), str(root / "study")
    fs.run(study, corpus.photos, corpus.models, classes=corpus.classes, goal="failures", engine="local")
    fs.select(study, selector="random", budget=8)
    found = {"unlabelled": Path(fs.report(study, output=str(root / "unlabelled.html")).path)}
    for path in corpus.truth.rglob("*.png"):  # a corner that nobody could name
        truth = np.array(Image.open(path))
        truth[:12, :20] = 255
        Image.fromarray(truth).save(path)
    fs.label.import_(study, corpus.truth)
    for selection in ("main", "random"):
        fs.rank(study, selection=selection, resamples=100, engine="local")
        found[selection] = Path(fs.report(study, selection=selection, output=root / f"{selection}.html").path)
    return found


@pytest.fixture
def opened(browser: Any, pages: dict[str, Path]) -> Iterator[Any]:
    """A function that opens a report; what its console says is an error."""
    contexts, said = [], []

    def open_(name: str, **given: Any) -> Any:
        given = {"viewport": DESK, "reduced_motion": "reduce", "bypass_csp": True} | given
        contexts.append(browser.new_context(**given))
        page = contexts[-1].new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(pages[name].as_uri())
        return page

    yield open_
    for context in contexts:
        context.close()
    assert said == []


def broken_rules(page: Any, rule: str = "") -> list[str]:
    if not AXE.exists():
        pytest.skip("no axe-core: `make` fetches it")
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    return page.evaluate(BROKEN, rule)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["unlabelled", "main", "random"])
def test_every_page_keeps_the_rules_of_accessibility_with_all_parts_open(opened: Any, name: str) -> None:
    page, wrong = opened(name), []
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    for viewer in (False, True):
        if viewer:
            page.locator("#gallery a.enlarge").first.click()
            page.locator(".counts li").first.wait_for()
        for scheme, size in (("light", DESK), ("dark", DESK), ("light", PHONE)):
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size(size)
            found = broken_rules(page, "color-contrast" if scheme == "dark" else "")
            wrong += [(viewer, scheme, size["width"], one) for one in found]
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert wrong == []


@pytest.mark.slow
def test_an_image_enlarges_by_key_and_arrows_lead_to_the_next(opened: Any) -> None:
    page = opened("main")
    link, title = page.locator("#gallery a.enlarge").first, page.locator("#viewer-title")
    first = page.locator("article.card h4").first.text_content()
    link.focus()
    page.keyboard.press("Enter")
    assert page.locator("dialog#viewer").get_attribute("open") is not None
    assert (title.text_content() or "").startswith(f"{first} 1 of ")
    page.locator("#viewer [data-close]").focus()
    page.keyboard.press("ArrowRight")
    assert " 2 of " in (title.text_content() or "")
    page.keyboard.press("ArrowLeft")
    assert " 1 of " in (title.text_content() or "")
    assert page.locator("#viewer [data-go='-1']").is_disabled()
    page.keyboard.press("Escape")
    assert page.locator("dialog#viewer").get_attribute("open") is None
    assert page.evaluate("document.activeElement.matches('a.enlarge')")


@pytest.mark.slow
def test_a_slider_blends_image_maps_and_truth(opened: Any) -> None:
    page = opened("main")
    page.locator("#gallery a.enlarge").first.click()
    stops = page.locator(".stops button").all_text_contents()
    assert (stops[0], stops[-1], len(stops)) == ("image", "truth", 4)
    slider = page.locator("#viewer input[type=range]")
    assert slider.get_attribute("aria-valuetext") == "image"
    slider.focus()
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    assert slider.get_attribute("aria-valuetext") == f"image 50 %, {stops[1]} 50 %"
    assert page.locator(".stage img").nth(1).evaluate("one => one.style.opacity") == "0.5"
    page.locator(".stops button").last.click()
    assert slider.get_attribute("aria-valuetext") == "truth"


def embedded(card: Any, figure: str) -> np.ndarray:
    uri = card.locator(f"{figure} img").get_attribute("src")
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(uri.split(",")[1]))).convert("RGB")).astype(int)


@pytest.mark.slow
def test_where_two_maps_differ_the_viewer_says_which_is_wrong(opened: Any) -> None:
    page = opened("main")
    page.evaluate("document.querySelectorAll('details.rest').forEach((one) => { one.open = true; })")
    for card in page.locator("#gallery article.card").all():
        shown = card.locator(".quad figure[data-role=model]")
        names = [shown.nth(k).locator("figcaption b").text_content() for k in (0, 1)]
        one, two = (embedded(card, f"figure[data-model='{name[-1]}']") for name in names)
        truth = embedded(card, "figure[data-role=truth]")
        differ, void = (one != two).any(-1), (truth == VOID).all(-1)
        if (differ & void).any():
            break
    right = [(map_ == truth).all(-1) for map_ in (one, two)]
    decided = differ & ~void
    assert (differ & void).any()
    assert (decided & right[0]).any()
    assert (decided & right[1]).any()
    card.locator("a.enlarge").first.click()
    page.locator(".counts li").first.wait_for()
    assert [" ".join((li or "").split()) for li in page.locator(".counts li").all_text_contents()] == [
        f"{words} {int(1000 * pixels.mean() + 0.5) / 10:.1f} %"
        for words, pixels in (
            (f"{names[0]} wrong", decided & right[1]),
            (f"{names[1]} wrong", decided & right[0]),
            ("both wrong, differently", decided & ~right[0] & ~right[1]),
            ("differ, truth is void", differ & void),
        )
    ]
    painted = page.locator("[data-pane=differ] canvas").evaluate(
        "c => [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data].filter((_, k) => k % 4 == 3)"
    )
    assert (np.array(painted).reshape(differ.shape) > 0).tolist() == differ.tolist()


def test_without_truth_the_viewer_says_where_two_maps_differ(opened: Any) -> None:
    page = opened("unlabelled")
    page.locator("#gallery a.enlarge").first.click()
    page.locator(".counts li").first.wait_for()
    (said,) = page.locator(".counts li").all_text_contents()
    assert re.fullmatch(r"differ \d+\.\d %", said)
    assert page.locator(".stops button").last.text_content() != "truth"


def test_other_models_are_chosen_in_the_viewer(opened: Any) -> None:
    page = opened("random")
    page.locator("#gallery a.enlarge").first.click()
    page.locator("#viewer select[name=first]").select_option(label="model-3")
    page.get_by_text("model-3 wrong").wait_for()
    assert "model-3" in page.locator(".stops button").all_text_contents()


def test_the_gallery_shows_a_few_images_and_a_filter_opens_the_rest(opened: Any) -> None:
    page = opened("main")
    cards = page.locator("#gallery article.card")
    seen = sum(cards.nth(k).is_visible() for k in range(cards.count()))
    assert seen < cards.count()
    assert seen <= 3 * page.locator(".group").count()
    page.locator("select[name=defender]").select_option(label="model-2")
    shown = int((page.locator("#shown").text_content() or "").split()[0])
    assert sum(cards.nth(k).is_visible() for k in range(cards.count())) == shown
    page.get_by_role("button", name="show all").click()
    page.wait_for_function("!document.querySelector('details.rest').open")


def test_images_are_decoded_only_when_they_come_into_sight(pages: dict[str, Path]) -> None:
    images = [attrs for tag, attrs in Page(pages["main"].read_text()).tags if tag == "img"]
    assert images
    assert {image["loading"] for image in images} == {"lazy"}


@pytest.mark.parametrize("name", ["unlabelled", "main", "random"])
def test_every_term_leads_to_its_definition(pages: dict[str, Path], name: str) -> None:
    tags = Page(pages[name].read_text()).tags
    terms = [str(attrs["href"]) for tag, attrs in tags if tag == "a" and attrs.get("class") == "term"]
    ids = [attrs["id"] for _, attrs in tags if attrs.get("id")]
    assert {term[1:] for term in terms} <= set(ids)
    assert len(ids) == len(set(ids))
    assert terms or name == "unlabelled"


def in_sight(one: Any) -> None:
    """Scroll to a place, and wait until the page has noticed: scrolling hides what explains a term."""
    one.evaluate(
        "(one) => new Promise((done) => { one.scrollIntoView({ block: 'center', behavior: 'instant' });"
        " requestAnimationFrame(() => requestAnimationFrame(done)); })"
    )


@pytest.mark.slow
def test_a_term_explains_itself_on_hover_focus_and_tap(opened: Any) -> None:
    page = opened("main")
    term, tip = page.locator("#standings a.term").first, page.locator("#tip")
    meaning = page.locator(f"{term.get_attribute('href')} + dd").text_content()
    in_sight(term)
    term.hover()
    assert tip.text_content() == meaning
    assert tip.is_visible()
    page.keyboard.press("Escape")
    assert tip.is_hidden()
    term.focus()
    assert tip.is_visible()
    assert term.get_attribute("aria-describedby") == "tip"
    phone = opened("main", viewport=PHONE, has_touch=True)
    in_sight(phone.locator("#standings a.term").first)
    phone.locator("#standings a.term").first.tap()
    assert phone.locator("#tip").text_content() == meaning
    assert "#term" not in phone.url
    box = phone.locator("#tip").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= PHONE["width"]


@pytest.mark.slow
def test_contents_and_legend_stay_in_sight(opened: Any) -> None:
    page, phone = opened("main"), opened("main", viewport=PHONE)
    for one, kept in ((page, ".side"), (phone, ".topbar")):
        one.evaluate("scrollTo(0, 3000)")
        box = one.locator(kept).bounding_box()
        assert 0 <= box["y"] < 5
    assert page.locator(".side .key li").first.is_visible()
    phone.locator(".topbar summary", has_text="Classes").click()
    assert phone.locator(".topbar .key li").first.is_visible()
    phone.locator(".topbar summary", has_text="Contents").click()
    phone.locator(".topbar nav a", has_text="Gallery").click()
    assert phone.locator(".topbar nav").is_hidden()


@pytest.mark.slow
def test_without_a_script_images_enlarge_and_terms_are_links(opened: Any) -> None:
    page = opened("main", java_script_enabled=False)
    image = page.locator("#gallery a.enlarge img").first
    small = image.bounding_box()["width"]
    image.click()
    assert image.bounding_box()["width"] > 2 * small
    page.locator("a.close:visible").click()
    assert image.bounding_box()["width"] == small
    page.locator("#standings a.term").first.click()
    assert "#term-" in page.url
    page.locator("details.rest summary").first.click()
    assert page.locator("details.rest article.card").first.is_visible()


@pytest.mark.parametrize("script", [True, False])
def test_folded_parts_are_printed(opened: Any, script: bool) -> None:
    page = opened("main", java_script_enabled=script)
    hidden = page.locator("details.rest article.card h4").last
    assert not hidden.is_visible()
    page.emulate_media(media="print")
    assert hidden.is_visible()
    assert page.locator("table.glance").is_visible()
    assert page.locator(".side").is_hidden()
    assert page.locator(".key.inline").is_visible()


def test_a_wide_table_fades_where_more_lies_behind_its_edge(opened: Any) -> None:
    faded = "one => getComputedStyle(one).getPropertyValue('--behind')"
    page = opened("main", viewport={"width": 320, "height": 700})
    matrix = page.locator("#matrices .scroll").first
    assert matrix.evaluate("one => one.scrollWidth > one.clientWidth")
    page.wait_for_function(f"parseFloat(({faded})(document.querySelector('#matrices .scroll'))) > 30")
    matrix.evaluate("one => one.scrollTo(1000, 0)")
    page.wait_for_function(f"parseFloat(({faded})(document.querySelector('#matrices .scroll'))) < 1")


def test_a_wide_table_is_printed_whole(browser: Any) -> None:
    css = resources.files("faultscape.reporting").joinpath("templates", "report.css").read_text("utf-8")
    cells = "<td style='white-space: nowrap'>0.123 [.1, .9]</td>" * 9
    page = browser.new_page(viewport={"width": 718, "height": 900})
    page.set_content(f"<style>{css}</style><div class='scroll'><table><tr>{cells}</tr></table></div>")
    beyond = "one => one.scrollWidth - one.clientWidth"
    assert page.locator(".scroll").evaluate(beyond) > 0
    page.emulate_media(media="print")
    assert page.locator(".scroll").evaluate(beyond) == 0
    page.close()


def test_one_notion_of_rank_stands_first_and_the_other_is_folded(opened: Any) -> None:
    page = opened("main")
    assert page.locator("h1").text_content() is not None
    tables = page.locator("#standings table")
    assert sum(tables.nth(k).is_visible() for k in range(tables.count())) == 1
    assert page.locator("#standings thead").first.locator("th").all_text_contents()[-1] == "rank"
    page.locator("#standings summary").first.click()
    assert page.locator("table.glance").is_visible()
    matrices = page.locator("#matrices table")
    assert [matrices.nth(k).is_visible() for k in (0, 1)] == [True, False]


@pytest.mark.slow
def test_the_pictures_at_the_top_open_their_images_in_the_viewer(opened: Any) -> None:
    page = opened("main")
    top = page.locator(".firsts a.enlarge")
    assert 1 <= page.locator(".firsts figure").count() <= 3
    for k in range(top.count()):
        image = top.nth(k).locator("xpath=..").locator("figcaption").inner_text().rpartition(", ")[2]
        shown = top.nth(k).inner_text()
        top.nth(k).click()
        assert page.text_content("#viewer-title").startswith(image)
        assert page.locator("#viewer input[type=range]").get_attribute("aria-valuetext") == shown
        page.keyboard.press("Escape")


def test_at_the_top_truth_and_the_leaders_map_stand_beside_each_image(opened: Any) -> None:
    page = opened("main")
    leader = page.locator("#standings tbody th").first.inner_text()
    for figure in page.locator(".firsts figure").all():
        assert figure.locator("a").all_inner_texts()[:3] == ["image", "truth", leader]
    assert page.locator(".side .key li").first.is_visible()
    page.set_viewport_size(PHONE)
    assert page.locator(".firsts .key li").first.is_visible()


def test_without_a_script_the_pictures_at_the_top_lead_to_their_images(opened: Any) -> None:
    page = opened("main", java_script_enabled=False)
    link = page.locator(".firsts a.enlarge").first
    target = link.get_attribute("href")
    link.click()
    assert page.locator(f"{target} img").is_visible()
    assert page.locator(f"{target} a.close").is_visible()
