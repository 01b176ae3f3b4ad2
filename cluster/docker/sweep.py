"""The removal of everything that carries a label, when the harness is gone.

Started by the keeper as ``python -m cluster.docker.sweep LABEL``.
"""

from __future__ import annotations

import sys
from contextlib import closing

from cluster.docker.engine import Engine
from protocol.errors import FencepostError


def main(label: str) -> int:
    """Remove it all; the exit code."""
    try:
        with closing(Engine()) as engine:
            engine.sweep(label)
    except FencepostError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
