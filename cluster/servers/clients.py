"""A client or the observer: one process, one conversation per boot."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import replace
from typing import Any

from cluster.client import Conversation, Reply
from cluster.configuration import Layers, client_properties, java_properties
from cluster.interface import Exit, ProcessState
from cluster.servers.jvm import JavaProgram
from cluster.servers.ladder import Rung, ending
from cluster.servers.process import OwnedProcess
from cluster.servers.programs import CLIENT as ROLE
from cluster.servers.runner import Launch, Started
from cluster.servers.site import Site
from evidence.codes import RECORDED
from protocol.errors import ClientError, NotReadyError

MAIN = "fencepost.client.Main"
DIRECT_MEMORY_MB = 256  # many large entries in flight
_EXIT_WAIT_S = 60.0


class ClientProcess(OwnedProcess):
    """One client program by name; its operations go to the run's histories."""

    def __init__(self, name: str, number: int, site: Site) -> None:
        super().__init__(name, site.folder(name), site.runner, site.events)
        self._number = number
        self._site = site
        self._layers = site.spec.client_layers(name)
        self._version = site.spec.version_of(name)
        self._conversation: Conversation | None = None
        self.on_event: Callable[[Reply], None] = lambda _event: None
        """Gets every unasked message (``progress``) on the reader thread."""

    @property
    def number(self) -> int:
        """Its source number, as in ``run.json``."""
        return self._number

    def submit(self, do: str, **parameters: Any) -> Future[Reply]:
        """Send one command; the future raises ``ClientError`` when the process ends before the reply."""
        conversation = self._conversation
        if conversation is None:
            future: Future[Reply] = Future()
            future.set_exception(ClientError(f"{self.name} was never started"))
            return future
        return conversation.submit(do, parameters)

    def call(self, do: str, *, timeout_s: float, **parameters: Any) -> Reply:
        """``submit`` and wait; ``NotReadyError`` when no reply came in time."""
        try:
            return self.submit(do, **parameters).result(timeout_s)
        except FutureTimeoutError as error:
            raise NotReadyError(
                f"{self.name} ({self.state}) did not reply to {do!r} in {timeout_s:g} s; log: {self.log}"
            ) from error

    def stop(self, timeout_s: float = 30) -> Exit:
        """Ask it to quit and return when it is reaped; ``ServerError`` when it is not reaped in time."""
        with self._order:
            if self.state is ProcessState.PAUSED:
                self.resume()
            boot = self._running("be stopped")
            self._ordered.add(boot)
            said = self.submit("quit")
            ended = self._await_exit(boot, timeout_s, "the quit command")
            self.close()
            self._record_slots(boot, said)
            return ended

    def _record_slots(self, boot: int, said: Future[Reply]) -> None:
        """Note how many slots of its history a boot used, as it reported when it quit."""
        if said.exception() is None and (slots := said.result().get("slots")) is not None:
            event = {"server": self.name, "boot": boot, "event": RECORDED, "slots": slots}
            self._site.events.write({**event, "at_ns": time.monotonic_ns()})

    def close(self) -> None:
        """End the conversation, if there is one, and its thread."""
        if self._conversation is not None:
            self._conversation.close()

    def _change(self, conf: Mapping[str, str], version: str | None) -> None:
        layers = self._layers
        self._layers = Layers(layers.base, layers.mode, {**layers.plan, **conf}, layers.user)
        self._version = version or self._version

    def _launch(self, boot: int) -> Launch:
        self.close()
        conf = self.folder / f"boot-{boot}.conf"
        conf.write_text(java_properties(client_properties(self._layers).properties))
        program = JavaProgram(
            MAIN,
            self._version,
            self.folder,
            boot,
            ROLE,
            direct_memory_mb=DIRECT_MEMORY_MB,
            log_to="SYSTEM_ERR",
            heap_mb=self._site.spec.client_heap_mb,
        )
        spec = self._site.spec
        host, port = self._site.zookeeper(self._number)
        arguments = {
            "--name": self.name,
            "--number": str(self._number),
            "--boot": str(boot),
            "--run-id": str(spec.run_id),
            "--history": str(spec.folder.operations.absolute()),
            "--zk": f"{host}:{port}",
            "--conf": str(conf),
            "--record": "off" if self.name in spec.unrecorded else "on",
        }
        flat = [word for pair in arguments.items() for word in pair]
        return replace(self._site.launch(program, flat, source=self._number), converses=True)

    def _begun(self, started: Started) -> None:
        assert started.ends is not None  # noqa: S101 - it was launched with a command channel
        boot = self.boot
        self._conversation = Conversation(
            self.name, *started.ends, explain=lambda: self._explain(boot), heard=self._hear
        )

    def _hear(self, message: Reply) -> None:
        self.on_event(message)

    def _explain(self, boot: int) -> str:
        ended = self.ended(boot, _EXIT_WAIT_S)
        log = self._log_of(boot)
        if ended is None:
            return f"{self.name} (boot {boot}) closed its output but has not ended; log: {log}"
        return f"{self.name} (boot {boot}) ended with {ending(ended, log)}"

    def _rungs(self) -> Sequence[Rung]:
        return (Rung("answering", self._is_ready),)

    def _is_ready(self) -> bool:
        return self._conversation is not None and self._conversation.ready is not None
