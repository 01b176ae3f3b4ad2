"""A running cluster as faults, workloads, conditions and steps see it: its parts by their names."""

from cluster.links import Links, LinkState
from cluster.messages import Way
from cluster.metadata import Metadata
from cluster.processes.process import Process, ProcessState, Refusal, Store
from cluster.processes.runner import Exit, Networks, PacketDirection
from cluster.servers.bookie import Bookie
from cluster.servers.client import Client
from cluster.servers.cluster import Cluster
from cluster.servers.disks import Disk
from cluster.servers.zookeeper import ZooKeeper

__all__ = [
    "Bookie", "Client", "Cluster", "Disk", "Exit", "LinkState", "Links", "Metadata", "Networks",
    "PacketDirection", "Process", "ProcessState", "Refusal", "Store", "Way", "ZooKeeper",
]  # fmt: skip
