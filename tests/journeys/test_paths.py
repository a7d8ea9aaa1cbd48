"""In Python a `pathlib.Path` serves wherever a word names a file or a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

import faultscape as fs
import made
from faultscape.errors import OptionError
from refusals import refused


@pytest.mark.slow
def test_every_verb_takes_paths(tmp_path: Path) -> None:
    corpus, study = made.corpus(tmp_path / "corpus", images=6, models=3), tmp_path / "study"
    fs.collect(study, corpus.photos, classes=corpus.classes)
    fs.predict(study, corpus.models, engine="local")
    fs.compare(study, engine="local")
    fs.scale(corpus.truth, classes=corpus.classes, output=tmp_path / "scale.json")
    fs.select(study, maps=fs.options.MapRules(scale=tmp_path / "scale.json"), engine="local")
    fs.label.export(study, tmp_path / "to-label")
    fs.label.import_(study, corpus.truth)
    (tmp_path / "closed.csv").write_text("".join(f"{name},{k}\n" for k, name in enumerate(corpus.models)))
    fs.rank(study, benchmark=tmp_path / "closed.csv", resamples=20, engine="local")
    fs.plan(study, engine="local")
    fs.measure(study, engine="local")
    fs.measure(
        corpus.truth, corpus.models, classes=corpus.classes, output=tmp_path / "measured", engine="local"
    )
    fs.report(study, output=tmp_path / "page.html")
    assert (tmp_path / "page.html").exists()
    assert (tmp_path / "measured" / "report.html").exists()
    ran = fs.run(study, corpus.photos, corpus.models, scale=tmp_path / "scale.json", engine="local")
    assert ran.status.next == ""
    assert str(fs.status(study)) == str(fs.status(str(study)))
    assert str(fs.show(study / "study.toml")) == (study / "study.toml").read_text()
    fs.label.remove(study, corpus.ids[0])
    fs.collect(study, remove=[corpus.ids[0]])
    assert "5 images" in str(fs.status(study))


def test_what_is_no_name_of_a_file_is_refused_in_one_line(tmp_path: Path) -> None:
    with refused(
        OptionError,
        r"expected the name of a file or folder, text or a path; got \['photos'\]; a list is written \*LIST",
    ):
        fs.collect(tmp_path / "study", ["photos"])  # type: ignore[arg-type]
    with refused(OptionError, "expected the name of a file or folder, text or a path; got 3"):
        fs.status(3)  # type: ignore[arg-type]
