"""The commands that the documents print, read from their pages, and their forms."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from cli.main import fencepost
from harness.verbs import VERBS
from tests.repo.test_prose import markdown

ROOT = Path(__file__).parents[1]
GENERATED = {"docs/command-line.md", "docs/plan-language.md"}
COMMAND = re.compile(r"^\s*(?:[A-Z_]+=\S+ )*(?:\.venv/bin/)?(fencepost|scripts/[\w-]+)((?: .*)?)$")
INLINE = re.compile(rf"`(fencepost(?= (?:{'|'.join(VERBS)}) )|scripts/[\w-]+)( [^`]+)`")
PLACEHOLDER = re.compile(r"\b[A-Z]{2,}\b|\.\.\.")
"""A command in a sentence that leaves a part of it open."""
READS_ONLY = {"bundle", "completion", "doctor", "explain", "list", "report"}
"""Verbs that start no process: a test executes their commands as they are printed, on stored runs."""
READS_ONLY_WITH = {"--dry-run", "--history", "--list", "--show", "--trace"}


@dataclass(frozen=True)
class Command:
    """One command line, of a page or of a test."""

    place: str
    program: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join((self.program, *self.words))

    @property
    def verb(self) -> str:
        """Its first word; what a script gets there is a value, except the name of a bench."""
        named = self.words and self.program in ("fencepost", "scripts/bench")
        return self.words[0] if named and not self.words[0].startswith("-") else ""

    @property
    def options(self) -> frozenset[str]:
        return frozenset(word.partition("=")[0] for word in self.words if word.startswith("--"))

    @property
    def shapes(self) -> frozenset[str]:
        """What kinds of arguments it has: a name or a file, a bundle, an entry, an entry of a round."""
        if self.program != "fencepost":
            return frozenset()
        command = fencepost.get_command(click.Context(fencepost), self.verb)
        assert command is not None, f"{self.place}: no verb {self.verb}"
        parser = command.make_parser(click.Context(command, resilient_parsing=True))
        values = parser.parse_args(list(self.words[1:]))[0]
        given = [values[one.name] for one in command.params if isinstance(one, click.Argument)]
        named = [value for value in given if isinstance(value, str)]
        repeated = [word for value in given if isinstance(value, tuple | list) for word in value]
        return frozenset(map(_shape, named + repeated))

    @property
    def only_reads(self) -> bool:
        if self.program != "fencepost" or {"bundle", "entry of a round"} & self.shapes:
            return False
        return self.verb in READS_ONLY or bool(READS_ONLY_WITH & self.options)

    def shows(self, other: Command) -> bool:
        """Whether who executes this has executed the form of ``other``: its verb, arguments and options."""
        return (
            (self.program, self.verb, self.shapes) == (other.program, other.verb, other.shapes)
        ) and other.options <= self.options


def command(place: str, text: str) -> Command:
    program, *words = shlex.split(text, comments=True)
    if ">" in words:
        words = words[: words.index(">")]
    return Command(place, program, tuple(words))


def documented() -> Iterator[Command]:
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))):
        name = page.relative_to(ROOT).as_posix()
        if name in GENERATED:
            continue
        for number, line, kind in markdown(page.read_text(encoding="utf-8")):
            if kind == "code" and (found := COMMAND.match(line)):
                yield command(f"{name}:{number}", found[1] + found[2])
            for program, rest in INLINE.findall(line) if kind != "code" else ():
                if not PLACEHOLDER.search(rest):
                    yield command(f"{name}:{number}", program + rest)


def _shape(argument: str) -> str:
    kinds = {r"\.zip$": "bundle", r"\.\d+:\d+$": "entry of a round", r":\d+$": "entry"}
    return next((kind for shape, kind in kinds.items() if re.search(shape, argument)), "name")


DOCUMENTED = list(documented())
