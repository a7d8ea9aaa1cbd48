"""Write the tables of what exists into the documentation, as the catalogues have them.

Run as ``python scripts/tables.py`` after adding an entry. In a page a line such as ``<!-- SELECTORS -->``
says that the table below it is that catalogue's; a test holds every such table equal to what this script
writes. A metric that the page of definitions does not explain gets a heading there, with its definition.
Names in the docstrings and pages of verbs, from "one of" to "or file.py:", are written too.
"""

from __future__ import annotations

import re
import textwrap
import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import get_args

from faultscape.command_line.result_json import result_kinds
from faultscape.corpus.layouts.catalogue import LAYOUTS
from faultscape.labelling.catalogue import FORMATS
from faultscape.metrics.catalogue import CONCORDANCES, GROUPS, METRICS
from faultscape.metrics.definitions import Definitions
from faultscape.metrics.scorers import SCORERS
from faultscape.prediction.catalogue import SOURCES
from faultscape.prediction.keep import KEPT
from faultscape.ranking.catalogue import RANKINGS
from faultscape.reporting.competition.figure_data import FIGURES, ON_REQUEST
from faultscape.results.files import KINDS, kind_of
from faultscape.results.row_columns import ROW_COLUMNS
from faultscape.results.table import Column
from faultscape.selection.catalogue import SELECTORS
from faultscape.stressors.blend_steps.catalogue import BLEND_STEPS, BlendPreset
from faultscape.stressors.catalogue import CORRUPTIONS, PRESETS
from faultscape.uncertainty.catalogue import HEADS
from faultscape.uncertainty.methods.catalogue import METHODS
from faultscape.uncertainty.networks.catalogue import BACKBONES
from faultscape.uncertainty.training.presets import MANY_CLASSES
from faultscape.uncertainty.training.presets import PRESETS as TRAINING_PRESETS
from faultscape.verbs.export.catalogue import EXPORTS
from faultscape.verbs.verb_list import LINES

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
DEFINITIONS = DOCS / "reference" / "definitions.md"
TASKS = {"segmentation": "label maps", "classification": "classifiers"}
Rows = list[tuple[str, ...]]  # the first is the head
# where an option's names are listed beside file.py:NAME
_FORMATS = {"format": [form.name for form in FORMATS]}
_SELECTORS = {"selector": [selector.name for selector in SELECTORS]}
_CONCORDANCES = {"concordance": list(CONCORDANCES)}
LISTS: Mapping[str, Mapping[str, list[str]]] = {
    "src/faultscape/verbs/label/signature.py": _FORMATS,
    "src/faultscape/verbs/run/signature.py": _CONCORDANCES,
    "src/faultscape/verbs/select/options.py": _CONCORDANCES,
    "src/faultscape/verbs/select/signature.py": _SELECTORS,
    "docs/reference/verbs/label.md": _FORMATS,
    "docs/reference/verbs/select.md": _SELECTORS,
}


def metric_rows() -> Rows:
    """What measure computes, group by group."""
    rows = [("metric", "what it is", "good is", "source")]
    for metric in sorted(METRICS, key=lambda metric: (GROUPS.index(metric.group), metric.place)):
        good = {"high": "large", "low": "small"}[metric.better]
        name = f"`{metric.name}`" + (" with `--metric`" if metric.on_request else "")
        rows.append((name, metric.called, good, metric.source))
    return rows


def selector_rows() -> Rows:
    """How images are chosen that people label."""
    rows = [("selector", "draws images", "of", "probabilities", "learns from labels", "source")]
    for selector in SELECTORS:
        name = f"`{selector.name}`" + (" with `--temperature`" if selector.duels else "")
        learns = {"never": "no", "votes": "of classifiers"}.get(selector.learns, "yes")
        chance = "yes" if selector.chance else "no"
        rows.append((name, selector.purpose, tasks(selector.tasks), chance, learns, selector.source))
    return rows


def ranking_rows() -> Rows:
    """What standings hold."""
    rows = [("ranking", "says", "kind", "source")]
    return rows + [(f"`{entry.name}`", entry.says, entry.kind, entry.source) for entry in RANKINGS]


def format_rows() -> Rows:
    """What label writes and reads."""
    rows = [("format", "of", "what people do")]
    return rows + [
        (
            f"`{entry.name}`",
            tasks([entry.task]),
            entry.says.format(folder="`labels/`", out="`to-label/`", export="`to-label/`"),
        )
        for entry in FORMATS
    ]


def export_rows() -> Rows:
    """What export writes."""
    rows = [("`--format`", "is", "of", "`--image-files`", "opened by")]
    return rows + [
        (
            f"`{entry.name}`",
            entry.title,
            tasks(entry.tasks),
            ", ".join(entry.image_files),
            f"`{entry.opens.format(out=repr('out'), first='truth', model='unet')}`",
        )
        for entry in EXPORTS
    ]


def source_rows() -> Rows:
    """What predict takes, in the order in which it is recognised."""
    rows = [("SOURCE", "of", "runs code that is not ours")]
    return rows + [
        (entry.written, tasks(entry.tasks), "yes" if entry.own_code else "no") for entry in SOURCES
    ]


def kept_rows() -> Rows:
    """What predict keeps beside labels."""
    rows = [("`--keep`", "stored as")]
    return rows + [
        (", ".join(f"`{word}`" for word in entry.written), entry.form) for entry in KEPT if entry.written
    ]


def scorer_rows() -> Rows:
    """How doubt of a pixel is scored."""
    rows = [("scorer", "title", "formula", "needs", "counted by", "source")]
    for entry in SCORERS:
        counted = "value" if entry.most is None else "share"
        rows.append((f"`{entry.name}`", entry.title, entry.formula, entry.needs, counted, entry.source))
    return rows


def layout_rows() -> Rows:
    """Which data sets are read as they are handed out."""
    rows = [("layout", "data set", "splits (documented images)", "classes", "truth", "a group is", "source")]
    for layout in LAYOUTS:
        numbers = [
            f"{split} ({layout.counts[split]:,})" if split in layout.counts else split
            for split in layout.splits
        ]
        classes = f"`{layout.classes}`" if layout.classes else ""
        truth = ", ".join(
            [
                *layout.truth_kinds,
                *(["instances"] if layout.read_instances else []),
                *(["depth"] if layout.read_depth else []),
            ]
        )
        rows.append(
            (
                f"`{layout.name}`",
                layout.title,
                ", ".join(numbers),
                classes,
                truth,
                layout.grouping,
                layout.source,
            )
        )
    return rows


def tree_rows() -> Rows:
    """Where the files of a data set lie, what is particular about them, and under which terms they are handed
    out.
    """
    rows = [("layout", "tree", "to know", "terms")]
    return rows + [
        (f"`{layout.name}`", f"`{layout.expected}`", layout.notes, layout.terms) for layout in LAYOUTS
    ]


def corruption_rows() -> Rows:
    """What images can be corrupted with."""
    rows = [
        (
            "corruption",
            "family",
            "parameters",
            *(f"severity {severity}" for severity in range(1, 6)),
            "random",
            "labels",
        )
    ]
    for entry in CORRUPTIONS:
        severities = [", ".join(f"{number:g}" for number in numbers) for numbers in entry.parameters]
        chance, labels = "yes" if entry.random else "no", "move" if entry.move else "stay"
        rows.append((f"`{entry.name}`", entry.family, ", ".join(entry.means), *severities, chance, labels))
    return rows


def step_rows() -> Rows:
    """What blending does to an object, in its order."""
    presets = get_args(BlendPreset)
    rows = [
        (
            "step",
            "what it is for",
            "what is ours",
            *(name.rpartition("-")[2] for name in presets),
            "known objects",
            "`made.steps` says",
        )
    ]
    for step in BLEND_STEPS:
        marks = ["x" if preset in step.presets else "" for preset in presets]
        rows.append((step.name, step.says, step.ours, *marks, "x" if step.known else "", step.noted))
    return rows


def preset_rows() -> Rows:
    """Named lists of corruptions."""
    rows = [("preset", "corruptions", "source")]
    for entry in PRESETS:
        words = [
            f"`{name}`" + (f" {severities[0]}-{severities[-1]}" if len(severities) < 5 else "")
            for name, severities in entry.corruptions
        ]
        rows.append((f"`{entry.name}`", ", ".join(words), entry.source))
    return rows


def head_rows() -> Rows:
    """Last layers of networks."""
    rows = [
        ("head", "title", "prediction", "options", "swept by Buchanan et al. 2022", "extra scorers", "source")
    ]
    for head in HEADS:
        options = ", ".join(f"`{name}` {shown(value)}" for name, value in head.options.items())
        sweeps = ", ".join(f"`{name}` {values}" for name, values in head.sweeps.items())
        rows.append((f"`{head.name}`", head.title, head.formula, options, sweeps, head.brings, head.source))
    return rows


def method_rows() -> Rows:
    """Methods that are fitted to a trained network."""
    rows = [
        ("method", "title", "score of a pixel", "layers", "options", "searched with `--validation`", "source")
    ]
    taps = {
        "none": "logits",
        "one": "one",
        "several": "one or several",
        "pair": "a coarse and a fine one",
        "image": "the image",
        "again": "one or several",
        "parts": "those of its parts",
    }
    for method in METHODS:
        options = ", ".join(f"`{name}` {shown(value)}".strip() for name, value in method.options.items())
        search = "; ".join(
            f"`{name}` {', '.join(map(shown, values))}" for name, values in method.search.items()
        )
        rows.append(
            (
                f"`{method.name}`",
                method.title,
                method.formula,
                taps[method.taps] + " and logits" * method.of_logits,
                options,
                search,
                method.source,
            )
        )
    return rows


def backbone_rows() -> Rows:
    """Networks that are trained by name."""
    rows = [
        (
            "backbone",
            "network",
            "million parameters",
            "logits at",
            "input is a multiple of",
            "pixels",
            "`--dropout-at middle`",
            "source",
        )
    ]
    for entry in BACKBONES:
        plain = "/ 255" if set(entry.std) == {1.0} else "ImageNet's"
        rows.append(
            (
                f"`{entry.name}`",
                entry.title,
                f"{entry.parameters:g}",
                f"1/{entry.stride}",
                str(entry.multiple),
                plain,
                ", ".join(f"`{layer}`" for layer in entry.middle),
                entry.source,
            )
        )
    return rows


def training_rows() -> Rows:
    """Presets of training, a column each; those of S3 twice, for few classes and for many."""
    columns = [
        (preset, plan, many)
        for preset in TRAINING_PRESETS
        for plan, many in ((preset.plan, False), (preset.many, True))
        if not many or preset.many != preset.plan
    ]
    rows: Rows = [
        ("", *(f"`{preset.name}`{', 100 classes or more' if many else ''}" for preset, _, many in columns))
    ]

    def add(title: str, say: Callable[..., str]) -> None:
        rows.append((title, *(say(preset, plan) for preset, plan, _ in columns)))

    add("epochs", lambda _, plan: f"{plan.epochs:g}" if not plan.steps else f"{plan.steps} steps")
    others = [
        ", ".join(f"`{head}` {epochs:g}" for head, epochs in preset.epochs_of_many.items()) if many else ""
        for preset, _, many in columns
    ]
    rows.append(("epochs of some heads", *others))
    add("steps with `--init`", lambda preset, _: "" if preset.from_init == 1 else f"{preset.from_init:.0%}")
    add("batch", lambda _, plan: str(plan.batch))
    add("rate", lambda _, plan: f"{plan.rate:g}")
    add(
        "schedule",
        lambda _, plan: plan.schedule + (f", power {plan.power:g}" if plan.schedule == "polynomial" else ""),
    )
    add("warm-up, epochs", lambda _, plan: f"{plan.warm_up:g}")
    add("optimiser", lambda _, plan: plan.optimiser)
    add("weight decay", lambda _, plan: f"{plan.weight_decay:g}")
    add("gradient norm", lambda _, plan: f"{plan.gradient_norm:g}" if plan.gradient_norm < 1e6 else "any")
    add(
        "images resized to",
        lambda _, plan: "their own size" if plan.size is None else "{} x {}".format(*plan.size),
    )
    add("crop", lambda _, plan: "{} x {}".format(*plan.crop))
    add("random scale", lambda _, plan: "{:g} to {:g}".format(*plan.scale))
    add("dropout", lambda preset, _: f"{preset.dropout:g}")
    add("pixels", lambda preset, _: "divided by 255" if preset.plain_input else "the backbone's own")
    add(
        "window / stride at prediction time",
        lambda preset, _: f"{preset.window} / {preset.stride}" if preset.window else "whole images",
    )
    add("fast weights' rate", lambda _, plan: f"x {plan.fast_rate:g}")
    add("encoder blocks with fast weights", lambda preset, _: str(preset.member_blocks))
    for head in HEADS[1:]:
        add(
            f"`{head.name}`",
            lambda preset, plan, head=head: ", ".join(
                f"`{name}` {shown(value)}"
                for name, value in preset.options_for(
                    head.name, 0 if plan is preset.plan else MANY_CLASSES
                ).items()
            ),
        )
    add("source", lambda preset, _: preset.source)
    return rows


def shown(value: object) -> str:
    """Return the value of an option as a page shows it."""
    return (
        {True: "on", False: "off"}[value]
        if isinstance(value, bool)
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )


def tasks(of: Iterable[str]) -> str:
    """Return what the tasks are of, in words."""
    return ", ".join(TASKS[task] for task in of)


def result_rows() -> Rows:
    """What each command prints with --json."""
    rows = [("command", "in Python")]
    return rows + [
        (f"`{' '.join(words)}`", f"`{kind.__name__}`") for words in LINES for kind in result_kinds(words)
    ]


def column_rows(name: str) -> Rows:
    """The columns of a result's table, or those that a kind of row has besides."""
    columns = ROW_COLUMNS[name] if name in ROW_COLUMNS else kind_of(name).columns
    return [("column", "kind", "says"), *_column_cells(columns)]


def _column_cells(columns: Iterable[Column]) -> Rows:
    kinds = {"text": "text", "number": "number", "count": "integer", "flag": "true or false", "texts": "list"}
    return [
        (f"`{of.name}`", kinds[of.kind], f"{of.says} ({of.unit})" if of.unit else of.says) for of in columns
    ]


def figure_rows() -> Rows:
    """The figures of a report, and what they show."""
    rows = [("figure", "shows", "as in")]
    return rows + [(f"`{figure.name}`", figure.says, figure.source) for figure in (*FIGURES, *ON_REQUEST)]


def figure_column_rows() -> Rows:
    """The columns of the numbers behind each figure that no other table has."""
    rows = [("figure", "column", "kind", "says")]
    others = [kind_of(name).columns for name in KINDS]
    return rows + [
        (f"`{figure.name}`", *cells)
        for figure in (*FIGURES, *ON_REQUEST)
        if figure.columns not in others
        for cells in _column_cells(figure.columns)
    ]


def consumer_rows() -> Rows:
    """Which tools read what Faultscape writes."""
    folder = ROOT / "tests" / "consumers"
    pinned = "".join((folder / name).read_text() for name in ("constraints.txt", "alone.txt"))
    pins = re.findall(r"^([\w.-]+)==(\S+)$", pinned, re.MULTILINE)
    versions = dict(pins)
    entries = tomllib.loads((folder / "consumers.toml").read_text())["consumer"]
    rows = [("consumer", "version", "reads", "checked by")]
    return rows + [
        (f"`{entry['package']}`", versions[entry["package"]], entry["made_by"], entry["checked_by"])
        for entry in entries
    ]


TABLES: Mapping[str, Callable[[], Rows]] = {
    **{f"{name.upper()}COLUMNS": partial(column_rows, name) for name in (*KINDS, *ROW_COLUMNS)},
    "FIGURES": figure_rows,
    "FIGUREDATACOLUMNS": figure_column_rows,
    "CONSUMERS": consumer_rows,
    "RESULTS": result_rows,
    "METRICS": metric_rows,
    "SELECTORS": selector_rows,
    "RANKINGS": ranking_rows,
    "FORMATS": format_rows,
    "EXPORTS": export_rows,
    "SOURCES": source_rows,
    "KEPT": kept_rows,
    "SCORERS": scorer_rows,
    "LAYOUTS": layout_rows,
    "TREES": tree_rows,
    "CORRUPTIONS": corruption_rows,
    "STEPS": step_rows,
    "PRESETS": preset_rows,
    "HEADS": head_rows,
    "METHODS": method_rows,
    "BACKBONES": backbone_rows,
    "TRAINING": training_rows,
}


def with_tables(page: str) -> str:
    """Return a page in which every table under the name of a catalogue is made anew."""

    def made(found: re.Match[str]) -> str:
        head, *rows = TABLES[found[1]]()
        rule = "|---" * len(head) + "|"
        behind = "\n" * (found.end() < len(page))
        return (
            "\n".join([f"<!-- {found[1]} -->", "", line_of(head), rule, *map(line_of, rows)]) + f"\n{behind}"
        )

    return re.sub(r"^<!-- ([A-Z]+) -->\n+(?:\|.*\n)*\n*", made, page, flags=re.MULTILINE)


SECTIONS = {  # groups of metrics on the page of definitions
    "pixels": "Pixel metrics",
    "regions": "Region metrics",
    "partitions": "Partitions",
    "boundaries": "Boundaries",
    "centrelines": "Centrelines",
    "anomaly scores": "Detection of anomalies",
    "confidence": "Calibration and misclassification",
    "calibration": "Calibration and misclassification",
}


def with_headings(page: str) -> str:
    """Return the page of definitions in which every metric is named in a heading; a heading that is added comes
    last in its section, above the definition that the catalogue has.
    """
    for metric in METRICS:
        if re.search(rf"^### .*`{metric.name}`", page, re.MULTILINE):
            continue
        before, title, rest = page.partition(f"## {SECTIONS[metric.group]}\n")
        section, end, after = rest.partition("\n## ")
        words = metric.text(Definitions())
        cited = f" ({metric.source})" if metric.source and metric.source not in words else ""
        text = f"{words[:1].upper()}{words[1:]}{cited}."
        page = f"{before}{title}{section.rstrip()}\n\n### `{metric.name}`\n{text}\n{end}{after}"
    return page


def with_names(text: str, option: str, names: Iterable[str]) -> str:
    """Return a page, or a file of code, in which the row or the docstring of an option lists these names.

    >>> with_names("| `--selector` | one of `old`, or `file.py:NAME` |", "selector", ["new", "newer"])
    '| `--selector` | one of `new`, `newer`, or `file.py:NAME` |'
    """

    def row(found: re.Match[str]) -> str:
        listed = ", ".join(f"`{name}`" for name in names)
        return re.sub(r"\bone of (`[^`]+`, )+or", f"one of {listed}, or", found[0])

    def docstring(found: re.Match[str]) -> str:
        words = " ".join(found[2].split())
        made = re.sub(r"\b([Oo]ne of) ([\w+-]+, )+or", rf"\1 {', '.join(names)}, or", words)
        if made == words:
            return found[0]
        wrapped = textwrap.fill(made, 102, break_long_words=False, break_on_hyphens=False)
        return found[1] + textwrap.indent(wrapped, " " * 8) + "\n"

    text = re.sub(rf"^\| `--{option}` \|.*$", row, text, flags=re.MULTILINE)
    return re.sub(rf"^( {{4}}{option}\n)((?: {{8}}.*\n)+)", docstring, text, flags=re.MULTILINE)


def line_of(cells: tuple[str, ...]) -> str:
    """Return a row of a table; a bar in a cell is escaped."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def as_catalogues_say(path: Path) -> str:
    """Return a file with all that is read off the catalogues made anew."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        text = with_tables(with_headings(text) if path == DEFINITIONS else text)
    for option, names in LISTS.get(path.relative_to(ROOT).as_posix(), {}).items():
        text = with_names(text, option, names)
    return text


def files() -> list[Path]:
    """Return the files in which something may be read off the catalogues."""
    return sorted({*DOCS.rglob("*.md"), *(ROOT / name for name in LISTS)})


def main() -> None:
    """Write every file that is not what the catalogues say."""
    for path in files():
        if (made := as_catalogues_say(path)) != path.read_text(encoding="utf-8"):
            path.write_text(made, encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
