"""The keeper: one small process that starts and owns every server of a run.

Why it exists: the harness has threads and may be killed at any moment. A parent-death signal
follows the thread that forked, and no signal undoes a mount; so the servers belong to this
single-threaded process, which ends them all when its channel to the harness closes. Mounts are made in
a separate namespace, which the kernel removes when the last process in it is gone.

It is started as ``python -I -S keeper.py CHANNEL_FD EVENTS_FILE`` and may use nothing but the
standard library. It handles processes, sockets and one file, and does not know what a bookie is.

Channel: AF_UNIX SOCK_SEQPACKET, one JSON object a message. Requests carry ``id`` and ``do``, and ``fds``, the
parameters whose values are the descriptors that are sent along, in their order:

``hello``    -> pid; when it answers, the signal handlers are in place
``spawn``    name, boot, argv, env, cwd, log (a path, appended to), stdin and stdout (descriptors)
             -> name, boot, pid
``signal``   name, number -> pid
``lease``    ports, besides (octets that are no good; both optional) -> octet
``undo``     argv -> undo (its number); run at the end, the newest first
``forget``   undo -> run it no more
``mounts``   -> nothing; from here on mounts made by this process and those it starts are theirs alone
``run``      argv, timeout_s -> code, output (the end of its stderr); a command that is waited for
``end``      -> killed, orphans, failed_undos, left, unrecorded (events); the keeper is gone afterwards

Every exit is also an unasked message ``{"event": "exit", ...}``. Starts and exits are appended
to the events file here, so that a killed harness loses none of them.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

MESSAGE_BYTES = 1 << 20
UNDO_TIMEOUT_S = 30
KILL_TIMEOUT_S = 10
SEND_TIMEOUT_S = 60
LEASE_PORT = 8470
OCTETS = 239
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_POLL_MS = 100  # how late a death without a signal is dated at most, but for commands
_CLONE_NEWNS, _MS_REC, _MS_PRIVATE = 0x20000, 0x4000, 0x40000


@dataclass
class Child:
    """A process that was started here and is not reaped yet."""

    name: str
    boot: int
    pid: int
    started_ns: int  # it did not run before
    signalled_ns: int = 0  # when the first signal that ends was sent; 0: none was


@dataclass
class Keeper:
    """All state of the process; one instance, one thread."""

    channel: socket.socket
    events_fd: int
    children: dict[int, Child] = field(default_factory=dict)  # by pid, in order of starting
    undos: dict[int, list[str]] = field(default_factory=dict)
    lease: socket.socket | None = None
    undo_count: int = 0
    alive_ns: int = 0  # when the children were last looked at and none was dead
    unrecorded: int = 0  # events that did not reach the events file whole
    open: bool = True

    def record(self, server: str, boot: int, event: str, **details: object) -> None:
        """Append one line to the events file; a full disk must not stop the killing, but is reported."""
        line = (json.dumps({"server": server, "boot": boot, "event": event, **details}) + "\n").encode()
        try:
            self.unrecorded += os.write(self.events_fd, line) < len(line)
        except OSError as error:
            self.unrecorded += 1
            print(f"keeper: event not recorded: {error}: {line.decode()}", end="", file=sys.stderr)

    def send(self, message: dict[str, object]) -> None:
        """Send to the harness, or notice that it is gone."""
        try:
            self.channel.send(json.dumps(message).encode())
        except OSError:
            self.open = False

    # requests -------------------------------------------------------------------------------

    def hello(self) -> dict[str, object]:
        """The keeper's pid."""
        return {"pid": os.getpid()}

    def spawn(
        self,
        name: str,
        boot: int,
        argv: list[str],
        env: dict[str, str],
        cwd: str,
        log: str,
        stdin: int = subprocess.DEVNULL,
        stdout: int | None = None,
    ) -> dict[str, object]:
        """Start one process in its own session; it dies with this process."""
        log_fd = _append(log)
        try:
            earliest_ns = time.monotonic_ns()
            process = subprocess.Popen(
                argv,
                env=env,
                cwd=cwd,
                stdin=stdin,
                stdout=log_fd if stdout is None else stdout,
                stderr=log_fd,
                start_new_session=True,
                preexec_fn=_in_child(os.getpid()),
            )
        finally:
            os.close(log_fd)
        at_ns = time.monotonic_ns()
        process.returncode = 0  # reaped below by pid; Popen must not wait for it
        self.children[process.pid] = Child(name, boot, process.pid, earliest_ns)
        self.record(name, boot, "started", at_ns=at_ns, earliest_ns=earliest_ns, pid=process.pid)
        return {"name": name, "boot": boot, "pid": process.pid}

    def send_signal(self, name: str, number: int) -> dict[str, object]:
        """Signal a living child; it cannot be reaped meanwhile, so the pid is its own."""
        for child in self.children.values():
            if child.name == name:
                self._signal(child, number)
                return {"pid": child.pid}
        raise ProcessLookupError(f"no process named {name!r} is running")

    def _signal(self, child: Child, number: int) -> None:
        if number in (signal.SIGKILL, signal.SIGTERM) and not child.signalled_ns:
            child.signalled_ns = time.monotonic_ns()
        os.kill(child.pid, number)

    def take_lease(self, ports: Sequence[int] = (), besides: Sequence[int] = ()) -> dict[str, object]:
        """Bind the lease socket of the first free octet; the kernel keeps others out."""
        if self.lease is not None:
            raise ValueError("this keeper holds a lease already")
        reasons = {}
        for octet in (1 + (os.getpid() + i) % OCTETS for i in range(OCTETS)):
            if octet in besides:
                continue
            host = f"127.{octet}.0.254"
            try:
                self.lease = _bind(host, LEASE_PORT)
                for port in ports:
                    _bind(host, port).close()
            except OSError as error:
                reasons[str(error)] = host
                if self.lease is not None:
                    self.lease.close()
                    self.lease = None
                continue
            return {"octet": octet}
        raise OSError("no octet of 127/8 is free: " + "; ".join(reasons))

    def add_undo(self, argv: list[str]) -> dict[str, object]:
        """Remember a command for the end."""
        self.undo_count += 1
        self.undos[self.undo_count] = argv
        return {"undo": self.undo_count}

    def forget_undo(self, undo: int) -> dict[str, object]:
        """Drop a remembered command, because its effect is already undone."""
        self.undos.pop(undo, None)
        return {}

    def own_mounts(self) -> dict[str, object]:
        """Enter a mount namespace of our own, from which nothing is passed on to the machine's."""
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(_CLONE_NEWNS) or libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return {}

    def run_command(self, argv: list[str], timeout_s: float) -> dict[str, object]:
        """Run a short command to its end; no other request is served meanwhile."""
        code, output = _run(argv, timeout_s)
        return {"code": code, "output": output}

    def end(self) -> dict[str, object]:
        """End everything; the reply is the report."""
        self.open = False
        return {**self.end_all(), "unrecorded": self.unrecorded}

    # the end of others ----------------------------------------------------------------------

    def reap(self) -> None:
        """Reap every dead child and report it; adopted orphans are reaped silently."""
        while True:
            looked_ns = time.monotonic_ns()
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                self.alive_ns = looked_ns
                return
            child = self.children.pop(pid, None)
            if child is not None:
                self._tell_exit(child, status)

    def _tell_exit(self, child: Child, status: int) -> None:
        at_ns = time.monotonic_ns()
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        # Nothing is reaped while a command runs, so an unasked death may be older than this.
        earliest_ns = child.signalled_ns or max(self.alive_ns, child.started_ns)
        details = {"code": code, "signal": number, "at_ns": at_ns, "earliest_ns": earliest_ns}
        details["signalled"] = bool(child.signalled_ns)
        self.record(child.name, child.boot, "exit", pid=child.pid, **details)
        self.send({"event": "exit", "name": child.name, "boot": child.boot, "pid": child.pid, **details})

    def end_all(self) -> dict[str, object]:
        """Kill the children, the newest first, then orphans, then run the undos.

        A process may hang in the kernel until an undo frees it (a frozen file system); so no
        wait here is unlimited, and remaining processes are waited for again at the end.
        """
        killed = []
        for child in reversed(list(self.children.values())):
            killed.append(child.name)
            self._signal(child, signal.SIGKILL)
            self._reap_until(partial(self._is_gone, child.pid))
        orphans = self._kill_orphans()
        failed = [number for number in sorted(self.undos, reverse=True) if not self._run_undo(number)]
        self._reap_until(lambda: not children_of(os.getpid()))
        left = [f"{name} ({pid})" for pid, name in children_of(os.getpid())]
        return {"killed": killed, "orphans": orphans, "failed_undos": failed, "left": left}

    def _is_gone(self, pid: int) -> bool:
        return pid not in self.children

    def _reap_until(self, done: Callable[[], bool]) -> None:
        deadline_ns = time.monotonic_ns() + KILL_TIMEOUT_S * 10**9
        self.reap()
        while not done() and time.monotonic_ns() < deadline_ns:
            select.select([], [], [], 0.005)
            self.reap()

    def _kill_orphans(self) -> list[str]:
        names: dict[int, str] = {}

        def kill_more() -> bool:
            living = [(pid, name) for pid, name in children_of(os.getpid()) if pid not in self.children]
            for pid, name in living:
                names[pid] = f"{name} ({pid})"
                os.kill(pid, signal.SIGKILL)
            return not living

        self._reap_until(kill_more)
        return list(names.values())

    def _run_undo(self, number: int) -> bool:
        argv = self.undos.pop(number)
        code, output = _run(argv, UNDO_TIMEOUT_S)
        details = {"argv": argv, "code": code, "output": output, "at_ns": time.monotonic_ns()}
        self.record("keeper", 1, "undo", **details)
        return code == 0

    # the loop -------------------------------------------------------------------------------

    def run(self) -> None:
        """Serve until the harness is gone or says ``end``."""
        wake_read, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _nothing)
        poll = select.poll()
        poll.register(self.channel, select.POLLIN)
        poll.register(wake_read, select.POLLIN)
        harness = os.getppid()
        while self.open:
            ready = dict(poll.poll(_POLL_MS))
            if wake_read in ready:
                os.read(wake_read, 4096)
            self.reap()
            if self.channel.fileno() in ready:
                self._serve()
            elif os.getppid() != harness:  # a fork of the harness may hold the channel open
                self.open = False
        self.end_all()

    def _serve(self) -> None:
        try:
            data, fds, _, _ = socket.recv_fds(self.channel, MESSAGE_BYTES, 4, socket.MSG_CMSG_CLOEXEC)
        except OSError:
            data, fds = b"", []
        if not data:
            self.open = False
            return
        request = json.loads(data)
        number, do = request.pop("id"), request.pop("do")
        request |= zip(request.pop("fds", ()), fds, strict=True)
        try:
            reply = {"ok": True, **_DO[do](self, **request)}
        except Exception as error:  # the harness decides what a refused request means  # noqa: BLE001
            reply = {"ok": False, "error": f"{type(error).__name__}: {error}"}
        finally:
            for fd in fds:
                os.close(fd)
        self.send({"id": number, **reply})


_DO: dict[str, Callable[..., dict[str, object]]] = {
    "hello": Keeper.hello,
    "spawn": Keeper.spawn,
    "signal": Keeper.send_signal,
    "lease": Keeper.take_lease,
    "undo": Keeper.add_undo,
    "forget": Keeper.forget_undo,
    "mounts": Keeper.own_mounts,
    "run": Keeper.run_command,
    "end": Keeper.end,
}


def children_of(parent: int) -> list[tuple[int, str]]:
    """Every child of a process, as (pid, command name), zombies too."""
    found = []
    for entry in os.listdir("/proc"):  # noqa: PTH208 - no pathlib at this start-up
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", "rb") as stat:  # noqa: PTH123
                before, _, after = stat.read().rpartition(b")")
        except OSError:
            continue
        if int(after.split()[1]) == parent:
            found.append((int(entry), before.partition(b"(")[2].decode(errors="replace")))
    return found


def _run(argv: list[str], timeout_s: float) -> tuple[int, str]:
    """Exit code of a command and the end of its standard error; -1 when it did not finish."""
    try:
        done = subprocess.run(argv, timeout=timeout_s, capture_output=True, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError) as error:
        return -1, str(error)
    return done.returncode, done.stderr[-500:].decode(errors="replace")


def _append(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)


def _bind(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), backlog=1)
    except OSError as error:
        raise OSError(error.errno, f"{os.strerror(error.errno or 0)} (port {port})") from None


def _in_child(keeper_pid: int) -> Callable[[], None]:
    libc = ctypes.CDLL(None, use_errno=True)

    def prepare() -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != keeper_pid:  # the keeper died before the line above
            os._exit(127)

    return prepare


def _nothing(_number: int, _frame: object) -> None:
    """A handler that does nothing; unlike SIG_IGN it is not inherited by a started program."""


def main(argv: list[str]) -> int:
    """Entry point; ``argv`` is [program, channel descriptor, events file]."""
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _nothing)
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        print("keeper: cannot become a child subreaper", file=sys.stderr)
        return 1
    events_fd = _append(argv[2])
    channel = socket.socket(fileno=int(argv[1]))
    channel.settimeout(SEND_TIMEOUT_S)
    Keeper(channel, events_fd).run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
