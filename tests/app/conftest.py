"""Studies that people answer about, servers of them, and one browser for all tests of pages."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
import made
import made_answers
from answering import ELSEWHERE, ENLARGED, Asked, Serving, served

LINES = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


# while a browser is open nothing else of its process can run a loop of its own
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="no playwright: pages are not opened in a browser"
    )
    pytest.importorskip("fastapi", reason="no fastapi: the extra app is not installed")
    path = shutil.which("chromium") or shutil.which("google-chrome")
    with playwright.sync_playwright() as p:
        try:
            made_browser = p.chromium.launch(
                executable_path=path, args=[*LINES, f"--host-resolver-rules=MAP {ELSEWHERE} 127.0.0.1"]
            )
        except playwright.Error:
            pytest.skip("no Chromium: pages are not opened in a browser")
        yield made_browser
        made_browser.close()


@pytest.fixture(autouse=True)
def at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of this process take answers at once, since tests answer faster than people; but not in tests
    that ask for `settling`.
    """
    if "settling" not in request.fixturenames and importlib.util.find_spec("fastapi"):
        monkeypatch.setattr("faultscape.verbs.serve.pages.work.SETTLE", 0)


@pytest.fixture
def settling() -> int:
    """Milliseconds in which pages take no answer, as for people."""
    from faultscape.verbs.serve.pages.work import SETTLE

    return SETTLE


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page of a browser of somebody's own."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    yield context.new_page()
    context.close()


def _enlarge(corpus: made.Corpus) -> None:
    """Make the files of a corpus so large that a person could see them."""
    for path in corpus.root.rglob("*.png"):
        picture = Image.open(path)
        picture.resize((picture.width * ENLARGED, picture.height * ENLARGED), Image.Resampling.NEAREST).save(
            path, compress_level=1
        )


@pytest.fixture(scope="session")
def duels(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    """A study of label maps with duels of four models, and masks of somebody called ben."""
    folder = tmp_path_factory.mktemp("duels")
    corpus = made.corpus(folder / "corpus", images=30, models=4)
    _enlarge(corpus)
    study = made.compared_study(corpus, folder / "street study", shard_size=16)
    fs.select(study, per_class=5)
    for id_ in corpus.ids[:3]:
        made.write(
            folder / "masks" / f"{id_}.png",
            corpus.truths[corpus.ids.index(id_)].repeat(ENLARGED, 0).repeat(ENLARGED, 1),
        )
    fs.label.import_(study, str(folder / "masks"), truth="labels-ben")
    return Asked(Path(study), corpus)


@pytest.fixture(scope="session")
def pointed(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    """A study of three models from which points are drawn."""
    folder = tmp_path_factory.mktemp("pointed")
    corpus = made.corpus(folder / "corpus", images=8, models=3)
    _enlarge(corpus)
    study = made.compared_study(corpus, folder / "street study", shard_size=4)
    fs.select(study, sampling=fs.options.Sampling(points=40), engine="local")
    return Asked(Path(study), corpus)


@pytest.fixture(scope="session")
def classified(duels: Asked, tmp_path_factory: pytest.TempPathFactory) -> Asked:
    """A study of classifiers over the same photos, with labels of some others that serve as examples."""
    folder, corpus = tmp_path_factory.mktemp("classified"), duels.corpus
    (folder / "classes.txt").write_text("\n".join(made_answers.NAMES))
    study, rng = str(folder / "animals"), np.random.default_rng(3)
    fs.collect(study, str(corpus.photos), task="classification", classes=str(folder / "classes.txt"))
    truth = rng.integers(0, 5, len(corpus.ids))
    tables = {}
    for m in range(3):
        said = np.where(rng.random(len(truth)) < 0.2 + 0.2 * m, rng.integers(0, 5, len(truth)), truth)
        tables[f"model-{m}"] = folder / f"model-{m}.csv"
        lines = [f"{id_},{made_answers.NAMES[k]}" for id_, k in zip(corpus.ids, said.tolist(), strict=True)]
        tables[f"model-{m}"].write_text("\n".join(["image,label", *lines]) + "\n")
    fs.predict(study, {name: str(path) for name, path in tables.items()})
    fs.select(study, top=4)
    return Asked(Path(study), corpus)


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Serving]]:
    """Serve a copy of a study: ``serve(study, forced=True)``."""
    with ExitStack() as stack:

        def begin(asked: Asked, **options: Any) -> Serving:
            root = tmp_path / asked.root.name
            shutil.copytree(asked.root, root)
            return stack.enter_context(served(root, **options))

        yield begin


@pytest.fixture
def held(serve: Callable[..., Serving], duels: Asked) -> Serving:
    """A server of the study of duels."""
    return serve(duels)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    import made_entrance

    return made_entrance.study(tmp_path)


@pytest.fixture
def entrance(root: Path) -> Iterator[Any]:
    """A server of that study behind its gate."""
    import made_entrance

    with made_entrance.entrance(root) as held:
        yield held
