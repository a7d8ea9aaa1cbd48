"""Servers of campaigns in threads of the tests' process, and what a person does on their pages."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import made

ELSEWHERE = "study.test"  # a name of this machine that browsers do not trust as they trust localhost
ENLARGED = 6  # photos of 288 x 216, as made ones are 48 x 36


# from a key to the next item: whether the browser did nothing else between, whether images stood at once, and
# milliseconds until a frame was drawn
WATCH = """
window.took = []; window.given = 0;
const wanted = new Set(), decoded = new Set(), asks = window.fetch, decodes = HTMLImageElement.prototype.decode;
window.fetch = async (address, ...rest) => {
  const answer = await asks(address, ...rest);
  if (String(address).startsWith("/api/items?") && answer.ok) {
    const { items } = await answer.clone().json();
    given += items.length;
    items.flatMap((one) => one.pictures).forEach((one) => wanted.add(one));
  }
  return answer;
};
HTMLImageElement.prototype.decode = async function () { await decodes.call(this); decoded.add(this.getAttribute("src")); };
window.loaded = (number) => given >= number && [...wanted].every((one) => decoded.has(one));
let at = 0, same = false;
const { port1, port2 } = new MessageChannel();
port1.onmessage = () => { same = false; };
document.addEventListener("keydown", () => { at = performance.now(); same = true; port2.postMessage(0); }, true);
document.addEventListener("DOMContentLoaded", () => new MutationObserver(async () => {
  const begun = at, at_once = same, shown = [...document.querySelectorAll("#work .stage img")].filter((one) => !one.hidden);
  if (!begun) return;
  at = 0;
  const seen = shown.every((one) => one.style.visibility !== "hidden" && one.naturalWidth);
  await Promise.all(shown.map((one) => decodes.call(one)));
  await new Promise(requestAnimationFrame);
  took.push({ at_once, seen, milliseconds: performance.now() - begun });
}).observe(document.getElementById("work") || document.body, { attributeFilter: ["data-item"] }));
"""


@dataclass(frozen=True)
class Asked:
    """A study with duels and what it was made of."""

    root: Path
    corpus: made.Corpus


@dataclass(frozen=True)
class Serving:
    """A server in a thread of this process: its address, the study that it serves, and the campaign."""

    url: str
    root: Path
    campaign: Any


@contextmanager
def served(root: Path, names: tuple[str, ...] = (), **options: Any) -> Iterator[Serving]:
    """Serve a study's campaign until the end; ``options`` are those of `label serve`."""
    from faultscape.reading.study import Study
    from faultscape.study.answers.annotators import Annotators
    from faultscape.study.answers.database import Database
    from faultscape.verbs.options import LabelServeOptions
    from faultscape.verbs.serve.campaign import Campaign
    from faultscape.verbs.serve.gate import Gate, server_key
    from faultscape.verbs.serve.server import app_of
    from faultscape.web import server

    asked = LabelServeOptions(study=str(root), **options)
    with closing(Database(root, stay_open=True)) as database, server.bind(port=0) as listener:
        database.create_tables()
        campaign = Campaign(Study(root, database=database), asked)
        gate = Gate(Annotators(root, database), server_key(root), open_=not asked.invites)
        with running(app_of(campaign, gate, names), listener) as url:
            yield Serving(url, root, campaign)


@contextmanager
def running(app: Any, listener: Any) -> Iterator[str]:
    """Answer requests on a socket from a thread; yields the address."""
    from faultscape.web import server

    held = server.Server(server.configured(app))
    thread = threading.Thread(target=lambda: asyncio.run(held.serve(sockets=[listener])))
    thread.start()
    try:
        yield server.address_of(listener)
    finally:
        held.should_exit = True
        thread.join()


def at_once(page: Any) -> None:
    """Let pages of a server in another process take answers at once, since tests answer faster than
    people.
    """
    page.add_init_script(
        "document.addEventListener('readystatechange', () => { const work = document.getElementById('work');"
        " if (work) work.dataset.settle = '0'; });"
    )


def press(page: Any, key: str, until: str, **state: Any) -> None:
    """Press a key, and wait for what it brings."""
    page.keyboard.press(key)
    page.wait_for_selector(until, **state)


def click(page: Any, what: str, until: str, **state: Any) -> None:
    """Click on something, and wait for what it brings."""
    page.click(what)
    page.wait_for_selector(until, **state)


def enter(page: Any, url: str, name: str = "ann") -> None:
    """Come in by name, and wait for the first item."""
    page.goto(url)
    page.wait_for_selector("input:focus")  # else the first letter may be lost
    page.keyboard.type(name)
    press(page, "Enter", "#work:not([hidden])[data-item]")


def item(page: Any) -> tuple[str, int]:
    """The item on the screen: its id, and whether it is asked again."""
    _, _, id_, repeat, *_ = page.get_attribute("#left .over", "src").split("/")
    return id_, int(repeat)


def go_on(page: Any) -> None:
    """Wait for an item, past a pause."""
    page.wait_for_selector("#pause:not([hidden]), #work:not([hidden])")
    if page.is_visible("#pause"):
        page.keyboard.press("Enter")
    page.wait_for_selector("#work:not([hidden])")


def others_take_all_but(held: Serving, number: int) -> dict[str, Any]:
    """Somebody called ben comes before and has the items in hand, but some; returns these by what pages call
    them.
    """
    from faultscape.study.answers.annotators import Annotators

    ben, _ = Annotators(held.root).invite("ben")
    held.campaign._assignment._most = 1000  # more than anybody may hold
    items = {held.campaign.secret.id_of(id_): one for id_, one in held.campaign._asked.items.items()}
    given = held.campaign.items_for(ben.pseudonym, (), len(items) - number)
    return {id_: one for id_, one in items.items() if id_ not in {had.item.id for had in given}}


def watch(page: Any) -> None:
    """Note from now on what pages load ahead, and how the next item follows a key."""
    page.add_init_script(f"(() => {{{WATCH}}})()")


def loaded(page: Any, number: int) -> None:
    """Wait until that many items came since the page was opened, and all their pictures with them."""
    page.wait_for_function("(number) => loaded(number)", arg=number)


def current(page: Any) -> str:
    """The id of the item on the screen."""
    return page.get_attribute("#work:not([hidden])", "data-item")


def wait_for_item(page: Any, id_: str) -> None:
    """Wait until an item is on the screen."""
    page.wait_for_selector(f"#work:not([hidden])[data-item='{id_}']")


def answer(page: Any, key: str) -> None:
    """Press a key, and wait for the next item."""
    before = page.get_attribute("#work", "data-item")
    press(page, key, f"#work:not([hidden]):not([data-item='{before}'])")


def rows(held: Serving) -> list[tuple[str, int, str]]:
    """All rows of choices: of which image, for the first time or again, and what was said."""
    from faultscape.study.answers.choices import Choices

    return [(one.image, one.repeat, one.chosen) for one in Choices(held.root).rows()]


def all_sent(page: Any) -> None:
    """Wait until the server has every answer."""
    page.wait_for_selector("#unsent[hidden]", state="attached")


def rules(**options: Any) -> Any:
    """The rules of a campaign."""
    from faultscape.verbs.serve.options import CampaignRules

    return CampaignRules(**options)
