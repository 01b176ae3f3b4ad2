"""What the links cost: one client's adds directly to the bookies, and through the proxy.

Three clusters alike stand side by side, one without links, one whose links understand messages and
keep the wire log, as every run has them, and one with plain links for comparison. The same work goes to
them in turns, in unprotected mode (no journal), with 1,000 adds outstanding. Where all processors are busy,
throughput goes with the processor time of one add over all processes, and that time a busy machine disturbs
less; so both are printed.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from bench.turns import CLIENT_CONF, in_turns, opened, process, ratios, spec, spread, turn
from cluster.servers.cluster import Cluster
from cluster.toxiproxy import Rest
from protocol.addresses import PROXY, is_bookie, link_name

PROTOCOLS: Mapping[str, str] = {"V3": "false", "V2": "true"}
WAYS = ("direct", "links", "plain links")
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
        for number, order in in_turns(WAYS, rounds):
            for way in order:
                turns[way].append(_measured(clusters[way], f"h{number}", entries))
            yield f"{protocol} round {number}: " + ", ".join(
                f"{way} {turns[way][-1].rate:,.0f}/s {turns[way][-1].total_us:.0f} µs" for way in WAYS
            )
    rates = {way: [one.rate for one in turns[way]] for way in WAYS}
    costs = {way: [one.total_us for one in turns[way]] for way in WAYS}
    for way in WAYS:
        proxy_us = statistics.median(one.proxy_us for one in turns[way])
        yield (
            f"{protocol} {way:12} median {spread(rates[way], ',.0f').replace(' (', ' adds/s (')}, "
            f"{statistics.median(costs[way]):.1f} µs an add, {proxy_us:.1f} µs of them the proxy's"
        )
    direct = WAYS[0]
    for way in WAYS[1:]:
        rate, cost = ratios(rates[way], rates[direct]), ratios(costs[direct], costs[way])
        yield f"{protocol} {way} / direct: adds/s {rate}; by processor time {cost}"


def _open(stack: ExitStack, way: str, protocol: str) -> Cluster:
    conf = {**CLIENT_CONF, "useV2WireProtocol": PROTOCOLS[protocol]}
    wanted = replace(spec("unprotected"), client_conf=conf, linked=way != "direct", logged=way == "links")
    cluster = stack.enter_context(opened(wanted))
    if way == "plain links":
        _make_plain(cluster)
    return cluster


def _make_plain(cluster: Cluster) -> None:
    """Take the toxic off every link to a bookie; only links that were never anything else cost less."""
    rest = Rest(cluster.site.addresses.proxy, _REST_TIMEOUT_S)
    for source, destination in cluster.links.pairs():
        if is_bookie(destination):
            for toxic in _TOXICS:
                rest.call("DELETE", f"/proxies/{link_name(source, destination)}/toxics/{toxic}")


def _measured(cluster: Cluster, handle: str, entries: int) -> Turn:
    """One ledger full of adds, with what the cluster's processes used meanwhile."""
    before = _processor_s(cluster)
    rate = turn(cluster, handle, entries)
    used = {name: after - before[name] for name, after in _processor_s(cluster).items()}
    per_add = 1e6 / entries
    return Turn(rate, sum(used.values()) * per_add, used.get(PROXY, 0.0) * per_add)


def _processor_s(cluster: Cluster) -> dict[str, float]:
    """Processor time that each process has used since its start, in seconds."""
    proxy = [PROXY] if cluster.links.pairs() else []
    names = (cluster.zookeeper.name, *cluster.bookies, *cluster.clients, *proxy)
    times = {name: process(cluster, name).cpu_times() for name in names}
    return {name: used.user + used.system for name, used in times.items()}
