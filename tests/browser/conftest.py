"""A headless Chromium that refuses every request beyond the file that it was given, and fails on errors."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

PATIENCE_MS = 180_000


@dataclass
class Opened:
    """A page with what it complained of and what it asked for beyond its own file."""

    page: Page
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    command = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if command is None:
        pytest.skip("no Chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=command, args=["--no-sandbox"], timeout=PATIENCE_MS
        )
        yield chromium
        chromium.close()


@pytest.fixture
def opened(browser: Browser) -> Iterator[Any]:
    contexts = []
    pages: list[Opened] = []

    def open_file(path: Path, *, width: int = 1200, anchor: str = "", **options: Any) -> Opened:
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        one = Opened(context.new_page())
        one.page.on("pageerror", lambda error: one.errors.append(str(error)))
        one.page.on(
            "console", lambda result: one.errors.append(result.text) if result.type == "error" else None
        )
        one.page.on("request", lambda asked: one.requests.append(asked.url))
        pages.append(one)
        one.page.goto(path.as_uri() + anchor)
        return one

    yield open_file
    for context in contexts:
        context.close()
    for one in pages:
        assert one.errors == []
        assert [url for url in one.requests if not url.startswith("file:")] == []
