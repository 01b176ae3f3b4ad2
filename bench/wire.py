"""What the links cost: one client's adds directly to the bookies, and through the proxy.

Three clusters alike stand side by side, one without links, one whose links understand messages and
keep the wire log, as every run has them, and one with plain links for comparison. The same work goes to
them in turns: 1 KiB entries, E3 WQ3 AQ2, unprotected mode (no journal), 1,000 adds outstanding. Where
all processors are busy, throughput goes with the processor time of one add over all processes, and
that time a busy machine disturbs less; so both are printed.
"""

from __future__ import annotations

import os
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench.turns import BOOKIE_CONF, HEAP_MB, OUTSTANDING, PATIENCE_S, turn
from cluster.local.backend import LocalBackend
from cluster.servers.cluster import RunningCluster
from cluster.servers.process import OwnedProcess
from cluster.servers.settings import RunSpec
from cluster.toxiproxy import Rest
from evidence.folder import RunFolder
from protocol.addresses import PROXY, is_bookie, link_name
from protocol.modes import MODES

PROTOCOLS: Mapping[str, str] = {"V3": "false", "V2": "true"}
WAYS = ("direct", "links", "plain links")
_CLIENT = "writer"
_TOXICS = ("bookkeeper-requests", "bookkeeper-answers")
_REST_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class Turn:
    """What one turn took: adds a second, and processor time in µs for each add, of all and of the proxy."""

    rate: float
    total_us: float
    proxy_us: float


def wire_bench(rounds: int, entries: int, protocols: Sequence[str]) -> Iterator[str]:
    """Lines of the table; the last of each protocol say the ratios to the direct client."""
    for protocol in protocols:
        yield from _protocol_bench(protocol, rounds, entries)


def _protocol_bench(protocol: str, rounds: int, entries: int) -> Iterator[str]:
    turns: dict[str, list[Turn]] = {way: [] for way in WAYS}
    with ExitStack() as stack:
        clusters = {way: _open(stack, way, protocol) for way in WAYS}
        for cluster in clusters.values():
            _measured(cluster, "warm", entries)
        for number in range(1, rounds + 1):
            # Every second round backwards, so that no one always follows the same other.
            for way in WAYS[:: 1 if number % 2 else -1]:
                turns[way].append(_measured(clusters[way], f"h{number}", entries))
            yield f"{protocol} round {number}: " + ", ".join(
                f"{way} {turns[way][-1].rate:,.0f}/s {turns[way][-1].total_us:.0f} µs" for way in WAYS
            )
    for way in WAYS:
        yield f"{protocol} {way:12} " + _described(turns[way])
    for way in WAYS[1:]:
        rates = _ratios([turn.rate for turn in turns[way]], [turn.rate for turn in turns[WAYS[0]]])
        costs = _ratios([turn.total_us for turn in turns[WAYS[0]]], [turn.total_us for turn in turns[way]])
        yield f"{protocol} {way} / direct: adds/s {rates}; by processor time {costs}"


def _open(stack: ExitStack, way: str, protocol: str) -> RunningCluster:
    place = stack.enter_context(tempfile.TemporaryDirectory(prefix="fencepost-bench-"))
    spec = RunSpec(
        RunFolder.create(Path(place), "unprotected"),
        MODES["unprotected"],
        clients=(_CLIENT,),
        bookie_conf=BOOKIE_CONF,
        client_conf={
            "addEntryTimeoutSec": str(PATIENCE_S),
            "delayEnsembleChange": "true",
            "useV2WireProtocol": PROTOCOLS[protocol],
        },
        client_heap_mb=HEAP_MB,
        linked=way != "direct",
        logged=way == "links",
        observed=False,
    )
    cluster = stack.enter_context(LocalBackend(spec).open())
    if way == "plain links":
        _make_plain(cluster)
    return cluster


def _make_plain(cluster: RunningCluster) -> None:
    """Take the toxic off every link to a bookie; only links that were never anything else cost less."""
    rest = Rest(cluster.addresses.proxy, _REST_TIMEOUT_S)
    for source, destination in cluster.links.pairs():
        if is_bookie(destination):
            for toxic in _TOXICS:
                rest.delete(f"/proxies/{link_name(source, destination)}/toxics/{toxic}")


def _measured(cluster: RunningCluster, handle: str, entries: int) -> Turn:
    """One ledger full of adds, with what the cluster's processes used meanwhile."""
    before = _processor_s(cluster)
    rate = turn(cluster, _CLIENT, handle, entries, OUTSTANDING)
    used = {name: after - before[name] for name, after in _processor_s(cluster).items()}
    per_add = 1e6 / entries
    return Turn(rate, sum(used.values()) * per_add, used.get(PROXY, 0.0) * per_add)


def _processor_s(cluster: RunningCluster) -> dict[str, float]:
    """Processor time that each process has used since its start (proc(5), utime and stime), in seconds."""
    names = [cluster.zookeeper.name, *cluster.bookies, *cluster.clients]
    if cluster.links.pairs():
        names.append(PROXY)
    used: dict[str, float] = {}
    for name in names:
        process = cluster.process(name)
        assert isinstance(process, OwnedProcess)  # noqa: S101 - a local cluster's processes are
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        used[name] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return used


def _described(turns: Sequence[Turn]) -> str:
    rates = [one.rate for one in turns]
    return (
        f"median {statistics.median(rates):,.0f} adds/s ({min(rates):,.0f} to {max(rates):,.0f}), "
        f"{statistics.median(one.total_us for one in turns):.1f} µs an add, "
        f"{statistics.median(one.proxy_us for one in turns):.1f} µs of them the proxy's"
    )


def _ratios(these: Sequence[float], those: Sequence[float]) -> str:
    ratios = [one / other for one, other in zip(these, those, strict=True)]
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
