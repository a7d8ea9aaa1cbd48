"""How much time a page of points adds to a person's own, in a real browser: ``python benchmarks/point_clicks.py
[--seconds 1 3 5] [--points 110 40 24] [--study FOLDER]``.

Conventions: 60 images of 1280 x 960, 6 models. The person looks at each point for a fixed time from the moment
at which its crop is drawn, and presses the number of a class: a frame is drawn once the crop is decoded and two
animation frames have passed. After half of the points the server is killed (SIGKILL) and started again at the
same address; the person goes on meanwhile. At the end every answer that was given has to be in the database
once. ``added`` is the time between two keys less the time of looking; ``next`` that from a key to the frame
with the next crop.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

IMAGES, MODELS, WIDTH, HEIGHT = 60, 6, 1280, 960
# seen(): resolves once the crop of another item than the last one is drawn, with the milliseconds since the key
WATCH = """
let pressed = 0, last = "";
document.addEventListener("keydown", () => { pressed = performance.now(); }, true);
const frame = () => new Promise(requestAnimationFrame);
window.seen = async () => {
  const work = document.getElementById("work");
  while (work.hidden || !work.dataset.item || work.dataset.item === last) {
    if (!document.getElementById("finished").hidden) return null;
    if (!document.getElementById("pause").hidden) {
      await new Promise((done) => setTimeout(done, 400)); // a press at once would be ignored
      document.getElementById("go-on").click();
    }
    await frame();
  }
  last = work.dataset.item;
  await document.querySelector(".stage .photo").decode();
  await frame();
  await frame();
  return { item: last, milliseconds: performance.now() - pressed };
};
"""


def make(folder: Path, points: int) -> Path:
    """Make the study."""
    import cv2
    from made_maps import maps

    import faultscape as fs

    rng = np.random.default_rng(0)
    for number in range(IMAGES):
        stack = maps("web", MODELS, WIDTH // 4, 12, number)[:, : HEIGHT // 4]
        photo = cv2.resize(rng.integers(0, 256, (60, 80, 3), np.uint8), (WIDTH, HEIGHT))
        for room, pixels in (("photos", photo), *((f"maps/model-{m}", own) for m, own in enumerate(stack))):
            file = folder / room / f"{number:03d}.{'jpg' if room == 'photos' else 'png'}"
            file.parent.mkdir(parents=True, exist_ok=True)
            cv2.imwrite(str(file), cv2.resize(pixels, (WIDTH, HEIGHT), interpolation=cv2.INTER_NEAREST))
    root = folder / "study"
    fs.collect(str(root), str(folder / "photos"), classes=12)
    models = {f"model-{m}": str(folder / "maps" / f"model-{m}") for m in range(MODELS)}
    fs.predict(str(root), models, engine="local")
    fs.compare(str(root), engine="local")
    fs.select(str(root), sampling=fs.options.Sampling(points=points), engine="local")
    return root


@contextmanager
def serving(root: Path, port: int = 0) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`label serve` in a process of its own, and its address."""
    line = [sys.executable, "-m", "faultscape", "label", "serve", str(root), "--port", str(port)]
    with subprocess.Popen([*line, "--repeats", "0"], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found is not None
            yield process, found[0]
        finally:
            process.kill()


def answer(page: Any, number: int, seconds: float) -> tuple[list[str], list[float], list[float]]:
    """Answer so many points; return their items, the milliseconds from each key to the next crop, and the
    seconds between two keys.
    """
    items, following, between = list[str](), list[float](), list[float]()
    before = None
    for k in range(number):
        found = page.evaluate("seen()")
        if found is None:
            break
        if before is not None:
            following.append(found["milliseconds"])
        page.wait_for_timeout(1000 * seconds)
        items.append(found["item"])
        now = time.perf_counter()
        between += [] if before is None else [now - before]
        before = now
        page.keyboard.press("1" if k % 3 else "v")
    return items, following, between


def run(root: Path, browser: Any, number: int, seconds: float) -> str:
    """Have one person answer, kill the server in the middle, check that nothing is lost, and return a row."""
    from faultscape.study.answers.points import PointAnswers

    (root / "answers.sqlite").unlink(missing_ok=True)
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.add_init_script(f"document.addEventListener('DOMContentLoaded', () => {{{WATCH}}})")
    with serving(root) as (process, url):
        page.goto(url)
        page.wait_for_selector("input:focus")
        page.keyboard.type("ann")
        page.keyboard.press("Enter")
        page.wait_for_selector("#work:not([hidden])[data-item]")
        items, following, between = answer(page, number // 2, seconds)
        process.send_signal(signal.SIGKILL)
        process.wait()
    more = answer(page, 3, seconds)  # those ahead; what follows has to wait for the server
    items += more[0]
    with serving(root, int(url.rstrip("/").rpartition(":")[2])):
        rest = answer(page, number - len(items), seconds)
        page.wait_for_selector("#unsent[hidden]", state="attached")
    page.close()
    items += rest[0]
    rows = PointAnswers(root).rows()
    asked = len({(one.image, one.row, one.column) for one in rows})
    lost = len(set(items)) - asked
    twice = len(rows) - asked
    following += more[1] + rest[1]
    gaps = np.array(between + more[2] + rest[2])
    return (
        f"| {seconds:g} s | {len(items)} | {60 / gaps.mean():.0f} | {np.median(gaps) - seconds:.3f} |"
        f" {np.median(following):.0f} / {np.percentile(following, 95):.0f} | {lost} | {twice} |"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, nargs="+", default=[1, 3, 5])
    parser.add_argument("--points", type=int, nargs="+", default=[110, 40, 24])
    parser.add_argument("--study", type=Path, help="a folder in which to make the study, or where it is")
    asked = parser.parse_args()
    from playwright.sync_api import sync_playwright

    folder = asked.study or Path(tempfile.mkdtemp())
    made = folder / "study"
    root = made if (made / "study.toml").exists() else make(folder, 2 * max(asked.points))
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before")
    print("| looks for | points | answers a minute | added s, p50 | next crop ms, p50 / p95 | lost | twice |")
    print("|---|---|---|---|---|---|---|")
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for seconds, number in zip(asked.seconds, asked.points, strict=True):
            print(run(root, browser, number, seconds), flush=True)
        browser.close()
    if asked.study is None:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
