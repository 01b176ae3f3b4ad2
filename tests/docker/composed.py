"""A cluster started by hand: `docker compose` in the checkout, with a separate project name."""

from __future__ import annotations

import json
import os
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster.servers.client import Conversation

CHECKOUT = Path(__file__).parents[2]
TIMEOUT_S = 240
KINDS = {
    "container": ("ps", "--all", "--quiet"),
    "network": ("network", "ls", "-q"),
    "volume": ("volume", "ls", "-q"),
}


@dataclass(frozen=True)
class Composed:
    """One project of docker-compose.yml; ``variables`` are what a user would export."""

    project: str
    variables: dict[str, str]

    def __call__(self, *words: str) -> str:
        """``docker compose`` with these words; its standard output."""
        argv = ["docker", "compose", "--project-name", self.project, *words]
        done = subprocess.run(
            argv, cwd=CHECKOUT, env=os.environ | self.variables, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{' '.join(argv)}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def up(self, *options: str) -> None:
        """Start what is not there yet, until all is healthy."""
        self(*options, "up", "--detach", "--wait")

    def shell(self, *words: str) -> str:
        """What BookKeeper's own shell says, as a client."""
        done = subprocess.run(
            [*self._as_client(), "shell", *words], cwd=CHECKOUT, env=os.environ | self.variables,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=TIMEOUT_S, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout
        return done.stdout

    def _as_client(self) -> list[str]:
        """The command line that runs a container instead of a client; arguments follow."""
        order = ("run", "--rm", "--no-deps", "-T", "client")
        return ["docker", "compose", "--project-name", self.project, *order]

    def states(self) -> dict[str, tuple[str, str]]:
        """For each service the id of its container and ``healthy``, or what it is otherwise."""
        lines = self("ps", "--all", "--format", "json").splitlines()
        found = [json.loads(line) for line in lines]
        return {one["Service"]: (one["ID"], one["Health"] or one["State"]) for one in found}

    def link(self, name: str, *, enabled: bool) -> None:
        """Cut a link of the proxy, or put it back."""
        address = self("port", "proxy", "8474").strip()
        body = json.dumps({"enabled": enabled}).encode()
        request = urllib.request.Request(
            f"http://{address}/proxies/{name}", body, {"User-Agent": "fencepost"}
        )
        urllib.request.urlopen(request, timeout=10).close()

    @contextmanager
    def client(self) -> Iterator[Any]:
        """Fencepost's client in its container, as a function: ``ask("append", handle="h", entries=10)``."""
        theirs_in, ours_out = os.pipe2(os.O_CLOEXEC)
        ours_in, theirs_out = os.pipe2(os.O_CLOEXEC)
        process = subprocess.Popen(
            self._as_client(),
            cwd=CHECKOUT,
            env=os.environ | self.variables,
            stdin=theirs_in,
            stdout=theirs_out,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        conversation = Conversation("client", ours_out, ours_in, explain=lambda: "the client ended")
        try:
            yield lambda do, **parameters: conversation.submit(do, parameters).result(TIMEOUT_S)
            conversation.submit("quit", {}).result(TIMEOUT_S)
        finally:
            conversation.close()
            process.wait(TIMEOUT_S)

    def left(self) -> dict[str, list[str]]:
        """What the engine still has of this project, by kind."""
        label = f"label=com.docker.compose.project={self.project}"
        return {kind: _lines("docker", *words, "--filter", label) for kind, words in KINDS.items()}


@contextmanager
def composed(name: str, **variables: str) -> Iterator[Composed]:
    """A project with nothing started; afterwards it is taken down, and nothing may be left of it."""
    one = Composed(f"fencepost-test-{name}-{os.getpid()}", variables)
    try:
        yield one
    finally:
        one("--profile", "*", "down", "--volumes", "--remove-orphans")
        assert one.left() == {kind: [] for kind in KINDS}


def _lines(*argv: str) -> list[str]:
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()
