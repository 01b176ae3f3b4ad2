"""The prose of the project: plain words, lines that fit, help that names what an option does."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from cli.main import fencepost
from harness.verbs import VERBS

WIDTH = 100
BANNED = {
    r"\bnobody\b|\bwhoever\b|\bsomebody\b|\beverybody\b": "name the component: no client, the bookie",
    r"\btold\b|\btells? (?:of|whether|the|how|what|which|that|it)\b": "report, show, print, get",
    r"\bhear[sd]?\b|\bhearings?\b": "receive, observe, read the log",
    r"\bshall\b": "must, will, or the present tense",
    r"\bconvicts?\b|\bconvicted\b|\bacquit\w*\b|\baccus\w+\b|\bguilty\b": "violates, reports, passes",
    r"\bcarr(?:y|ies|ied|ying) (?:\w+ ){0,3}out\b": "run, execute",
    r"\baffairs?\b|\bat the door of\b|\bfor the sake of\b": "say it directly",
    r"\b(?:stop|end|restart|shut)\w* in (?:its own )?order\b": "graceful shutdown, clean restart",
    r"\borderly (?:end|restart|stop)\b": "graceful shutdown, clean restart",
    r"\bgets? ready\b|\bgot ready\b": "becomes ready",
    r"\bso (?:many|often)\b(?! as| \w+ that\b)": "name the number",
    r"\blikewise\b|\banew\b|\bbefall\w*\b|\bthereupon\b|\bwhereupon\b": "also, again, then",
    r"\bof (?:ours|one's own)\b": "our, its own",
    r"\bis to be had\b|\bcan(?:not)? be had\b": "is available",
    r"\b(?:is|are|was|were) (?:that|those) of\b": "belongs to, equals",
    r"\bc(?:omes?|ame) (?:out|of)\b": "ends, results",
}
"""Phrases of a dialect that readers have to decode, and what to write."""
ALLOWED = {
    "tests/repo/test_prose.py": "the list itself",
    "results/published": "output of runs, as they were recorded",
}
"""Where they may stand, and why."""
NAMES = re.compile(r"`[^`]*`|:\w+:`[^`]*`|\"\w+\"|'\w+'")
FENCE = re.compile(r"^\s*(?:```|~~~)")
NO_IMPERATIVE = re.compile(r"^(?:Whether|How|What|If|When|So|It|This|Lets?)\b", re.I)
PROSE_FILES = {".py", ".md", ".java", ".go"}


def prose(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """Line numbers and prose: Markdown outside of code, docstrings and comments, comments of Java and Go."""
    if path.suffix == ".md":
        yield from ((number, line) for number, line, kind in markdown(text) if kind != "code")
    elif path.suffix == ".py":
        yield from _python(text)
    else:
        for number, line in enumerate(text.splitlines(), start=1):
            if re.match(r"\s*(//|/?\*)", line) or " // " in line:
                yield number, line


def _python(text: str) -> Iterator[tuple[int, str]]:
    before = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        docstring = token.type == tokenize.STRING and before in (tokenize.NEWLINE, tokenize.INDENT)
        if docstring or token.type == tokenize.COMMENT:
            for offset, line in enumerate(token.string.splitlines()):
                yield token.start[0] + offset, line
        if token.type not in (tokenize.NL, tokenize.COMMENT):
            before = tokenize.NEWLINE if token.type == tokenize.DEDENT else token.type


def markdown(text: str) -> Iterator[tuple[int, str, str]]:
    """Line numbers, lines, and what each is: ``code``, ``table`` or ``text``."""
    fenced, blank, code = False, True, False
    for number, line in enumerate(text.splitlines(), start=1):
        if FENCE.match(line):
            fenced = not fenced
            yield number, line, "code"
            continue
        code = line.startswith("    ") and (code or blank) and not re.match(r"\s*(?:[-*]|\d+\.) ", line)
        blank = not line.strip()
        kind = "code" if fenced or code else "table" if line.lstrip().startswith("|") else "text"
        yield number, line, kind


def banned(line: str) -> Iterator[str]:
    """The advice for each banned phrase of a line; names in quotes and code are no prose."""
    plain = NAMES.sub("x", line)
    for pattern, advice in BANNED.items():
        if found := re.search(pattern, plain, re.I):
            yield f"{found[0].strip()!r}: write {advice}"


def test_no_prose_has_a_banned_phrase(root: Path, texts: dict[Path, str]) -> None:
    found = [
        f"{name}:{number}: {advice}"
        for path, text in texts.items()
        if path.suffix in PROSE_FILES
        and not (name := path.relative_to(root).as_posix()).startswith(tuple(ALLOWED))
        for number, line in prose(path, text)
        for advice in banned(line)
    ]
    assert not found, f"{len(found)}:\n" + "\n".join(found)


def test_every_line_of_markdown_fits(root: Path, texts: dict[Path, str]) -> None:
    """Tables, code and quoted output may be wider; everything else wraps."""
    wide = [
        f"{path.relative_to(root)}:{number}"
        for path, text in texts.items()
        if path.suffix == ".md" and "published" not in path.parts  # the output of runs
        for number, line, kind in markdown(text)
        if kind == "text" and len(line) > WIDTH
    ]
    assert wide == []


def test_no_line_of_markdown_splits_a_name_or_begins_with_an_issue(
    root: Path, texts: dict[Path, str]
) -> None:
    """A name cut at a hyphen cannot be copied, and the site shows a line that begins `#12` as a title."""
    found = [
        f"{path.relative_to(root)}:{number}"
        for path, text in texts.items()
        if path.suffix == ".md" and "published" not in path.parts
        for number, line, kind in markdown(text)
        if kind == "text" and (re.match(r"#\d", line) or re.search(r"`[^`]*[-/]$", NAMES.sub("x", line)))
    ]
    assert found == []


@pytest.mark.parametrize("verb", VERBS)
def test_help_is_an_imperative_or_a_noun_phrase(verb: str) -> None:
    command = fencepost.get_command(click.Context(fencepost), verb)
    assert command is not None
    texts = {verb: command.help or ""}
    texts |= {one.opts[0]: one.help or "" for one in command.params if isinstance(one, click.Option)}
    assert {name: text for name, text in texts.items() if not is_help(text)} == {}


def is_help(text: str) -> bool:
    """Whether a help text begins with a verb or a noun, in a sentence with its full stop."""
    return bool(re.match(r"[A-Z]", text)) and text.rstrip().endswith(".") and not NO_IMPERATIVE.match(text)


def test_the_rules_see_what_they_forbid() -> None:
    assert list(banned("# The client is told by nobody.")) != []
    assert list(banned("the field `told` of a report")) == []
    assert [
        kind for _, _, kind in markdown("text\n\n    code\n| a |\n```\nx\n```\n- item\n    - nested")
    ] == [
        *("text", "text", "code", "table", "code", "code", "code", "text", "text"),
    ]
    assert [
        line for _, line in _python('x = "told"\n\n\ndef f():\n    """Told."""\n    return 1  # heard\n')
    ] == [
        '"""Told."""',
        "# heard",
    ]
    assert not is_help("So many runs.")
    assert not is_help("number of runs.")
    assert is_help("Number of runs; each uses the next seed.")
