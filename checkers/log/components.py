"""Strongly connected components of the transactions' graph, and the small graph that is left of it.

Source: SciPy's ``connected_components`` (Pearce, *An Improved Algorithm for Finding the Strongly Connected
Components of a Directed Graph*, 2005), linear in nodes and edges. A cycle lies within one component.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from checkers.log.edges import Edge, Edges
from evidence.exchange.transactions import Ints

Mask = NDArray[np.bool_]


def components(nodes: int, source: Ints, target: Ints) -> Ints:
    """The component of each node, shape (nodes,)."""
    # Here, because SciPy takes 0.4 s to import and most runs have no log.
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    graph = csr_array((np.ones(len(source)), (source, target)), shape=(nodes, nodes))
    label: Ints = connected_components(graph, connection="strong")[1]
    return label


def apart(source: Ints, target: Ints, inner: Mask, rw: Mask, nodes: int) -> tuple[Ints, Ints, Ints]:
    """A graph of twice the nodes, in which no way takes two rw edges in a row.

    Nodes of the second layer, numbered from ``nodes`` on, were reached over an rw edge, and are left over
    another one. An rw edge from an inner node (``inner``) continues the edge that led there. Returns sources,
    targets, and the position of the edge that each comes from.
    """
    plain, into, within = np.flatnonzero(~rw), np.flatnonzero(rw & ~inner), np.flatnonzero(rw & inner)
    return (
        np.concatenate((source[plain], source[plain] + nodes, source[into], source[within] + nodes)),
        np.concatenate((target[plain], target[plain], target[into] + nodes, target[within] + nodes)),
        np.concatenate((plain, plain, into, within)),
    )


@dataclass(frozen=True, eq=False)
class Knots:
    """What can have cycles: the components with two transactions or more, renumbered.

    ``edges`` join nodes of one component; ``rows`` are the transactions behind the first nodes, ascending.
    """

    edges: Edges
    rows: Ints


@dataclass(frozen=True, eq=False)
class Part:
    """One component of a class's own edges: its ``nodes``, ascending, and the positions of its ``edges``."""

    nodes: Ints
    edges: Ints


def knots(edges: Edges) -> Knots:
    """Reduce the graph to its components with two transactions or more."""
    label = components(edges.nodes, edges.source, edges.target)
    keep = _crowded(label, edges.transactions)[label]
    number = np.cumsum(keep) - 1
    inside = keep[edges.source] & (label[edges.source] == label[edges.target])
    chosen = edges.only(inside)
    rows = np.flatnonzero(keep[: edges.transactions])
    return Knots(
        Edges(
            len(rows),
            int(keep.sum()),
            number[chosen.source],
            number[chosen.target],
            chosen.label,
            chosen.key,
        ),
        rows,
    )


def parts(edges: Edges, labels: Edge) -> tuple[Ints, Iterator[tuple[int, Part]]]:
    """The component of each node over these labels, and the components with two transactions or more.

    In the order of their first transactions.
    """
    chosen = np.flatnonzero((edges.label & labels) != 0)
    source, target = edges.source[chosen], edges.target[chosen]
    label = components(edges.nodes, source, target)
    crowded = _crowded(label, edges.transactions)
    inside = crowded[label[source]] & (label[source] == label[target])
    return label, _each(edges, label, crowded, chosen[inside])


def _each(edges: Edges, label: Ints, crowded: NDArray[np.bool_], chosen: Ints) -> Iterator[tuple[int, Part]]:
    nodes = np.flatnonzero(crowded[label])
    nodes = nodes[np.argsort(label[nodes], kind="stable")]
    chosen = chosen[np.argsort(label[edges.source[chosen]], kind="stable")]
    of_node, of_edge = label[nodes], label[edges.source[chosen]]
    wanted, first = np.unique(of_node, return_index=True)
    for component in wanted[np.argsort(nodes[first], kind="stable")]:
        own_nodes = slice(*np.searchsorted(of_node, (component, component + 1)))
        own_edges = slice(*np.searchsorted(of_edge, (component, component + 1)))
        yield int(component), Part(nodes[own_nodes], chosen[own_edges])


def _crowded(label: Ints, transactions: int) -> NDArray[np.bool_]:
    """Which components have two transactions or more."""
    number = int(label.max()) + 1 if len(label) else 0
    return np.bincount(label[:transactions], minlength=number) >= 2
