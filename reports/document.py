"""Templates, and one self-contained HTML document of a template, which loads nothing.

Styles, scripts and data are inside. Every value in a template of HTML is escaped. The document's content
security policy forbids every request, and every script that is not listed by its checksum, so that even text
that was not escaped could do nothing. Independent of runs.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from reports.text import plain, rounded

ASSETS = Path(__file__).resolve().parent / "assets"
TEMPLATES = Path(__file__).resolve().parent / "templates"
CHARTS = ("uplot/uPlot.iife.min.js", "uplot/uPlot.min.css")
"""uPlot, MIT licence (its text is beside it); ``scripts/lock uplot`` brings it, its sums are locked."""


def document(
    template: str, title: str, *, styles: Sequence[str], scripts: Sequence[str] = (), **values: object
) -> str:
    """The whole document; ``styles`` and ``scripts`` are files in ``assets``, in this order."""
    codes = [_asset(name) for name in scripts]
    policy = [
        "default-src 'none'",
        "style-src 'unsafe-inline'",
        f"script-src {' '.join(map(_sum, codes)) or repr('none')}",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    texts = {"styles": [_asset(name) for name in styles], "scripts": codes, "policy": "; ".join(policy)}
    return str(render(template, title=title, **texts, **values))


def render(template: str, /, **values: object) -> Markup:
    """A file in ``templates`` with its values, which only HTML escapes."""
    return Markup(_environment().get_template(template).render(values))  # noqa: S704  # escaped by Jinja


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=select_autoescape(),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": "{:,}".format, "plain": plain, "rounded": rounded}
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    return environment


def _asset(name: str) -> str:
    """A file's text; ours holds no ``</script`` and no ``</style``, which a test checks."""
    return (ASSETS / name).read_text(encoding="utf-8")


def _sum(code: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}'"
