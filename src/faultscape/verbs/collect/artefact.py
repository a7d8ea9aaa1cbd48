"""The corpus: the images of a study."""

from __future__ import annotations

from faultscape.errors import counted, in_shards
from faultscape.reading.artefact import Artefact
from faultscape.reading.study import Study


def _made_from(study: Study, _name: str) -> dict[str, str] | None:
    return {} if study.image_count else None


def _describe(study: Study, _name: str) -> str:
    words = f"{counted(study.image_count, 'image')}{in_shards(len(study.shard_sizes))}"
    return words + (f"; failures.csv has {counted(study.failures, 'row')}" if study.failures else "")


def _line(study: Study, _name: str) -> str:
    page = study.root / "web" / "review.html"
    if page.exists():
        return f"open {page}, then faultscape collect {study.place} --accept accept.csv"
    return f"faultscape collect {study.place} IMAGES"


CORPUS = Artefact(
    name="corpus",
    verb="collect",
    inputs=(),
    reasons={},
    instances=lambda _: [""],
    made_from=_made_from,
    made_from_now=lambda _study, _name: {},
    describe=_describe,
    line=_line,
)
