"""One self-contained HTML document: styles, scripts and data are inside, and it loads nothing.

Its content security policy forbids every request, and every script that is not listed by its checksum, so
that even text that was not escaped could do nothing. Independent of runs.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path

from reports.markup import Markup, el, join

ASSETS = Path(__file__).resolve().parent / "assets"
CHARTS = ("uplot/uPlot.iife.min.js", "uplot/uPlot.min.css")
"""uPlot, MIT licence (its text is beside it); ``scripts/lock uplot`` brings it, its sums are locked."""


def document(title: str, body: Markup, *, styles: Sequence[str], scripts: Sequence[str]) -> str:
    """The whole document; ``styles`` and ``scripts`` are files in ``assets``, in this order."""
    codes = [_asset(name) for name in scripts]
    policy = "; ".join(
        [
            "default-src 'none'",
            "style-src 'unsafe-inline'",
            f"script-src {' '.join(_sum(code) for code in codes) or repr('none')}",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=policy),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("title", title),
        [el("style", Markup(_asset(name))) for name in styles],
    )
    ends = [el("script", Markup(code)) for code in codes]
    return "<!doctype html>\n" + el("html", head, el("body", join(body, ends)), lang="en") + "\n"


def _asset(name: str) -> str:
    """A file's text; ours holds no ``</script`` and no ``</style``, which a test checks."""
    return (ASSETS / name).read_text(encoding="utf-8")


def _sum(code: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}'"
