"""What every line of the command line has in common: help, results as JSON, what is printed and where, progress,
completion, and the exit status.
"""

from __future__ import annotations

import inspect
import io
import json
import math
import re
import shlex
import subprocess
import sys
import types
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape import progress
from faultscape.cli import build, main, repeated
from faultscape.command_line.commands import SHORT, command, read_docstring
from faultscape.command_line.completion import completion_script
from faultscape.command_line.help_page import EXAMPLES, help_text, verb_line
from faultscape.command_line.output_options import NAMES, split
from faultscape.command_line.result_json import field_names, json_value, result_json, result_kinds
from faultscape.nouns import Scale
from faultscape.verbs.label.result import Checked
from faultscape.verbs.verb_list import GROUPS, LINES, REMOVALS, SECTIONS, VERBS
from refusals import refused_line, typed

COMMAND = pytest.mark.parametrize("words", LINES, ids=" ".join)


def run(*words: object) -> tuple[int, str, str]:
    """Run a line; return its exit status, standard output and standard error."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = main([str(word) for word in words])
    return status, out.getvalue(), err.getvalue()


@pytest.fixture
def columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A study with models, counts, a selection and labels."""
    root = tmp_path_factory.mktemp("ready")
    corpus = made.corpus(root / "corpus", images=6, models=3)
    study = str(root / "study")
    fs.run(study, corpus.photos, corpus.models, classes=corpus.classes, goal="failures", engine="local")
    fs.label.import_(study, str(corpus.truth))
    return study


class TestHelp:
    @pytest.mark.usefixtures("columns")
    @COMMAND
    def test_a_page_follows_the_line_and_fits_into_eighty_columns(self, words: tuple[str, ...]) -> None:
        status, page, err = run(*words, "--help")
        assert (status, err) == (0, "")
        assert [line for line in page.splitlines() if len(line) > 80] == []
        usage = next(line for line in page.splitlines() if line.startswith("Usage: "))
        assert usage.startswith(f"Usage: faultscape {' '.join(words)} ")
        assert page.index("Usage: ") < page.index("Examples:") < page.index("For every verb:")
        of = command(words)
        if of.arguments:
            assert page.index("Arguments:") < page.index("For every verb:")
            for one in of.arguments:
                assert one.text.split(" ", 1)[0] in page

    def test_the_study_stands_before_the_options(self) -> None:
        assert command(("select",)).usage == "faultscape select STUDY [OPTIONS]"
        assert command(("collect",)).usage == "faultscape collect STUDY [IMAGES ...] [OPTIONS]"
        assert command(("measure",)).usage == "faultscape measure [SOURCE] [NAME=SOURCE ...] [OPTIONS]"
        assert command(("scale",)).usage == "faultscape scale [MASKS ...] --classes CLASSES [OPTIONS]"
        assert command(("label", "export")).usage == "faultscape label export STUDY OUT [OPTIONS]"

    @COMMAND
    def test_every_option_of_the_signature_is_on_the_page_and_no_other(self, words: tuple[str, ...]) -> None:
        app = build(words)
        for word in words:
            app = app[word]
        read = {
            name
            for argument in app.assemble_argument_collection()
            if argument.field_info.kind is inspect.Parameter.KEYWORD_ONLY and argument.names != ("*",)
            for name in argument.names
            if not name.startswith("--empty-")
        }
        shown = {name for of in command(words).options.values() for one in of for name in one.spellings}
        assert shown - set(SHORT) == read

    @COMMAND
    def test_a_page_names_every_option_and_that_of_all_describes_it(self, words: tuple[str, ...]) -> None:
        _, page, _ = run(*words, "--help")
        _, whole, _ = run(*words, "--help", "all")
        for title, options in command(words).options.items():
            for one in options:
                assert re.search(rf"(?m)^  .*{one.spellings[0]}\b", page), one.name
                assert " ".join(one.text.split()) in " ".join(whole.split()), one.name
            assert not options or f"\n{title or 'Options'}:\n" in page
        short = words in {("measure",), ("train",)}
        assert (len(page) < len(whole)) == ("--help all for what these mean" in page) == short

    @COMMAND
    def test_a_value_has_a_name_that_says_what_it_is_and_a_default_stands_once(
        self, words: tuple[str, ...]
    ) -> None:
        page = help_text(words, everything=True)
        assert not re.search(r"\b(STR|INT|FLOAT|CHOICE|BOOL)\b", page)
        for chunk in re.split(r"\n(?=  -)", page):
            text = " ".join(chunk.split())
            assert text.count("[default: ") <= 1
            assert "[default: " not in text or "default" not in text.replace("[default: ", "").lower(), text
        assert "In Python" not in page
        assert ("[default: processes]" in page) == ("--engine" in page)
        assert not re.search(r"default: (False|None)\b", page)

    def test_values_are_paths_numbers_and_names(self) -> None:
        page = help_text(["select"])
        assert re.search(r"--per-class N\b", page)
        assert re.search(r"--scale PATH\b", page)
        assert re.search(r"--goal order\|best\b", page)
        assert re.search(r"--as NAME\b", page)
        assert re.search(r"--shard PART/PARTS\b", help_text(["compare"]))

    def test_labels_are_pairs_or_a_file(self) -> None:
        pages = {words: help_text(words, everything=True) for words in LINES}
        typed = {words: re.findall(r"\n  --labels (\S+)", page) for words, page in pages.items()}
        assert {words: of for words, of in typed.items() if of} == {
            words: ["VALUE=CLASS|FILE"] for words in (("predict",), ("label", "import"), ("measure",))
        }

    def test_options_stand_in_the_groups_of_the_signature(self) -> None:
        page = help_text(["select"])
        assert page.index("\nOptions:") < page.index("\nHow label maps are compared and constrained:")
        assert page.index("--concordance") > page.index("How label maps are compared and constrained:")

    @COMMAND
    def test_a_command_has_two_examples_which_are_lines_that_it_takes(self, words: tuple[str, ...]) -> None:
        assert len(EXAMPLES[words]) >= 2
        for example in EXAMPLES[words]:
            given = split(shlex.split(example)[1:])[0]
            assert tuple(given[: len(words)]) == words
            given = repeated([SHORT.get(word, word) for word in given])
            _, bound, _ = build(given).parse_args(given, print_error=False, exit_on_error=False)
            assert bound.arguments

    def test_no_example_is_of_a_command_that_there_is_not(self) -> None:
        assert set(EXAMPLES) == set(LINES)

    @pytest.mark.usefixtures("columns")
    def test_the_first_page_has_a_line_a_verb_under_what_it_is_for(self) -> None:
        status, page, _ = run("--help")
        assert status == 0
        assert [line for line in page.splitlines() if len(line) > 80] == []
        for title, verbs in SECTIONS.items():
            assert f"\n{title}:\n" in page
            for verb in verbs:
                assert f"\n  {verb:<11}  {verb_line(verb)}\n" in page
        assert run()[:2] == (0, page)  # without a word the same

    def test_a_docstring_is_read_a_paragraph_a_line(self) -> None:
        document = (
            "Do\n    it.\n\n    More\n    of it.\n\n    Parameters\n    ----------\n    a\n        What is\n"
            "        done.\n    b\n        More.\n    "
        )
        assert read_docstring(document) == ("Do it.\n\nMore of it.", {"a": "What is done.", "b": "More."})

    def test_a_page_is_as_wide_as_the_terminal_up_to_a_hundred_columns(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        widths = {}
        for terminal in (60, 100, 300):
            monkeypatch.setenv("COLUMNS", str(terminal))
            widths[terminal] = max(map(len, help_text(["collect"]).splitlines()))
        assert widths[60] < widths[100] <= 100
        assert widths[300] == widths[100]


class TestVerbs:
    @pytest.mark.parametrize("verb", GROUPS)
    def test_a_verb_without_its_command_says_what_there_is_and_fails(self, verb: str) -> None:
        """A script that forgot the command must not go on as if it had been run."""
        status, out, err = run(verb)
        assert (status, out) == (2, "")
        assert all(re.search(rf"^  {name} ", err, re.MULTILINE) for name in GROUPS[verb])
        assert err.endswith(f"faultscape: {verb} needs a command: {', '.join(GROUPS[verb])}\n")
        assert run(verb, "--help")[0] == 0

    @pytest.mark.parametrize("word", REMOVALS[0])
    def test_who_wants_to_remove_something_is_told_what_does(self, word: str) -> None:
        said = refused_line(word, "study")
        assert f"unknown verb '{word}'. To remove something: collect --remove (images)" in said
        assert "label remove (labels, answers, discards)" in said

    def test_all_that_removes_is_named(self) -> None:
        with_option = {
            " ".join(words)
            for words in LINES
            for of in command(words).options.values()
            for one in of
            if one.name == "remove"
        }
        assert {line.partition(" --remove")[0] for line in REMOVALS[1] if " --remove" in line} == with_option

    def test_the_version_is_printed(self) -> None:
        assert run("--version") == (0, f"{fs.__version__}\n", "")


class TestJson:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("words", "fields"),
        [
            (("status", "STUDY"), {"study", "stages", "next"}),
            (("compare", "STUDY", "--engine", "local"), {"models", "pairs", "agreement"}),
            (("select", "STUDY", "--engine", "local"), {"images", "slots", "spares", "definition"}),
            (("select", "STUDY", "--list"), {"chosen"}),
            (("rank", "STUDY", "--resamples", "20", "--engine", "local"), {"rankings", "notes"}),
            (("plan", "STUDY", "--engine", "local"), {"questions", "recommended"}),
            (
                ("measure", "STUDY", "--resamples", "20", "--worst", "0", "--engine", "local"),
                {"path", "models"},
            ),
            (("report", "STUDY"), {"path", "size", "images"}),
            (("collect", "STUDY", "--block", "3"), {"images", "shards"}),
            (("run", "STUDY", "--engine", "local"), {"done", "status"}),
            (("show", "STUDY"), {"columns", "rows"}),
            (("show", "STUDY/study.toml"), {"text"}),
            (("show", "STUDY", "--images"), {"chosen"}),
            (("label", "export", "STUDY", "STUDY-out"), {"folder", "images"}),
            (("label", "remove", "STUDY", "*", "--dry-run"), {"done", "stale"}),
            (("stress", "corrupt", "STUDY", "--corruption", "fog"), {"sets", "images"}),
        ],
        ids=lambda words: " ".join(words) if isinstance(words, tuple) else "",
    )
    def test_a_result_is_one_object_on_standard_output_and_nothing_else(
        self, words: tuple[str, ...], fields: set[str], ready: str
    ) -> None:
        status, out, _ = run(*(word.replace("STUDY", ready) for word in words), "--json")
        assert status == 0
        assert out.count("\n") == 1
        found = json.loads(out, parse_constant=pytest.fail)
        line = words[:2] if words[0] in GROUPS else words[:1]
        assert found.pop("verb") == " ".join(line)
        assert fields <= set(found)
        assert any(set(found) == set(field_names(kind)) for kind in result_kinds(line))

    @COMMAND
    def test_the_page_of_the_command_line_names_every_field(self, words: tuple[str, ...]) -> None:
        page = (Path(__file__).parents[2] / "docs" / "reference" / "command-line.md").read_text()
        kinds = result_kinds(words)
        assert kinds
        for kind in kinds:
            assert kind is not types.NoneType
            assert f"| `{' '.join(words)}` | `{kind.__name__}` |" in page

    def test_numbers_have_twelve_digits_and_undefined_ones_are_null(self) -> None:
        text = result_json(("scale",), Scale(("sky",), (2,), (math.nan,), (1 / 3,)))
        assert json.loads(text) == {
            "verb": "scale",
            "names": ["sky"],
            "n_images": [2],
            "t_min": [None],
            "t_max": [0.333333333333],
        }
        assert json_value(np.array([[1.0, np.nan], [np.inf, 2 / 3]])) == [[1, None], [None, 0.666666666667]]
        assert json_value({"a": {2, 1}, "b": Path("x"), "c": b"d"}) == {"a": [1, 2], "b": "x", "c": "d"}

    def test_a_mistake_is_a_line_on_standard_error_and_no_object(self, tmp_path: Path) -> None:
        status, out, err = run("status", tmp_path / "none", "--json")
        assert (status, out) == (2, "")
        assert err.startswith("faultscape: ")
        assert err.count("\n") == 1

    def test_a_check_that_fails_prints_its_object_and_ends_with_one(self, tmp_path: Path) -> None:
        broken = tmp_path / "annotations.xml"
        broken.write_text("<annotations><version>1.1</version><image id='0' name='a.png'/></annotations>")
        status, out, _ = run("label", "check", broken, "--format", "cvat", "--json")
        assert status == json.loads(out)["exit_status"]
        assert Checked("f", "cvat", ("a",)).exit_status == 1


class TestWhatIsPrinted:
    def test_a_selection_is_told_by_its_images_and_formulas_only_on_demand(self, ready: str) -> None:
        line = ("select", ready, "--as", "told", "--per-class", "1", "--engine", "local")
        assert re.search(r"^told: \d+ images?; all have labels$", run(*line)[1], re.MULTILINE)
        assert "J(J-1)" not in run(*line)[1]
        said = run(*line, "-v")[1]
        assert re.search(
            r"at most J\(J-1\)\|Y\|K = 3 x 2 x \d+ x 1 = \d+ slots\n\d+ of \d+ cells \(defender, attacker, class\) are empty",
            said,
        )

    def test_quiet_prints_the_result_alone(self, ready: str) -> None:
        line = ("select", ready, "--as", "quiet", "--engine", "local")
        loud = run(*line)[1]
        assert loud.startswith("note: 1 of the 2 images decides ")
        again = run("select", ready, "--as", "quiet2", "--engine", "local", "-q")
        assert re.fullmatch(r"quiet2: \d+ images?; all have labels\nnext: faultscape rank .*\n", again[1])
        assert again[2] == ""

    def test_quiet_leaves_out_notes_and_warnings_beside_an_object_and_a_list_too(self, ready: str) -> None:
        line = ("select", ready, "--engine", "local")
        assert "note: 1 of the 2 images decides" in run(*line, "--as", "loud", "--json")[2]
        status, out, err = run(*line, "--as", "quiet3", "--json", "-q")
        assert (status, err) == (0, "")
        assert json.loads(out)["verb"] == "select"
        assert run(*line, "--as", "quiet4", "--list", "-q")[2] == ""

    def test_quiet_keeps_errors(self, tmp_path: Path) -> None:
        status, out, err = run("status", tmp_path / "none", "-q")
        assert (status, out) == (2, "")
        assert err.startswith("faultscape: ")

    @pytest.mark.slow
    def test_quiet_leaves_notes_out_of_results(self, ready: str, tmp_path: Path) -> None:
        line = ("measure", ready, "--engine", "local", "-o", tmp_path / "out")
        loud = run(*line)[1]
        assert "; -v prints every error" in loud
        quiet = run(*line, "-q")[1].splitlines()
        assert quiet == [one.partition("; -v prints")[0] for one in loud.splitlines() if "note: " not in one]
        assert quiet[-1].startswith(f"{tmp_path / 'out' / 'report.html'}; beside it ")
        assert quiet[0].startswith("model-0 ")
        assert "note: " in run("rank", ready, "--engine", "local")[1]
        assert "note: " not in run("rank", ready, "--engine", "local", "-q")[1]

    def test_measure_names_the_files_that_it_wrote(self, ready: str, tmp_path: Path) -> None:
        out = tmp_path / "out"
        last = run("measure", ready, "--engine", "local", "-o", out)[1].splitlines()[-1]
        assert last.startswith(f"{out}/report.html; beside it measure.json and per_image.parquet")

    def test_measure_says_that_it_replaces_another_measurement(self, tmp_path: Path) -> None:
        corpus = made.corpus(tmp_path / "corpus", images=6, models=2)
        line = ["measure", str(corpus.truth), "--classes", str(corpus.classes), "--engine", "local"]
        line += ["-o", str(tmp_path / "out")]
        models = [f"{name}={path}" for name, path in corpus.models.items()]
        said = re.compile(r"^note: replaces the measurement of \d{4}-\d\d-\d\d in ", re.MULTILINE)
        assert not said.search(run(*line, models[0])[1])
        assert not said.search(run(*line, models[0])[1])  # it is the same
        assert said.search(run(*line, models[1])[1])

    def test_an_object_says_where_masks_go_without_a_placeholder(self, tmp_path: Path) -> None:
        corpus, study = made.corpus(tmp_path / "corpus", images=6, models=2), tmp_path / "study"
        fs.run(study, corpus.photos, corpus.models, classes=corpus.classes, goal="failures", engine="local")
        out = tmp_path / "to-label"
        line = ("label", "export", study, out, "--json")
        assert json.loads(run(*line)[1])["says"] == f"put each mask into {out}/labels, named as its image"
        line = ("label", "export", study, tmp_path / "parted", "--annotators", "ann,ben", "--json")
        assert "{" not in json.loads(run(*line)[1])["says"]

    def test_quiet_and_verbose_contradict_each_other(self) -> None:
        assert "--quiet and --verbose contradict each other" in refused_line("status", "s", "-q", "-v")

    def test_options_of_output_stand_anywhere_but_behind_two_dashes(self) -> None:
        assert split(["--json", "select", "s", "-q"])[1].json
        assert split(["select", "s", "-q"])[0] == ["select", "s"]
        assert split(["collect", "s", "--", "-q"])[0] == ["collect", "s", "--", "-q"]

    def test_measure_prints_accuracy_with_its_interval_and_errors_on_demand(
        self, ready: str, tmp_path: Path
    ) -> None:
        line = ("measure", ready, "-o", tmp_path / "out", "--worst", "0", "--engine", "local")
        out = run(*line)[1]
        assert re.search(r"^model-0  mIoU \.\d{3}( \[\.\d\d, \.\d\d\])?\*?$", out, re.MULTILINE)
        assert "IoU error" not in out
        value = json.loads((tmp_path / "out" / "measure.json").read_text())["models"]["model-0"]["miou"][
            "value"
        ]
        assert f"model-0  mIoU {value:.3f}".replace("0.", ".") in out
        full = run(*line, "-v")[1]
        assert all(title in full for title in ("IoU error", "ROM", "RUM"))

    def test_rank_prints_the_ranking_that_stands_first_and_the_others_on_demand(self, ready: str) -> None:
        line = ("rank", ready, "--resamples", "20", "--engine", "local")
        out, full = run(*line)[1], run(*line, "-v")[1]
        first, *others = json.loads(run(*line, "--json")[1])["rankings"]
        assert f"\n  {first}" in out
        assert f"other rankings: {', '.join(others)}: `rank -v` prints them" in out
        assert all(f"\n  {name}" in full for name in (first, *others))

    def test_chosen_images_are_listed_one_a_line_and_can_be_piped(self, ready: str) -> None:
        status, out, err = run("select", ready, "--as", "listed", "--engine", "local", "--list")
        assert status == 0
        assert err.startswith("note: 1 of the 2 images decides ")
        rows = [line.split("\t") for line in out.splitlines()]
        assert {len(row) for row in rows} == {3}
        assert all(Path(path).is_file() for path, _, _ in rows)
        assert all(re.match(r"model-\d and model-\d differ on \w+", why) for _, _, why in rows)
        slots = fs.select(ready, as_="listed", engine="local")
        assert sum(int(number) for _, number, _ in rows) == slots.slots
        assert run("show", ready, "--images", "--selection", "listed")[1] == out
        assert [one.image for one in fs.show(ready, images=True, selection="listed").chosen] == [
            *slots.images
        ]

    def test_drawn_images_say_what_drew_them(self, ready: str) -> None:
        line = typed("select {ready} --as drawn --selector random --budget 2 --engine local", ready=ready)
        rows = [row.split("\t") for row in run(*line, "--list")[1].splitlines()]
        assert [row[1:] for row in rows] == [["0", "drawn by random"]] * 2

    def test_a_list_is_of_what_is_made(self) -> None:
        told = refused_line("select", "none", "--list", "--remove", "x")
        assert "--list prints the images of an existing selection; leave out --remove" in told
        assert "--selection needs --images" in refused_line("show", "none", "--selection", "x")


class TestProgress:
    def lines(self, monkeypatch: pytest.MonkeyPatch, style: str, seconds: float) -> str:
        """What three steps print that take so many seconds each."""
        clock = iter(seconds * k for k in range(100))
        monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
        with (
            redirect_stderr(io.StringIO()) as err,
            progress.progress_as(style),
            progress.progress("work", 40) as tick,
        ):
            for _ in range(3):
                tick(10)
        return err.getvalue()

    def test_a_log_gets_a_line_every_thirty_seconds(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.lines(monkeypatch, "lines", 31).splitlines() == [
            "work: 10 of 40 (25 %), about 93 s left",
            "work: 20 of 40 (50 %), about 62 s left",
            "work: 30 of 40 (75 %), about 31 s left",
        ]
        assert self.lines(monkeypatch, "lines", 16).splitlines() == ["work: 20 of 40 (50 %), about 32 s left"]

    def test_nothing_is_said_of_what_is_quick_nor_where_nobody_wants_it(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert self.lines(monkeypatch, "lines", 1) == ""
        assert self.lines(monkeypatch, "off", 31) == ""
        monkeypatch.setenv("FAULTSCAPE_PROGRESS", "off")
        assert self.lines(monkeypatch, "", 31) == ""
        assert self.lines(monkeypatch, "lines", 31) != ""  # the line says more than the environment

    def test_where_no_terminal_is_there_are_lines_and_in_a_notebook_one_that_changes(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("FAULTSCAPE_PROGRESS", raising=False)
        with redirect_stderr(io.StringIO()):
            assert progress.style_now() == "lines"
        kernel = type("ZMQInteractiveShell", (), {})()
        monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: kernel))
        assert progress.style_now() == "notebook"
        said = self.lines(monkeypatch, "", 31)
        assert "\n" not in said
        assert said.startswith("\rwork: 10 of 40 (25 %)")
        assert said.endswith("\r")
        assert said.split("\r")[-2].strip() == ""  # the line is gone in the end

    def test_a_line_may_say_how(self) -> None:
        assert split(["status", "s", "--progress", "off"])[1].progress == "off"
        assert "progress 'of' is not known; use auto, bar, lines, off" in refused_line(
            "status", "s", "--progress", "of"
        )
        assert "--progress needs a value" in refused_line("status", "s", "--progress")


class TestCompletion:
    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
    def test_a_script_names_every_verb_command_and_option(self, shell: str) -> None:
        script = completion_script(shell)
        for words in LINES:
            assert re.search(rf"\b{words[-1]}\b", script)
            for of in command(words).options.values():
                for one in of:
                    for name in one.spellings:
                        spelt = (
                            name
                            if shell != "fish"
                            else f"-{'l' if name[1] == '-' else 's'} {name.lstrip('-')}"
                        )
                        assert re.search(rf"(?<![\w-]){re.escape(spelt)}(?![\w-])", script), name
        for name in NAMES:
            assert name.lstrip("-") in script

    @pytest.mark.parametrize(
        ("typed", "expected"),
        [
            (["se"], ["select"]),
            ([""], list(VERBS)),
            (["label", "ex"], ["export"]),
            (["label", ""], list(GROUPS["label"])),
            (["select", "study", "--per"], ["--per-class", "--per-image"]),
            (["label", "export", "study", "--anyw"], ["--anyway"]),
            (["select", "study", "--goal", ""], ["order", "best", "values"]),
            (["status", "study", "--progress", "l"], ["lines"]),
            (["status", "study", "--j"], ["--json"]),
            (["collect", "study", "pho"], []),  # files, which the shell completes
        ],
    )
    def test_bash_completes_as_its_script_says(self, typed: list[str], expected: list[str]) -> None:
        words = " ".join(map(shlex.quote, ["faultscape", *typed]))
        call = 'complete -p faultscape >/dev/null && _faultscape && printf "%s\\n" "${COMPREPLY[@]}"'
        program = f"{completion_script('bash')}\nCOMP_WORDS=({words})\nCOMP_CWORD={len(typed)}\n{call}"
        done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
        assert done.stdout.split() == expected
        assert done.stderr == ""

    def test_the_script_is_printed_without_loading_what_is_heavy(self) -> None:
        code = (
            "import sys; from faultscape.cli import main; main(['--completion', 'bash']); print([m for m in"
            " ('numpy', 'numba', 'pyarrow', 'torch', 'rich', 'fastapi') if m in sys.modules], file=sys.stderr)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.startswith("# bash completion of faultscape")
        assert done.stderr == "[]\n"

    def test_another_shell_is_refused(self) -> None:
        assert "completion 'fsh' is not known; use bash, zsh, fish. Did you mean 'fish'?" in refused_line(
            "--completion", "fsh"
        )
