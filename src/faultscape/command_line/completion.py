"""Completion scripts for bash, zsh and fish: verbs, sub-commands, options, and the choices of options.

Conventions: the shell reads a script once; the script does not call Faultscape. For values without a list of
choices, the shell completes files.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Mapping

from faultscape.command_line.commands import Command, Option, command
from faultscape.command_line.help_page import first_sentence, verb_line
from faultscape.command_line.output_options import NAMES
from faultscape.errors import OptionError, closest
from faultscape.progress import STYLES
from faultscape.verbs.verb_list import GROUPS, LINES, VERBS

_OWN = ("--help", "--version", "--completion")
_PATHS = {"PATH", "SOURCE", "NAME=SOURCE", "NAME=FOLDER", "CLASSES", "VALUE=CLASS|FILE"}


def completion_script(shell: str) -> str:
    """Return the completion script of a shell; OptionError for an unsupported shell."""
    if shell not in SHELLS:
        raise OptionError(
            f"completion {shell!r} is not known; use {', '.join(SHELLS)}.{closest(shell, [*SHELLS])}"
        )
    return SHELLS[shell]([command(words) for words in LINES])


def bash(commands: list[Command]) -> str:
    """Return the script of bash."""
    lines = [f'        "") values="{" ".join(VERBS)}"; options="{" ".join(_OWN)}" ;;']
    lines += [f'        {verb}) values="{" ".join(names)}" ;;' for verb, names in GROUPS.items()]
    values = [f'        *" --progress") choices="{" ".join(STYLES)}" ;;']
    values += [f'        " --completion") choices="{" ".join(SHELLS)}" ;;']
    for one in commands:
        line = " ".join(one.words)
        spelt = [name for option in _options(one) for name in option.spellings]
        lines.append(f'        "{line}") options="{" ".join(spelt)}" ;;')
        values += [
            f'        "{line} {name}") choices="{" ".join(option.choices)}" ;;'
            for option in _options(one)
            if option.choices
            for name in option.spellings
        ]
    return _BASH.format(
        groups="|".join(GROUPS), lines="\n".join(lines), values="\n".join(values), output=" ".join(NAMES)
    )


def zsh(commands: list[Command]) -> str:
    """Return the script of zsh."""
    verbs = "\n".join(f"    {_quoted(f'{verb}:{verb_line(verb)}')}" for verb in VERBS)
    by_verb: dict[str, list[Command]] = {}
    for one in commands:
        by_verb.setdefault(one.words[0], []).append(one)
    cases = list[str]()
    for verb, of in by_verb.items():
        if verb in GROUPS:
            names = " ".join(_quoted(f"{one.words[1]}:{first_sentence(one.summary)}") for one in of)
            inner = "\n".join(f"        {one.words[1]}) {_zsh_arguments(one)} ;;" for one in of)
            cases.append(_ZSH_GROUP.format(verb=verb, names=names, inner=inner))
        else:
            cases.append(f"    {verb}) {_zsh_arguments(of[0])} ;;")
    return _ZSH.format(verbs=verbs, cases="\n".join(cases), shells=" ".join(SHELLS))


def _zsh_arguments(one: Command) -> str:
    specs = [
        _quoted(
            f"{'*' if option.repeats else ''}{name}[{_plain(_brief(option.text))}]"
            + (f":{_plain(option.value)}:{_zsh_values(option)}" if option.value else "")
        )
        for option in _options(one)
        for name in option.spellings
    ]
    return " \\\n      ".join(["_arguments", *specs, *_ZSH_OUTPUT, "'*:path:_files'"])


def _zsh_values(option: Option) -> str:
    if option.choices:
        return f"({' '.join(option.choices)})"
    return "_files" if option.value in _PATHS else ""


def fish(commands: list[Command]) -> str:
    """Return the script of fish."""
    lines = ["# fish completion of faultscape: faultscape --completion fish | source"]
    nothing = "__fish_use_subcommand"
    lines += [f"complete -c faultscape -n {nothing} -f -a {v} -d {_fish(verb_line(v))}" for v in VERBS]
    lines += [f"complete -c faultscape -n {nothing} -l {name[2:]}" for name in _OWN[:2]]
    lines.append(f"complete -c faultscape -n {nothing} -l completion -x -a '{' '.join(SHELLS)}'")
    lines += [f"complete -c faultscape -l {name}" for name in ("json", "help")]
    lines += ["complete -c faultscape -s q -l quiet", "complete -c faultscape -s v -l verbose"]
    lines.append(f"complete -c faultscape -l progress -x -a '{' '.join(STYLES)}'")
    for one in commands:
        verb, *rest = one.words
        seen = f"__fish_seen_subcommand_from {verb}"
        if rest:
            none = f"{seen}; and not __fish_seen_subcommand_from {' '.join(GROUPS[verb])}"
            said = _fish(first_sentence(one.summary))
            lines.append(f"complete -c faultscape -n '{none}' -f -a {rest[0]} -d {said}")
            seen += f"; and __fish_seen_subcommand_from {rest[0]}"
        lines += [f"complete -c faultscape -n '{seen}'{_fish_option(option)}" for option in _options(one)]
    return "\n".join([*lines, ""])


def _fish_option(option: Option) -> str:
    names = "".join(
        f" -l {name[2:]}" if name.startswith("--") else f" -s {name[1:]}" for name in option.spellings
    )
    takes = f" -x -a '{' '.join(option.choices)}'" if option.choices else " -r" if option.value else ""
    return f"{names}{takes} -d {_fish(_brief(option.text))}"


def _options(one: Command) -> Iterator[Option]:
    for options in one.options.values():
        yield from options


def _brief(text: str) -> str:
    """Return the beginning of the text of an option, up to a full stop or semicolon.

    >>> _brief("With --api: open (default) or any; repeat it."), len(_brief("word " * 40))
    ('With --api: open (default) or any', 67)
    """
    first = re.split(r"(?<=[^.])[.;](?: |$)", text, maxsplit=1)[0]
    return textwrap.shorten(first, 70, placeholder="...")


def _plain(text: str) -> str:
    r"""Return a text without the characters that are special in a zsh description.

    >>> _plain("a [b]: c")
    'a (b), c'
    """
    return re.sub(r":\s*", ", ", text.replace("[", "(").replace("]", ")"))


def _quoted(text: str) -> str:
    """Return a text in single quotes, as bash and zsh read it."""
    return "'" + text.replace("'", "'\\''") + "'"


def _fish(text: str) -> str:
    r"""Return a text in single quotes, as fish reads it."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SHELLS: Mapping[str, Callable[[list[Command]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}

_BASH = """\
# bash completion of faultscape: eval "$(faultscape --completion bash)"
_faultscape() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
    local line= word= options= values= choices=
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        [[ $word == -* ]] && continue
        case $line in
            "") line=$word ;;
            {groups}) line="$line $word" ;;
        esac
    done
    case $line in
{lines}
    esac
    case "$line $previous" in
{values}
    esac
    if [[ -n $choices ]]; then
        COMPREPLY=($(compgen -W "$choices" -- "$current"))
    elif [[ $current == -* ]]; then
        COMPREPLY=($(compgen -W "$options {output}" -- "$current"))
    elif [[ -n $values ]]; then
        COMPREPLY=($(compgen -W "$values" -- "$current"))
    else
        COMPREPLY=()
    fi
}}
complete -o default -F _faultscape faultscape
"""
_ZSH = """\
#compdef faultscape
# zsh completion of faultscape: faultscape --completion zsh > a folder of $fpath/_faultscape
_faultscape() {{
  local -a verbs names
  verbs=(
{verbs}
  )
  if (( CURRENT == 2 )); then
    _describe -t verbs verb verbs
    _arguments '--version[Print the version]' '--completion[Print a script]:shell:({shells})' '--help[Help]'
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
{cases}
  esac
}}
if [[ $funcstack[1] == _faultscape ]]; then
  _faultscape "$@"
else
  compdef _faultscape faultscape
fi
"""
_ZSH_GROUP = """\
    {verb})
      if (( CURRENT == 2 )); then
        names=({names})
        _describe -t commands command names
        return
      fi
      shift words
      (( CURRENT-- ))
      case $words[1] in
{inner}
      esac ;;"""
_ZSH_OUTPUT = (
    "'--json[Print one JSON object]'",
    "'(-q --quiet)'{-q,--quiet}'[Print the result alone]'",
    "'(-v --verbose)'{-v,--verbose}'[Print more]'",
    f"'--progress[How progress is shown]:style:({' '.join(STYLES)})'",
    "'(-h --help)'{-h,--help}'[Print help]'",
)
