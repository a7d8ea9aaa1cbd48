"""A study with all that `view` shows, and a client of its pages, for tests."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import faultscape as fs
import made
from faultscape.reading.study import Study
from faultscape.study.answers.labels import Answers
from faultscape.study.answers.tags import Tag, Tags
from faultscape.verbs.view.library import Library
from faultscape.verbs.view.pages import router
from faultscape.web.app import make_app

DISCARDED, TAGGED = 3, (1, 4)  # places in the corpus
VOID, ROWS = 255, 3  # of a label, and how many of its rows are void


@dataclass(frozen=True)
class Shown:
    """A study and what it was made of, by id; ``ids`` in corpus order."""

    root: Path
    corpus: made.Corpus
    ids: tuple[str, ...]
    maps: dict[str, dict[str, np.ndarray]]
    truths: dict[str, np.ndarray]
    labelled: frozenset[str]
    tagged: frozenset[str]
    discarded: frozenset[str]

    def group(self, id_: str) -> str:
        """The group, which is the folder of a photo."""
        return id_.split("/")[-2]

    def set(self, id_: str) -> str:
        """The set, which ids of all but the first begin with."""
        return "dusk" if id_.startswith("dusk/") else "main"


def shown(folder: Path, images: int = 14, models: int = 3) -> Shown:
    """A study of two sets and shards of four images, predicted, counted, drawn from and half labelled; one
    image is discarded and two have a tag.
    """
    corpus, study = made.corpus(folder / "corpus", images=images, models=models), folder / "study"
    for number, id_ in enumerate(corpus.ids):
        if number % 3 == 0:  # the photos of the second set
            (photo := corpus.photos / f"{id_}.png").rename(made_folder(folder / "dusk", id_) / photo.name)
    fs.collect(
        study,
        corpus.photos,
        classes=corpus.classes,
        storage=fs.options.Storage(shard_size=4),
        grouping=fs.options.Grouping(group="{group}/*"),
    )
    fs.collect(
        study, folder / "dusk", set_="dusk", role="test", grouping=fs.options.Grouping(group="dusk/{group}/*")
    )
    stored = fs.study.tables.corpus.read_corpus(study)
    ids = tuple(image.id for image in stored)
    row = {id_: corpus.ids.index(id_.removeprefix("dusk/")) for id_ in ids}
    for name, stack in corpus.maps.items():  # under the ids that the study has
        for id_ in ids:
            made.write(folder / "maps" / name / f"{id_}.png", stack[row[id_]])
    fs.predict(str(study), {name: folder / "maps" / name for name in corpus.maps}, engine="local")
    fs.compare(str(study), engine="local")
    fs.select(str(study), selector="random", budget=3, as_="drawn")
    labelled, truths = ids[::2], {id_: corpus.truths[row[id_]].copy() for id_ in ids}
    for label in truths.values():
        label[:ROWS] = VOID
    for id_ in labelled:
        made.write(folder / "labels" / f"{id_}.png", truths[id_])
    fs.label.import_(str(study), str(folder / "labels"))
    fs.rank(str(study), selection="drawn", engine="local")  # counts the models against the labels
    Answers(study).discard([(ids[DISCARDED], "too dark")], "test")
    Tags(study).add_all(
        [
            Tag(ids[TAGGED[0]], "rain", "ann"),
            Tag(ids[TAGGED[1]], "rain", "ann", model="model-1", region="1,2,3,4"),
        ],
        "test",
    )
    Tags(study).add_all(
        [Tag(ids[0], "rain", "ann"), Tag(ids[0], "rain", "ann", given=False), Tag("nobody", "rain", "ann")],
        "test",
    )
    return Shown(
        study,
        corpus,
        ids,
        {name: {id_: stack[row[id_]] for id_ in ids} for name, stack in corpus.maps.items()},
        truths,
        frozenset(labelled),
        frozenset(ids[k] for k in TAGGED),
        frozenset({ids[DISCARDED]}),
    )


def made_folder(root: Path, id_: str) -> Path:
    """The folder of an id under another root, made."""
    (root / id_).parent.mkdir(parents=True, exist_ok=True)
    return (root / id_).parent


def client(root: Path, library: Library | None = None, *, strict: bool = False) -> Any:
    """A client of the pages of a study, all of whose counts are read; ``strict`` raises what an app lets
    out.
    """
    from fastapi.testclient import TestClient

    library = library or Library(Study(root))
    library.wait()
    return TestClient(
        make_app([router(library)]),
        base_url="http://127.0.0.1:8750",
        raise_server_exceptions=strict,
        follow_redirects=False,
    )


def plain_miou(one: np.ndarray, other: np.ndarray) -> float:
    """The mean IoU over the classes that either map shows, pixel sets in the plainest way; void of the first
    counts nowhere.
    """
    found, kept = [], one != VOID
    one, other = one[kept], other[kept]
    for class_ in sorted({*one.ravel().tolist(), *other.ravel().tolist()}):
        a, b = one == class_, other == class_
        found.append((a & b).sum() / (a | b).sum())
    return sum(found) / len(found)
