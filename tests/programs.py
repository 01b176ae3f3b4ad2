"""Programs that a test runs instead of real ones."""

from pathlib import Path


def program(path: Path, script: str) -> Path:
    """Makes ``path`` a program that runs ``script``, lines of shell; its folder is made if there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path
