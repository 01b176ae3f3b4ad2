"""``python -m cli.reference`` writes the generated pages into ``docs/``."""

from __future__ import annotations

from cli.reference import PAGES, write_pages

if __name__ == "__main__":
    write_pages(PAGES)
