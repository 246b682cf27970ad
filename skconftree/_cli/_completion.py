"""What makes shells complete commands and options."""

import argparse

from skconftree import __version__

from ._options import BOUNDS, CRITERIA, make_parser
from ._text import standard_output


def run_completion(options):
    """Do the command; return the exit code."""
    with standard_output() as file:
        print({"bash": _bash, "zsh": _zsh, "fish": _fish}[options.shell](), file=file)
    return 0


def commands():
    """Give the options of each command, and what some of them may be."""
    parser = make_parser(__version__)
    (group,) = (
        action
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    found = {}
    for name, command in group.choices.items():
        found[name] = {}
        for action in command._actions:
            values = list(map(str, action.choices or ()))
            for option in action.option_strings or [""]:
                if option.startswith("--") or not option:
                    found[name][option] = values
        for option, values in (
            ("--bound", [*BOUNDS, "none"]),
            ("--criterion", CRITERIA),
        ):
            if option in found[name]:
                found[name][option] = list(values)
    return found


BASH = """\
_skconftree() {
  local word="${COMP_WORDS[COMP_CWORD]}" words=""
  case "${COMP_WORDS[COMP_CWORD-1]}" in
@VALUES@
  esac
  case "${COMP_WORDS[1]}" in
@COMMANDS@
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then words="@NAMES@ --help --version"; fi
  COMPREPLY=()
  if [[ "$word" == -* || "$COMP_CWORD" -eq 1 || "${COMP_WORDS[1]}" == completion ]]
  then COMPREPLY=($(compgen -W "$words" -- "$word")); fi
  if [ "${#COMPREPLY[@]}" -eq 0 ]; then COMPREPLY=($(compgen -f -- "$word")); fi
}
complete -o filenames -F _skconftree skconftree"""
ANSWER = 'COMPREPLY=($(compgen -W "@WORDS@" -- "$word")); return'


def _bash():
    cases, values = [], {}
    for name, options in commands().items():
        words = " ".join([one for one in options if one] + options.get("", []))
        cases.append(f'    {name}) words="{words}" ;;')
        values |= {one: found for one, found in options.items() if one and found}
    answers = (
        f"    {option}) {ANSWER.replace('@WORDS@', ' '.join(found))} ;;"
        for option, found in values.items()
    )
    return (
        BASH.replace("@VALUES@", "\n".join(answers))
        .replace("@COMMANDS@", "\n".join(cases))
        .replace("@NAMES@", " ".join(commands()))
    )


def _zsh():
    return f"autoload -U +X bashcompinit && bashcompinit\n{_bash()}"


def _fish():
    lines = []
    first = "__fish_use_subcommand"
    for name, options in commands().items():
        lines.append(f"complete -c skconftree -n {first} -a {name}")
        within = f"'__fish_seen_subcommand_from {name}'"
        for option, values in options.items():
            line = f"complete -c skconftree -n {within}"
            if option:
                line += f" -l {option[2:]}"
            if values:
                line += f" -x -a '{' '.join(values)}'"
            if option or values:
                lines.append(line)
    return "\n".join(lines)
