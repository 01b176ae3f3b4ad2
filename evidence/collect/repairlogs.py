"""The messages about audits and repair in logs of autorecovery processes.

Taken from the sources of 4.14.7 to 4.18.0 (``replication/Auditor*.java``, ``ReplicationWorker.java``),
where they begin alike. A finished audit has marked every under-replicated ledger that it found: the auditor
waits for ZooKeeper before it logs the end.
"""

from __future__ import annotations

WORDS: tuple[tuple[str, bytes], ...] = (
    ("component_started", b"Started component autorecovery"),
    ("component_started", b"Started component {component=autorecovery"),
    ("auditor_started", b"I'm starting as Auditor Bookie"),
    ("auditor_ended", b"- Shutting down auditor"),
    ("audit_started", b"Starting auditBookies"),
    ("audit_ended", b"Completed auditBookies"),
    ("audit_delayed", b"Delaying bookie audit"),
    ("audit_skipped", b"Audit already scheduled"),
    ("audit_skipped", b"skipping audit."),
    ("bookies_lost", b"Following are the failed bookies"),
    ("ledgers_check_started", b"Starting checkAllLedgers"),
    ("ledgers_check_ended", b"Completed checkAllLedgers"),
    ("replicas_check_started", b"Starting ReplicasCheck"),
    ("replicas_check_ended", b"Completed ReplicasCheck"),
    ("placement_check_started", b"Starting PlacementPolicyCheck"),
    ("placement_check_ended", b"Completed placementPolicyCheck"),
    ("ledger_replicated", b"Ledger replicated successfully"),
    ("replication_failed", b"failed while replicating fragments"),
)
"""Event of the table ``servers`` and the words of its line; the first that fit count."""

COUNTS: dict[bytes, str] = {
    b"NoReplicaOfAnEntry": "no_copy",
    b"LessThanAQReplicasOfAnEntry": "below_ack_quorum",
    b"LessThanWQReplicasOfAnEntry": "below_write_quorum",
}
"""What a check of replicas counted: the ends of its names in the line, and those in the event's detail."""
