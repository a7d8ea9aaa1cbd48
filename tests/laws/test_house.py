"""The rules of the house that a machine can hold."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import typing
from collections.abc import Iterator
from pathlib import Path

import pytest

import children
import faultscape
import faultscape as fs
from faultscape.cli import GROUPS, VERBS, build, main
from faultscape.engine import find
from faultscape.terminal_lines import REPEATED, flag_of
from faultscape.verbs.verb import options_of
from faultscape.verbs.verb_list import function_of
from trees import imports_of, nodes_of, tree_of

SOURCE = Path(faultscape.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
HEAVY = (
    "torch",
    "onnxruntime",
    "ray",
    "fastapi",
    "matplotlib",
    "sqlalchemy",
    "numba",
    "cv2",
    "transformers",
    "pyarrow",
    "scipy",
    "scipy.stats",
    "numpy",
)


def loaded_by(words: str) -> list[str]:
    code = f"import sys\n{words}\nprint([m for m in {HEAVY!r} if m in sys.modules])"
    return ast.literal_eval(children.python("-c", code))


def test_importing_faultscape_loads_nothing_heavy() -> None:
    assert loaded_by("import faultscape") == []


def test_the_check_above_can_fail() -> None:
    assert "numpy" in loaded_by("import faultscape; faultscape.metrics.miou")


def test_ranking_loads_no_library_that_takes_longer_than_ranking() -> None:
    assert "scipy.stats" not in loaded_by(
        "import faultscape.verbs.rank, faultscape.ranking.classifiers, faultscape.ranking.duel_standings,"
        " faultscape.ranking.drawn.rankings"
    )


def test_public_functions_and_modules_have_docstrings() -> None:
    bare = []
    for path in FILES:
        tree = tree_of(path)
        if tree.body and not ast.get_docstring(tree):
            bare.append(str(path))
        nodes = [
            n
            for n in tree.body
            if isinstance(n, ast.FunctionDef | ast.ClassDef) and not n.name.startswith("_")
        ]
        # the function behind them has it
        nodes = [n for n in nodes if "overload" not in map(ast.unparse, n.decorator_list)]
        bare += [f"{path.name}:{n.name}" for n in nodes if not ast.get_docstring(n)]
    assert not bare


def test_files_are_small_and_none_is_a_drawer() -> None:
    assert not [p.name for p in FILES if len(p.read_text().splitlines()) > 600]
    assert not [p.name for p in FILES if p.stem in {"utils", "helpers", "common", "base", "manager"}]


def test_a_floor_has_fifteen_files_at_most() -> None:
    floors = {path.parent for path in FILES}
    crowded = {
        str(f.relative_to(SOURCE)): n
        for f in floors
        if (n := sum(p.parent == f and p.stem != "__init__" for p in FILES)) > 15
    }
    assert not set(crowded)


def test_no_public_name_of_a_room_is_that_of_a_file_in_it() -> None:
    """The file would take the function's place as soon as anything imports it."""
    for stub in SOURCE.glob("*/__init__.pyi"):
        files = {path.stem for path in stub.parent.iterdir() if path.suffix == ".py" or path.is_dir()}
        names = re.findall(r"^from \.\w[\w.]* import (\w+) as", stub.read_text(), re.MULTILINE)
        assert len(names) == len(set(names))
        assert not files & set(names), stub.parent.name


def test_every_public_name_is_there_in_a_fresh_process() -> None:
    """Also those that nothing has loaded before; a stub that names a file of a folder names it in the
    folder's own stub.
    """
    code = """if True:
        import faultscape as fs
        rooms = {"fs": fs} | {name: getattr(fs, name) for name in fs.__all__}
        names = [(room, name) for room in rooms for name in getattr(rooms[room], "__all__", ())]
        print(names, [(room, name) for room, name in names if not hasattr(rooms[room], name)], sep="\\n")"""
    names, lacking = map(ast.literal_eval, children.python("-c", code).splitlines())
    assert len(names) > 250
    assert lacking == []
    for stub in SOURCE.glob("*/__init__.pyi"):
        for folder, name in re.findall(r"^from \.(\w[\w.]*) import (\w+) as", stub.read_text(), re.MULTILINE):
            inside = stub.parent.joinpath(*folder.split("."))
            own = inside / "__init__.pyi"
            assert not (inside / f"{name}.py").exists() or f"from . import {name} as" in own.read_text(), (
                f"{stub}: {name}"
            )


NEEDED = {
    "export": ["out"],
    "scale": ["--classes", "voc"],
    "train": ["net"],
    "fit": ["temperature", "--model", "net"],
}


@pytest.mark.slow
@pytest.mark.parametrize("verb", [v for v in VERBS if v not in GROUPS])
def test_no_option_takes_an_empty_word(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = build((verb, "--help"))[verb].assemble_argument_collection()
    texts = [
        a.name
        for a in arguments
        if a.field_info.kind is inspect.Parameter.KEYWORD_ONLY and "str" in str(a.hint)
    ]
    for name in texts:
        needed = NEEDED.get(verb, []) if name not in NEEDED.get(verb, []) else []
        needed = ["temperature"] if verb == "fit" and not needed else needed
        assert main([verb, "study", *needed, name, " "]) == 2
        assert capsys.readouterr().err == f"faultscape: {name} is empty; give a value, or remove it\n"


def test_type_checkers_see_the_options_that_signatures_have() -> None:
    script = SOURCE.parents[1] / "scripts" / "verb_options.py"
    said = children.python(script, "--print")  # apart, because the command line changes annotations
    assert (SOURCE / "verbs" / "options.pyi").read_text(encoding="utf-8") == said, f"run python {script}"


def test_what_a_verb_takes_from_another_is_its_work_not_its_signature() -> None:
    signatures = {(f"faultscape.verbs.{name}", name) for name in map(function_of, VERBS)}
    for path in sorted((SOURCE / "verbs").rglob("*.py")):
        if path.relative_to(SOURCE / "verbs").parts[0] in {"run", "demo", "loop"}:  # they type lines
            continue
        taken = {
            (node.module, alias.name)
            for node in imports_of(path)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        assert not taken & signatures, path


@pytest.mark.parametrize("verb", [v for v in VERBS if v not in GROUPS])
def test_a_verb_has_fifteen_parameters_of_its_own_at_most_and_help_shows_the_others_in_panels(
    verb: str,
) -> None:
    """A mapping of options, NAME=VALUE, counts as a group."""
    app = build((verb, "--help"))[verb]
    function = app.default_command
    if not callable(function):
        name = function_of(verb)
        function = getattr(importlib.import_module(f"faultscape.verbs.{name}"), name)
    of = options_of(function)
    assert sum(group is None and option not in REPEATED for option, group in of.items()) <= 15
    page = (SOURCE.parents[1] / "docs" / "reference" / "verbs" / f"{verb}.md").read_text(encoding="utf-8")
    shown = {argument.name: argument for argument in app.assemble_argument_collection()}
    for option, group in of.items():
        if group is not None:
            argument = shown[flag_of(option)]
            (panel,) = argument.parameter.group
            assert panel.name == type(group).__doc__.partition("\n")[0].rstrip(".")
            assert re.search(rf"\n{option}\n    \S", inspect.getdoc(type(group)) or ""), option
            assert f"fs.options.{type(group).__name__}(...)` " in page
            assert getattr(fs.options, type(group).__name__) is type(group)


def test_no_file_is_named_by_a_participle() -> None:
    nouns = {"mapping", "planning", "testing"}  # they end as participles do
    assert [p.name for p in FILES if p.stem not in nouns and p.stem.endswith(("ing", "ed"))] == []


def test_the_help_of_no_verb_loads_a_library() -> None:
    """One process asks all: the first that loads one is named, and those behind it."""
    code = f"""if True:
        import importlib, sys
        from faultscape.cli import GROUPS, VERBS, build
        for verb in VERBS:
            if verb not in GROUPS:
                build([verb, "--help"])[verb].assemble_argument_collection()
            importlib.import_module("faultscape.verbs." + verb.replace("-", "_"))
            print(verb, *[m for m in {HEAVY!r} if m in sys.modules])"""
    assert children.python("-c", code).splitlines() == list(VERBS)


def test_help_is_plain_text_which_nothing_has_to_parse() -> None:
    words = (
        "import contextlib, io; from faultscape.cli import main\nwith"
        " contextlib.redirect_stdout(io.StringIO()): main(['measure', '--help'])"
    )
    code = f"import sys\n{words}\nprint([m for m in ('rich', 'markdown_it', *{HEAVY!r}) if m in sys.modules])"
    assert children.python("-c", code) == "[]\n"


def test_nothing_is_pickled() -> None:
    for path in FILES:
        text = path.read_text()
        assert "import pickle" not in text, path
        # tensors alone, and no code
        assert all("weights_only=True" in call for call in re.findall(r"torch\.load\(.*", text)), path
        assert "allow_pickle=True" not in text, path


def test_a_worker_is_asked_by_a_frozen_dataclass_and_only_the_one_loop_runs_an_engine() -> None:
    texts = {path: path.read_text() for path in FILES}
    named = {task for text in texts.values() for task in re.findall(r'"(faultscape\.[\w.]+:\w+)"', text)}
    # work of verbs, which no worker does
    named -= {work for text in texts.values() for work in re.findall(r'@verb\(\s*"([\w.]+:\w+)"', text)}
    tasks = named - {"faultscape.engine.tasks:load"}  # the engine's own, about no study
    assert len(tasks) >= 7
    for task in tasks:
        function = find(task)
        job = typing.get_type_hints(function.__wrapped__)["job"]  # of what stands under `fill.task`
        assert job.__dataclass_params__.frozen, task
        with pytest.raises(ValueError, match=f"validation errors? for {job.__name__}"):
            function({"studdy": "."}, tick=lambda _: None)
    running = [path for path, text in texts.items() if re.search(r"\bengines?\.run\(", text)]
    assert running == [SOURCE / "reading" / "fill.py"]


def room_of(path: Path) -> str:
    """The room of a file: a folder or file of the package's first level; every verb is one of its own."""
    first, *rest = path.relative_to(SOURCE).with_suffix("").parts
    return f"verbs.{rest[0]}" if first == "verbs" and rest else first


def imported_names(nodes: list[ast.AST]) -> set[str]:
    """Return the dotted names that a file takes of the package, `module.name`, also where it takes the module
    and then the name.
    """
    taken, modules = set(), {}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("faultscape"):
            modules |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            taken.add(f"{modules[node.value.id]}.{node.attr}")
    return taken | set(modules.values())


def loose_signatures(tree: ast.Module) -> dict[str, str]:
    """Return {name: text} of what a file's public functions, classes and aliases say of `dict[str, Any]` to
    those who use them, themselves or by an alias of the file.
    """
    found: dict[str, str] = {}
    assigned = [
        node for node in tree.body if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript)
    ]
    aliases = [
        ast.unparse(node.targets[0])
        for node in assigned
        if re.search(r"(dict|Mapping)\[str, Any\]", ast.unparse(node.value))
    ]
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            said = [node.args, node.returns]
        elif isinstance(node, ast.ClassDef):
            said = [item.annotation for item in node.body if isinstance(item, ast.AnnAssign)]
            methods = [
                item
                for item in node.body
                if isinstance(item, ast.FunctionDef) and not item.name.startswith("_")
            ]
            said += [part for item in methods for part in (item.args, item.returns)]
        elif (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, ast.Subscript)
        ):
            said = [node.value]
        else:
            said = [node.annotation] if isinstance(node, ast.AnnAssign) else []
        name = getattr(node, "name", None) or ast.unparse(
            getattr(node, "target", None) or getattr(node, "targets", [node])[0]
        )
        loose = "|".join([r"(dict|Mapping)\[str, Any\]", *(rf"\b{alias}\b" for alias in aliases)])
        texts = [text for part in said if part and re.search(loose, text := ast.unparse(part))]
        found |= {name: texts[0]} if texts else {}
    return found


OPTIONAL = (
    "torch",
    "transformers",
    "onnxruntime",
    "onnx",
    "onnxscript",
    "accelerate",
    "ray",
    "sqlalchemy",
    "matplotlib",
    "pandas",
    "safetensors",
    "huggingface_hub",
)
SLOW = ("scipy", "cv2", "rich")  # longer to load than most work takes
OF_SYSTEMS = ("fcntl", "resource", "ctypes")  # which not every system has
LATE = {  # our own that are imported where they are used, and why
    "lazy_names.py": "every import loads it, and a mistake alone needs more",
    "engine/__init__.py": "an engine is loaded when it is asked for",
    "engine/worker.py": "a worker first says that it is there",
    "errors.py": "difflib, for a mistake alone",
    "formats/guard.py": "Arrow, for a file within a table",
    "prediction/doubt_methods.py": "torch, when a method scores or moves its input",
    "prediction/sources/backbone.py": "torch, when a backbone is opened",
    "prediction/sources/network_folder.py": "torch, when such a network is opened",
    "reading/answers.py": "Arrow's functions are 10 MiB, which status does without",
    "study/tables/corpus.py": "Arrow's functions are 10 MiB, which status does without",
    "reading/study.py": "lines that merge masks, for a mistake alone",
    "results/codec.py": "NumPy, for arrays alone",
    "results/table.py": "Arrow, when a table is asked for",
    "verbs/rank/artefact.py": "ranking loads scipy, which status does without",
    "verbs/select/artefact.py": "hierarchies load Pillow, which status does without",
    "verbs/stress/artefact.py": "readers of images load Pillow, which status does without",
    "verbs/loop/work.py": "torch, when a network is to be continued",
    "verbs/compare/result.py": "a verb's signature names it",
    "verbs/status/study_verdict.py": "ranking loads scipy, which status does without",
    "verbs/rank/open_selections.py": "ranking loads scipy, which status does without",
    "reading/choices.py": "estimated accuracies load scipy, which status does without",
    "verbs/plan/result.py": "a verb's signature names it",
    "verbs/rank/result.py": "a verb's signature names it",
    "verbs/demo/result.py": "a verb's signature names it",
    "verbs/show/work.py": "all that a report is made of, for its figures alone",
}


def late_imports(node: ast.AST, *, inside: bool = False) -> Iterator[str]:
    """Yield the names of modules that functions import, but where a library may be lacking (try)."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Try):
            continue
        if inside and isinstance(child, ast.Import | ast.ImportFrom) and "kernels" not in ast.unparse(child):
            yield (child.module or "") if isinstance(child, ast.ImportFrom) else child.names[0].name
        yield from late_imports(child, inside=inside or isinstance(child, ast.FunctionDef))


def test_compiled_loops_and_their_plain_twins_lie_in_folders_of_kernels() -> None:
    """A kernel is what numba compiles, and what it stands in for where there is no numba."""
    compiled = [
        path
        for path in sorted(SOURCE.rglob("*.py"))
        if re.search(r"@(jit|intrinsic)\b|= jit\(", path.read_text())
    ]
    assert len(compiled) > 8
    assert {path.parent.name for path in compiled} == {"kernels"}
    twins = list(SOURCE.rglob("plain_*.py"))
    assert len(twins) > 3
    assert {path.parent.name for path in twins} == {"kernels"}


def test_only_libraries_that_are_optional_or_slow_are_imported_inside_functions() -> None:
    assert list(late_imports(ast.parse("def f():\n    import json\n"))) == ["json"]
    found: dict[str, list[str]] = {}
    for path in FILES:
        name = path.relative_to(SOURCE).as_posix()
        # a signature imports its work inside its one call
        if not re.fullmatch(r"verbs/\w+/signature\.py", name):
            late = [
                m
                for m in late_imports(tree_of(path))
                if m.split(".")[0] not in (*OPTIONAL, *SLOW, *OF_SYSTEMS)
            ]
            found |= {name: late} if late else {}
    assert {name: late for name, late in found.items() if name not in LATE} == {}
    assert sorted(found) == sorted(LATE)


def test_no_dict_of_anything_crosses_a_room() -> None:
    trees = {path: tree_of(path) for path in FILES}
    modules = {
        path: (
            ".".join(("faultscape", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(
                ".__init__"
            )
        )
        for path in FILES
    }
    users: dict[str, set[str]] = {}
    handed_on: dict[str, str] = {}  # a name that a file only hands on, and where it comes from
    for path in trees:
        for name in imported_names(nodes_of(path)):
            users.setdefault(name, set()).add(room_of(path))
            handed_on[f"{modules[path]}.{name.rpartition('.')[2]}"] = name
    for shown, name in handed_on.items():
        users[name] |= users.get(shown, set())
    crossing = []
    for path, tree in trees.items():
        for name, text in loose_signatures(tree).items():
            if rooms := users.get(f"{modules[path]}.{name}", set()) - {room_of(path), "options"}:
                crossing.append(f"{modules[path]}.{name}: {text}; used by {', '.join(sorted(rooms))}")
    assert not crossing


def test_the_files_that_take_longest_are_there() -> None:
    tests = Path(__file__).parents[1]
    first = (tests / "slowest_files.txt").read_text().split()
    assert len(first) == len(set(first)) > 5
    assert [name for name in first if not (tests / name).is_file()] == []
