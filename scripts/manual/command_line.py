"""The verbs of the command line and their options, read from the CLI11 declarations in cli/."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from manual.cpp_text import calls, closing, literal
from manual.entries import code, markdown, table
from manual.loader_options import loader_options

_DECLARATION = r"(\w+)(?:->|\.)(add_option_function<[\w:]+>|add_flag_function|add_option|add_flag)"
_VERB = r"(?:CLI::App\*\s*(?:const\s*)?(\w+)\s*=\s*)?(?:(\w+)(?:->|\.)add_subcommand|\badd)"


@dataclass
class Flag:
    """An option or a positional argument."""

    name: str  # "--by", "FILE"
    doc: str
    required: bool


@dataclass
class Verb:
    """A verb, "cache build" for one of a verb's own."""

    name: str
    doc: str
    flags: list[Flag] = field(default_factory=list)
    takes_loader: bool = False  # also takes the options of a loader


def verbs(root: Path) -> list[Verb]:
    """Every verb, in the order of their files."""
    found: list[Verb] = []
    demo = (root / "cli" / "demo" / "demo_command.cpp").read_text(encoding="utf-8")
    for path in sorted((root / "cli").glob("*.cpp")):
        text = path.read_text(encoding="utf-8")
        if "Verb add_" in text:
            beside = path.with_name(f"{path.stem}_options.cpp")  # where a verb has many
            found += _verbs_of(text, demo, beside.read_text(encoding="utf-8") if beside.exists() else "")
    return found


def shared_flags(root: Path) -> list[Flag]:
    """What every verb takes that reads files through a loader."""
    text = (root / "cli" / "loader_options.cpp").read_text(encoding="utf-8")
    flags = [Flag(o.flag, o.doc, False) for o in loader_options(root) if o.flag and o.name != "shuffle"]
    return _declared(text, {"app"}) + flags


def verbs_table(root: Path) -> str:
    """The verbs, and whether they take the options of a loader."""
    rows = [(code(_call(verb)), _sentence(verb.doc), "yes" if verb.takes_loader else "") for verb in verbs(root)]
    return table(("verb", "what it does", "loader options"), rows)


def flags_table(root: Path) -> str:
    """The options of each verb, once: first what a loader takes, then what every verb or several verbs have."""
    alike: dict[tuple[str, str], list[str]] = {}
    for verb in verbs(root):
        for flag in verb.flags:
            alike.setdefault((flag.name, flag.doc), []).append(verb.name)
    shared = {key: names for key, names in alike.items() if len(names) > 2}
    groups = [("loader options", [(flag.name, flag.doc) for flag in shared_flags(root)])]
    groups += [(", ".join(names), [key]) for key, names in shared.items()]
    groups += [(v.name, [(f.name, f.doc) for f in v.flags if (f.name, f.doc) not in shared]) for v in verbs(root)]
    rows = []
    for name, flags in groups:
        for i, (flag_name, doc) in enumerate(flags):
            rows.append((("" if i else name), code(flag_name), _sentence(doc)))
    return table(("verb", "option", "meaning"), rows)


def _call(verb: Verb) -> str:
    positional = [flag.name if flag.required else f"[{flag.name}]" for flag in verb.flags if flag.name.isupper()]
    words = ["headrace", verb.name, *(["FILE"] if verb.takes_loader else []), *positional]
    return " ".join("FILE…" if word == "FILE" else word for word in words)


def _sentence(text: str) -> str:
    return markdown(text if text.endswith((".", "?")) else f"{text}.")


def _verbs_of(text: str, demo: str, options: str) -> list[Verb]:
    """The verbs that one file declares; a verb with verbs of its own is listed by these alone."""
    by_variable: dict[str, Verb] = {}
    outer = ""
    maker = ""  # the lambda `add` declares what its verbs share on this variable
    for match, given in calls(text, _VERB):
        if match[2] and literal(given[0]) is None:  # inside of the lambda
            maker = match[1]
            continue
        if literal(given[0]) is None or len(given) < 2:
            continue
        verb = Verb(f"{outer} {literal(given[0])}".strip(), literal(given[1]) or "")
        if match[2] == "program":
            outer = verb.name
        by_variable[match[1]] = verb
        if not match[2]:
            verb.flags += _declared(text, {maker})
    for variable, verb in by_variable.items():
        verb.flags += _declared(text, {variable})
        verb.takes_loader = f"add_to(*{variable})" in text
        verb.flags += _declared(options, {"app"})
        if f"add_demo_options(*{variable}" in text:
            verb.flags += _declared(demo, {"app"})
        required = re.findall(rf'{variable}->get_option\("(\w+)"\)->required\(\)', text)
        for flag in verb.flags:
            flag.required = flag.required or flag.name in required
    inner = [verb for verb in by_variable.values() if verb.name != outer]
    return inner or list(by_variable.values())


def _declared(text: str, variables: set[str]) -> list[Flag]:
    """Options that are added to one of these variables; what the options table adds has no literal name."""
    flags = []
    for match, given in calls(text, _DECLARATION):
        name = literal(given[0])
        if match[1] not in variables or name is None:
            continue
        chain = text[closing(text, match.end() - 1) :].split(";")[0]
        if '->group("")' in chain:  # between the two programs, not for users
            continue
        doc = literal(given[-1]) or ""
        flags.append(Flag(name.replace(",!", ", "), doc, "->required()" in chain))
    return flags
