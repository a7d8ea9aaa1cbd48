"""CITATION, CHANGELOG, SECURITY, and what GitHub reads: whole, short, and in agreement with the code."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

import faultscape
from faultscape.study.settings import VERSION

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[2]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_citation_is_of_this_version_and_names_the_five_papers() -> None:
    assert CITATION["cff-version"] == "1.2.0"
    assert CITATION["version"] == faultscape.__version__.partition(".dev")[0]
    assert {key for key in ("message", "title", "authors") if CITATION[key]} == {
        "message",
        "title",
        "authors",
    }
    assert len(CITATION["references"]) == 5
    papers = text("docs/reference/papers.md")
    for paper in CITATION["references"]:
        assert f"*{paper['title']}*" in papers
        for author in paper["authors"]:
            assert f"{author['given-names']} {author['family-names']}" in papers
        first = paper["authors"][0]["family-names"]
        assert f"## {first} et al. {paper['year']}\n" in papers


def test_the_changelog_says_what_this_version_is_and_is_short() -> None:
    changelog = text("CHANGELOG.md")
    assert len(changelog.splitlines()) <= 60
    assert f"\n## {faultscape.__version__.partition('.dev')[0]}" in changelog
    assert not re.search(r"\bS[0-4]\b", changelog)


def test_every_verb_stands_in_the_changelog() -> None:
    from faultscape.cli import VERBS

    changelog = text("CHANGELOG.md")
    assert [verb for verb in VERBS if f"`{verb}`" not in changelog and f"`{verb} " not in changelog] == []


def test_every_row_of_what_can_be_contributed_names_the_tests_of_its_room_which_are_there() -> None:
    spec = importlib.util.spec_from_file_location("test_of", ROOT / "scripts" / "test_of.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    _, _, *rows = re.findall(r"^\|.*\|$", text("CONTRIBUTING.md"), re.MULTILINE)
    assert len(rows) >= 10
    for row in rows:
        rooms = re.findall(r"`make test-of (\w+)`", row.rpartition(" | ")[2])
        assert rooms, row
        assert set(rooms) <= set(script.ROOMS), row
    for room in script.ROOMS:
        paths = script.paths_of(room)
        assert f"src/faultscape/{room}" in paths
        assert [path for path in paths if not (ROOT / path).exists()] == [], room


def test_vulnerabilities_are_reported_privately_and_to_no_invented_address() -> None:
    security = text("SECURITY.md")
    assert "Report a vulnerability" in security
    assert "@" not in security


@pytest.mark.parametrize(
    "form", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")), ids=lambda p: p.name
)
def test_issue_forms_have_what_github_asks_for(form: Path) -> None:
    read = yaml.safe_load(form.read_text(encoding="utf-8"))
    if form.stem == "config":
        assert all(link["url"].startswith("https://github.com/") for link in read["contact_links"])
        return
    assert read["name"]
    assert read["description"]
    ids = [part["id"] for part in read["body"]]
    assert len(set(ids)) == len(ids)
    assert all(part["attributes"]["label"] for part in read["body"])


def test_the_workflow_runs_what_everybody_runs_with_pinned_actions() -> None:
    workflow = text(".github/workflows/ci.yml")
    assert "run: bash .ci/run" in workflow
    for _, version in re.findall(r"uses: ([\w/-]+)@(\S+)", workflow):
        assert re.fullmatch(r"[0-9a-f]{40}", version)
    (job,) = yaml.safe_load(workflow)["jobs"].values()
    assert (
        f">={job['steps'][1]['with']['python-version']}"
        == tomllib.loads(text("pyproject.toml"))["project"]["requires-python"]
    )


def test_the_page_of_versions_says_which_studies_this_version_makes() -> None:
    assert f"the present one is {VERSION}" in text("docs/reference/compatibility.md")
    assert f"Studies have a version, {VERSION};" in text("CHANGELOG.md")


@pytest.mark.skipif(not (ROOT / ".git").exists() or not shutil.which("git"), reason="no git checkout")
def test_what_is_fetched_or_built_lies_in_no_commit() -> None:
    """Others' files, such as scripts of the pages, are named in .gitignore."""
    line = ["git", "-c", "safe.directory=*", "-C", str(ROOT)]
    line += ["ls-files", "--cached", "--ignored", "--exclude-standard"]
    assert subprocess.run(line, check=True, capture_output=True, text=True).stdout == ""
