"""The law of memory: predict, compare and select hold one shard at a time, however many there are."""

from __future__ import annotations

import hashlib
import os
import weakref
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import children
import faultscape as fs
import made
from faultscape.reading import pairs
from faultscape.reading.fill import to_json
from faultscape.reading.pairs import wanted
from faultscape.reading.study import Study
from faultscape.study.tables import corpus as study_corpus
from faultscape.verbs.compare import agreement, agreement_sample
from faultscape.verbs.compare.count import _jobs, shard

SHARD, SHARDS, MODELS = 3, 10, 3
NETWORK = Path(fs.__file__).parent / "prediction" / "networks" / "mobile.onnx"
# some hundred bytes an image: these may be read of all, a few times
NUMBERS = {"id", "digest", "near_duplicate_of", "group", "shard", "role"}


class Reads:
    """The tables that were read: (number of rows, columns)."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.tables: list[tuple[int, set[str]]] = []
        for owner, name in ((pyarrow.parquet, "read_table"), (pyarrow.parquet.ParquetFile, "read")):
            monkeypatch.setattr(owner, name, self.counted(getattr(owner, name)))

    def counted(self, read: Any) -> Any:
        """The same way of reading, noted."""

        def reading(*given: Any, **options: Any) -> Any:
            table = read(*given, **options)
            self.tables.append((table.num_rows, set(table.column_names)))
            return table

        return reading

    def wide(self, *columns: str) -> list[int]:
        """The numbers of rows of tables with all these columns, but for those of a few numbers an image and
        for times.
        """
        return [
            rows
            for rows, names in self.tables
            if not names <= NUMBERS and "seconds" not in names and set(columns) <= names
        ]

    def narrow(self, *columns: str) -> list[int]:
        """The numbers of rows of tables of a few numbers an image, with all these columns: such are read of
        all, but not once a shard.
        """
        return [rows for rows, names in self.tables if names <= NUMBERS and set(columns) <= names]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> made.Corpus:
    return made.corpus(tmp_path_factory.mktemp("corpus"), images=SHARD * SHARDS, models=MODELS)


@pytest.fixture
def study(corpus: made.Corpus, tmp_path: Path) -> str:
    study = str(tmp_path / "study")
    made.collected(corpus, study, SHARD)
    fs.predict(study, corpus.models, engine="local")
    fs.label.import_(study, str(corpus.truth))
    return study


@pytest.mark.parametrize(
    ("asked", "pool"), [({}, "system"), ({"ARROW_DEFAULT_MEMORY_POOL": "mimalloc"}, "mimalloc")]
)
def test_tables_come_from_the_pool_that_does_not_grow_where_nobody_asks_for_another(
    asked: dict[str, str], pool: str
) -> None:
    about = {key: value for key, value in os.environ.items() if key != "ARROW_DEFAULT_MEMORY_POOL"} | asked
    words = (
        "import faultscape as fs; fs.predict; import faultscape.study.parts, pyarrow;"
        " print(pyarrow.default_memory_pool().backend_name)"
    )
    assert children.python("-c", words, env=about).split() == [pool]


@pytest.mark.parametrize("source", ["folder", "network"])
def test_predict_never_reads_more_than_a_shard_of_the_corpus_at_once(
    source: str, corpus: made.Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, rows, images = str(tmp_path / "study"), [], study_corpus._images
    monkeypatch.setattr(study_corpus, "ROWS_AT_ONCE", SHARD)
    made.collected(corpus, study, SHARD)

    def counted(table: Any, root: Path) -> list[Any]:
        rows.append(table.num_rows)
        return images(table, root)

    monkeypatch.setattr(study_corpus, "_images", counted)
    model = corpus.models["model-0"] if source == "folder" else NETWORK
    fs.predict(study, {"model": model}, engine="local", unmapped="void" if source == "network" else None)
    fs.status(study)
    assert sum(rows) >= 2 * SHARD * SHARDS  # what each shard follows from, and the work on it
    assert max(rows) == SHARD


def test_what_was_read_of_the_corpus_does_not_stay(tmp_path: Path) -> None:
    texts = [hashlib.sha256(b"%d" % k).hexdigest() for k in range(1 << 15)]
    rows = {name: pa.array(texts) for name in study_corpus.SCHEMA.names}
    rows |= {name: pa.array([0] * len(texts)) for name in ("width", "height", "dhash")}
    rows |= {
        "shard": pa.array([k // 1024 for k in range(len(texts))]),
        "source": pa.array(texts, "binary"),
    }
    study_corpus.put_tables(tmp_path / "corpus.parquet", [pa.table(rows)])
    corpus = study_corpus.Corpus(tmp_path)
    size = (tmp_path / "corpus.parquet").stat().st_size
    before = pa.total_allocated_bytes()
    # some row groups are unpacked at a time; with the whole file beside them it would be more
    assert max(pa.total_allocated_bytes() - before for _ in corpus.each_shard()) < size


def test_the_work_on_one_shard_reads_no_other(study: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = Reads(monkeypatch)
    root = Path(study)
    (job,) = _jobs(Study(root), wanted(Study(root), [4], ["labels"]))
    made_ = shard(to_json(job), lambda _: None)
    assert {part["part"] for part in made_["parts"]} == {"00004.models", "00004.truth-labels"}
    assert reads.wide("source") == [SHARD]  # rows of the corpus
    assert reads.wide("runs") == [SHARD] * (MODELS + 1)  # each model's and the truth's maps, once
    assert len(reads.wide()) == MODELS + 2


@pytest.mark.slow
def test_compare_never_reads_more_than_a_shard_at_once_and_looks_through_a_sample_again(
    study: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # as many images of a pool, however large, are looked at for misplaced models
    monkeypatch.setattr(agreement_sample, "_MAPS", 4)
    monkeypatch.setattr(agreement_sample, "_RUN", 2)  # the first two and the last two: of two shards
    reads, held = Reads(monkeypatch), blocks(monkeypatch)
    assert fs.compare(study, engine="local").shards_counted == SHARDS
    assert max(reads.wide()) == SHARD
    assert sorted(reads.wide("runs")) == [SHARD] * (SHARDS * (MODELS + 1) + 2 * MODELS)
    assert len(reads.wide("counts")) == SHARDS * MODELS
    assert len(reads.narrow()) < SHARDS
    assert len(held) == SHARDS
    assert max(held) <= 1  # at most the shard before


@pytest.mark.slow
def test_select_never_reads_more_than_a_shard_at_once_and_keeps_none(
    study: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fs.compare(study, engine="local")
    reads, held = Reads(monkeypatch), blocks(monkeypatch)
    fs.select(study, engine="local")
    assert max(reads.wide()) == SHARD
    assert len(reads.wide("counts")) == SHARDS * MODELS
    assert reads.narrow("digest") == []  # by which ties are decided: they are read piece by piece
    assert reads.narrow().count(SHARD * SHARDS) < SHARDS
    assert reads.narrow().count(SHARD) <= SHARDS  # which chosen images have labels: each shard once at most
    assert len(held) == SHARDS
    assert max(held) <= 1


def blocks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many shards' counts were held when those of the next were read."""
    read, alive, held = pairs.read_block, weakref.WeakSet(), []

    def counted(*given: Any, **options: Any) -> Any:
        block = read(*given, **options)
        held.append(len(alive))
        alive.add(block)
        return block

    for user in (pairs, agreement):
        monkeypatch.setattr(user, "read_block", counted)
    return held
