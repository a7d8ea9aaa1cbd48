"""Help pages: plain text, as wide as the terminal and at most 80 columns elsewhere.

Conventions: what it does, the usage line, two examples, then arguments and options in the order of the
signature; a default appears once, in or after the text of the option. The page of a verb with very many
options only names those in groups; `--help all` describes them too.

EXAMPLES: two or more example lines for every command, as shown in its help.

Conventions: keyed by the words of the command; a test parses each line with the command line.
"""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from importlib.resources import files

from faultscape.command_line.commands import Command, Option, argument_words, command
from faultscape.command_line.output_options import ROWS
from faultscape.verbs.verb_list import GROUPS, SECTIONS, function_of

ABOUT = (
    "Choose between segmentation models, or image classifiers, and learn how far to trust them, with few"
    " human labels."
)
WIDEST = 100  # columns, however wide the terminal is
_MANY = 36  # options; a page with more names those of groups, and describes them on request
_VERBS = 15  # columns of the names of verbs
_LABEL = 26  # most columns for names before their texts
EXAMPLES: dict[tuple[str, ...], tuple[str, ...]] = {
    ("collect",): (
        "faultscape collect study images/ --classes camvid --size 512x512",
        'faultscape collect study --remove "night/*" --dry-run',
    ),
    ("predict",): (
        "faultscape predict study unet=maps/unet/ fcn=fcn.onnx",
        "faultscape predict study b0=hf:OWNER/MODEL --scorer msp --measure",
    ),
    ("compare",): ("faultscape compare study", "faultscape compare study --shard 1/4"),
    ("scale",): (
        "faultscape scale train-masks/ --classes voc -o scale.json",
        'faultscape scale gtFine/train/ --classes cityscapes --pattern "{id}_gtFine_labelTrainIds.png"',
    ),
    ("select",): (
        "faultscape select study --scale scale.json",
        "faultscape select study --goal order --budget 100 --list",
    ),
    ("label", "export"): (
        "faultscape label export study to-label/",
        "faultscape label export study to-fix/ --format labelme --prefill unet",
    ),
    ("label", "import"): (
        "faultscape label import study to-label/",
        'faultscape label import study gtFine/val/ --pattern "{id}_gtFine_labelIds.png"',
    ),
    ("label", "check"): (
        "faultscape label check annotations.zip",
        "faultscape label check tasks.json --format label-studio",
    ),
    ("label", "serve"): (
        "faultscape label serve study",
        "faultscape label serve study --host 0.0.0.0 --overlap 3",
    ),
    ("label", "invite"): (
        'faultscape label invite study "Ann"',
        'faultscape label invite study "Ben" --organiser',
    ),
    ("label", "forget"): (
        'faultscape label forget study "Ann"',
        'faultscape label forget study "Ann" --answers',
    ),
    ("label", "answers"): (
        "faultscape label answers study answers.jsonl",
        "faultscape label answers study answers.jsonl --json",
    ),
    ("label", "consensus"): (
        "faultscape label consensus study --of labels-ann --of labels-ben",
        "faultscape label consensus study --of labels-ann --of labels-ben --tie skill",
    ),
    ("label", "remove"): (
        'faultscape label remove study "night/*" --dry-run',
        "faultscape label remove study photo-17 --discards",
    ),
    ("rank",): ("faultscape rank study", "faultscape rank study --selection order --where tag=night"),
    ("plan",): (
        "faultscape plan study",
        "faultscape plan study --cost mask=3600,choice=8 --wage 25 --within 2",
    ),
    ("measure",): (
        "faultscape measure truth/ unet=maps/unet fcn=maps/fcn --classes cityscapes",
        "faultscape measure masks/ --anomaly msp=scores/msp flow=scores/flow",
        "faultscape measure study --set fog-3",
    ),
    ("rank-table",): (
        "faultscape rank-table scores.csv -o ranking.html",
        "faultscape rank-table scores.parquet --better dice=high,hd95=low --missing 0",
        "faultscape rank-table unet=unet/summary.json resenc=resenc/summary.json",
    ),
    ("report",): ("faultscape report study", "faultscape report study --selection order --output order.html"),
    ("stress", "corrupt"): (
        "faultscape stress corrupt study --preset hendrycks15",
        "faultscape stress corrupt study --corruption fog --severities 1,3,5",
    ),
    ("stress", "blend"): (
        "faultscape stress blend study --preset fishyscapes-v2",
        "faultscape stress blend study --preset fs-static --objects cutouts/",
    ),
    ("stress", "holdout"): (
        "faultscape stress holdout study --classes bicyclist",
        "faultscape stress holdout study --remove s3-paper",
    ),
    ("stress", "fog"): (
        "faultscape stress fog study --depth depth/",
        "faultscape stress fog study --beta 0.01 --beta 0.03",
    ),
    ("stress", "sheet"): (
        "faultscape stress sheet study",
        "faultscape stress sheet study --set fog-3 --images 4",
    ),
    ("loop",): (
        "faultscape loop study --model unet --images 10 --judged 20",
        "faultscape loop study --masks masks/ --rounds 3",
    ),
    ("train",): (
        "faultscape train study plain --backbone segformer-b0 --epochs 50",
        "faultscape train study gp --init plain --head gp --epochs 10",
    ),
    ("fit",): (
        "faultscape fit study temperature --model unet --validation val",
        "faultscape fit study knn --model unet",
    ),
    ("reliability",): (
        "faultscape reliability study",
        "faultscape reliability study --models unet --reference fcn --output card/",
    ),
    ("run",): (
        "faultscape run study images/ unet=maps/unet/ fcn=maps/fcn/ --classes voc",
        "faultscape run study",
        "faultscape run study --goal failures",
    ),
    ("status",): ("faultscape status study", "faultscape status study --json"),
    ("show",): ("faultscape show study/corpus.parquet --rows 5", "faultscape show study --images"),
    ("view",): ("faultscape view study", "faultscape view study --port 9000"),
    ("export",): (
        "faultscape export study out/ --format hf",
        "faultscape export study out/ --format fiftyone --all-images --image-files link",
    ),
    ("demo",): ("faultscape demo demo-study", "faultscape demo small-study --scenes 40 --engine local"),
}


def help_text(words: Sequence[str], *, everything: bool = False) -> str:
    """Return the help page for the given words: of all verbs, of a verb with sub-commands, or of one command,
    with ``everything`` about its options.
    """
    width = min(shutil.get_terminal_size((80, 24)).columns, WIDEST)
    if not words or words[0] not in {verb for verbs in SECTIONS.values() for verb in verbs}:
        return main_page(width)
    if words[0] in GROUPS and (len(words) == 1 or words[1] not in GROUPS[words[0]]):
        return group_page(words[0], width)
    return command_page(command(tuple(words[: 1 + (words[0] in GROUPS)])), width, everything=everything)


def main_page(width: int) -> str:
    """Return the page of all verbs, one per line."""
    lines = [_wrapped(ABOUT, width), "", "Usage: faultscape VERB [ARGUMENTS] [OPTIONS]"]
    for title, verbs in SECTIONS.items():
        lines += ["", f"{title}:", *_rows([(verb, verb_line(verb)) for verb in verbs], width, _VERBS, _VERBS)]
    more = [
        *ROWS[:-1],
        ("-h, --help", "Print this page, or a verb's page: faultscape VERB --help."),
        ("--version", "Print the version."),
        ("--completion SHELL", "Print the completion script of bash, zsh or fish."),
    ]
    return "\n".join(
        [
            *lines,
            "",
            "Options:",
            *_rows(more, width),
            "",
            "Start with: faultscape demo, or faultscape run STUDY IMAGES NAME=MAPS ...",
        ]
    )


def group_page(verb: str, width: int) -> str:
    """Return the page of a verb with sub-commands, one per line."""
    rows = [(name, first_sentence(command((verb, name)).summary)) for name in GROUPS[verb]]
    lines = [_wrapped(verb_line(verb), width), "", f"Usage: faultscape {verb} COMMAND [ARGUMENTS] [OPTIONS]"]
    lines += ["", "Commands:", *_rows(rows, width, _VERBS, _VERBS)]
    return "\n".join([*lines, "", f"Run faultscape {verb} COMMAND --help for its options."])


def command_page(of: Command, width: int, *, everything: bool = False) -> str:
    """Return the page of one command; one with very many options is short, unless ``everything`` is asked."""
    short = not everything and sum(map(len, of.options.values())) > _MANY
    lines = [_wrapped(of.summary, width), "", _wrapped(f"Usage: {of.usage}", width, "       ")]
    lines += ["", "Examples:"]
    for example in EXAMPLES[of.words]:
        lines.append(_wrapped(f"  {example}", width, "      ", " \\"))
    if of.text:
        lines += ["", *_paragraphs(of.text, width)]
    if of.arguments:
        lines += ["", "Arguments:"]
        lines += _rows([(argument_words(one), _said(one)) for one in of.arguments], width)
    for title, options in of.options.items():
        if options and title and short:
            names = ", ".join(one.spellings[0] for one in options)
            lines += ["", f"{title}:", _wrapped(names, width, "  ", head="  ")]
        elif options:
            lines += ["", f"{title or 'Options'}:", *_rows(map(_row, options), width)]
    if short:
        lines += ["", f"Run faultscape {' '.join(of.words)} --help all for what these mean."]
    return "\n".join([*lines, "", "For every verb:", *_rows(ROWS, width)])


def verb_line(verb: str) -> str:
    """Return the one line of a verb, read off its file without importing it.

    >>> verb_line("rank")
    'Rank the models from the labels so far, with intervals.'
    """
    folder = files("faultscape.verbs") / function_of(verb)
    first = (folder / "__init__.py").read_text(encoding="utf-8").partition("\n")[0]
    line = first.removeprefix('"""').removesuffix('"""').partition(": ")[2]
    return line[:1].upper() + line[1:]


def first_sentence(text: str) -> str:
    """Return the first sentence of a text, without what follows a colon or semicolon.

    >>> first_sentence("Take in labels: a folder of masks; or a file. Run it again.")
    'Take in labels.'
    """
    return re.split(r"(?<=[^.])[.:;](?: |$)", text, maxsplit=1)[0] + "."


def _row(one: Option) -> tuple[str, str]:
    names = ", ".join(one.spellings)
    return (f"{names} {one.value}".rstrip() + (" ..." if one.repeats else ""), _said(one))


def _said(one: Option) -> str:
    """Return the text of an option: its description, its choices if they are not mentioned, and its
    default.
    """
    words = set(re.findall(r"[\w+./-]*\w", one.text)) | set(one.value.split("|"))
    choices = "" if set(one.choices) <= words else f" [{', '.join(one.choices)}]"
    stated = "default" in one.text.lower()
    default = f" [default:\N{NO-BREAK SPACE}{one.default}]" if one.default and not stated else ""
    required = " [required]" if one.required and one.spellings[0].startswith("-") else ""
    return f"{one.text}{choices}{default}{required}"


def _rows(rows: Iterable[tuple[str, str]], width: int, most: int = _LABEL, least: int = 0) -> list[str]:
    """Return names and their texts in two columns; a name that is too wide has a line of its own."""
    rows = list(rows)
    wide = max(least, min(most, max(len(name) for name, _ in rows) + 4))
    lines = list[str]()
    for name, text in rows:
        indent = " " * wide
        head = f"  {name:<{wide - 2}}"
        if len(name) > wide - 4:
            lines.append(f"  {name}")
            head = indent
        lines.append(_wrapped(text, width, indent, head=head))
    return lines


def _paragraphs(text: str, width: int) -> list[str]:
    return [_wrapped(paragraph, width) if paragraph else "" for paragraph in text.split("\n")]


def _wrapped(text: str, width: int, indent: str = "", ending: str = "", head: str = "") -> str:
    lines = textwrap.wrap(
        text,
        width - len(ending),
        initial_indent=head,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    )
    return f"{ending}\n".join(lines).replace("\N{NO-BREAK SPACE}", " ") or head.rstrip()
