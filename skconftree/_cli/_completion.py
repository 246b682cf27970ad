"""Scripts for shell completion of commands and options.

A *bound* is the split rule of a tree.
"""

import argparse

from skconftree import __version__

from ._options import BOUNDS, CRITERIA, make_parser
from ._text import standard_output


def run_completion(options):
    """Run ``skconftree completion`` and return the exit code."""
    with standard_output() as file:
        if options.shell == "zsh":
            print("autoload -U +X bashcompinit && bashcompinit", file=file)
        print(_fish() if options.shell == "fish" else _bash(), file=file)
    return 0


def commands():
    """Return the options of each command with their choices."""
    parser = make_parser(__version__)
    (group,) = (
        action
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    result = {}
    for name, command in group.choices.items():
        result[name] = {}
        for action in command._actions:
            values = list(map(str, action.choices or ()))
            for option in action.option_strings or [""]:  # "": a positional argument
                if option.startswith("--") or not option:
                    result[name][option] = values
        for option, values in (
            ("--bound", [*BOUNDS, "none"]),
            ("--criterion", CRITERIA),
        ):
            if option in result[name]:
                result[name][option] = list(values)
    return result


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
    command_cases, choices_of = [], {}
    for name, options in commands().items():
        candidates = " ".join([o for o in options if o] + options.get("", []))
        command_cases.append(f'    {name}) words="{candidates}" ;;')
        choices_of |= {o: choices for o, choices in options.items() if o and choices}
    value_cases = (
        f"    {o}) {ANSWER.replace('@WORDS@', ' '.join(choices))} ;;"
        for o, choices in choices_of.items()
    )
    return (
        BASH.replace("@VALUES@", "\n".join(value_cases))
        .replace("@COMMANDS@", "\n".join(command_cases))
        .replace("@NAMES@", " ".join(commands()))
    )


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
