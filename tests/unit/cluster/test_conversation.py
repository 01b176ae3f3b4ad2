"""Commands and replies, against a tiny stand-in for the client program."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from cluster.servers.client import Conversation
from cluster.waiting import wait_until
from protocol.errors import ClientError

STAND_IN = textwrap.dedent("""
    import json, sys
    def say(**message):
        print(json.dumps(message), flush=True)
    say(event="ready", version="0")
    print("a library that prints", flush=True)
    held = []
    for line in sys.stdin:
        command = json.loads(line)
        do, number = command["do"], command["id"]
        if do == "echo":
            say(id=number, ok=True, text=command["text"])
        elif do == "refuse":
            say(id=number, ok=False, error="LedgerFenced", code=-101)
        elif do == "hold":
            held.append(number)
            say(id=number, event="progress", done=len(held))
        elif do == "release":
            for number in reversed(held):
                say(id=number, ok=True, text=str(number))
            say(id=command["id"], ok=True)
        elif do == "die":
            sys.exit(3)
""")


class StandIn:
    """A conversation with the stand-in, and what it said unasked."""

    def __init__(self) -> None:
        commands_out, commands = os.pipe()
        replies, replies_in = os.pipe()
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", STAND_IN], stdin=commands_out, stdout=replies_in
        )
        os.close(commands_out)
        os.close(replies_in)
        self.talk = Conversation("writer", commands, replies, explain=self._explain)
        wait_until(lambda: (self.talk.ready, "not ready"), 10, "the client")

    def _explain(self) -> str:
        return f"writer ended with exit code {self.process.wait()}"

    def say(self, do: str, **parameters: Any) -> Any:
        return self.talk.submit(do, parameters)


@pytest.fixture
def client() -> Iterator[StandIn]:
    stand_in = StandIn()
    yield stand_in
    stand_in.talk.close()
    stand_in.process.wait()


def test_a_reply_belongs_to_its_command_in_whatever_order(client: StandIn) -> None:
    first, second = client.say("hold"), client.say("hold")
    assert not first.done()
    client.say("release").result(10)
    assert first.result(10)["text"] == "1"
    assert second.result(10)["text"] == "2"


def test_a_refusal_is_a_reply(client: StandIn) -> None:
    assert client.say("refuse").result(10) == {"id": 1, "ok": False, "error": "LedgerFenced", "code": -101}


def test_events_and_stray_lines_are_no_replies(client: StandIn) -> None:
    held = client.say("hold")
    assert client.say("release").result(10)["ok"]
    assert held.result(10)["text"] == "1"


def test_a_death_fails_every_waiting_and_later_command(client: StandIn) -> None:
    waiting = client.say("hold")
    client.say("die")
    with pytest.raises(ClientError, match="writer ended with exit code 3"):
        waiting.result(10)
    with pytest.raises(ClientError, match="exit code 3"):
        client.say("echo", text="x").result(10)


def test_many_threads_may_speak_at_once(client: StandIn) -> None:
    texts = [f"{i}" * 3000 for i in range(40)]
    with ThreadPoolExecutor(len(texts)) as pool:
        futures = list(pool.map(lambda text: client.say("echo", text=text), texts))
    assert [future.result(10)["text"] for future in futures] == texts


def test_closing_ends_the_client_and_the_reader(client: StandIn) -> None:
    client.talk.close()
    assert client.process.wait(10) == 0
    assert not [thread for thread in threading.enumerate() if thread.name == "replies-writer"]
