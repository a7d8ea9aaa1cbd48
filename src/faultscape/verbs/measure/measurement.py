"""One measurement: what a command measures by, and the folder that it writes to."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from faultscape.metrics.definitions import Definitions
from faultscape.reading.study import Study
from faultscape.study.parts import Part, read_manifest, there
from faultscape.study.tables import measures
from faultscape.verbs.measure.shard import of_maps
from faultscape.verbs.predict.statistics import Reading

if TYPE_CHECKING:
    from faultscape.verbs.measure.sets import DataSet
    from faultscape.verbs.options import MeasureOptions


@dataclass(frozen=True, eq=False)
class Measurement:
    """The options of a command, its definitions, the folder that it writes to, the study that it measures
    (None for folders), and the metrics of ``instances`` that it asks for.
    """

    options: MeasureOptions
    definitions: Definitions
    out: Path
    study: Study | None = None
    instances: tuple[str, ...] = ()

    @property
    def held(self) -> Path:
        """The folder that is locked meanwhile."""
        return self.out if self.study is None else self.study.root

    @cached_property
    def reading(self) -> Reading:
        """The options besides definitions that affect statistics."""
        about = self.options.definitions
        files = self.options.files
        return Reading(about.boundaries, about.divisor, files.score_scale, files.resize_maps)

    @cached_property
    def metrics_of_maps(self) -> tuple[str, ...]:
        """The arguments of `--metric` that name metrics of label maps."""
        return of_maps(self.options.metric)

    @cached_property
    def metrics_of_scores(self) -> tuple[str, ...]:
        """The other arguments of `--metric`."""
        return tuple(word for word in self.options.metric if word not in self.metrics_of_maps)

    def folder(self, against: str, name: str) -> Path:
        """Return the folder of a model's statistics in a data set."""
        return measures.folder(self.out, against, name)

    def parts(self, against: str, name: str) -> Mapping[str, Part]:
        """Return the parts of a model's statistics in a data set."""
        read = read_manifest if self.study is None else self.study.manifest
        return read(self.folder(against, name))

    def statistics(
        self, data: DataSet, name: str, only: Collection[str] | None = None
    ) -> measures.Statistics:
        """Return a model's statistics in a data set (`only` some of them)."""
        parts = self.parts(data.name, name)
        return measures.Statistics(self.folder(data.name, name), data.ids, only, parts)

    def existing(self, against: str, name: str) -> Mapping[str, Part]:
        """Return those of the parts whose files exist."""
        return there(self.folder(against, name), parts=self.parts(against, name))
