"""The corpus: the images of a study."""

from __future__ import annotations

from faultscape.errors import counted, in_shards
from faultscape.reading.artefact import Artefact
from faultscape.reading.study import Study


class _Corpus(Artefact):
    def instances(self, _study: Study) -> list[str]:
        return [""]

    def exists(self, study: Study, _name: str) -> bool:
        return bool(study.image_count)

    def describe(self, study: Study, _name: str) -> str:
        words = f"{counted(study.image_count, 'image')}{in_shards(len(study.shard_sizes))}"
        return words + (f"; failures.csv has {counted(study.failures, 'row')}" if study.failures else "")

    def line(self, study: Study, _name: str = "") -> str:
        page = study.root / "web" / "review.html"
        if page.exists():
            return f"open {page}, then faultscape collect {study.place} --accept accept.csv"
        return f"faultscape collect {study.place} IMAGES"


CORPUS = _Corpus("corpus", verb="collect")
