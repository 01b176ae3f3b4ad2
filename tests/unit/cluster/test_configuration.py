"""Layers of settings: who wins, what a run owns, and what of the user's file gave way."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cluster.configuration import (
    BOOKIE_BASE,
    Effective,
    Layers,
    bookie_properties,
    client_properties,
    direct_memory_mb,
    java_properties,
    parse_properties,
    quorum_properties,
    zookeeper_properties,
)
from protocol.errors import UsageError
from protocol.modes import MODES

PLAN = {"flushInterval": "100"}


def effective(version: str = "4.18.0", plan: Mapping[str, str] = PLAN, **user: str) -> Effective:
    layers = Layers(BOOKIE_BASE, MODES["protected"].bookie, plan, user)
    zookeeper = ("127.9.2.201", 2181)
    return bookie_properties("b2", layers, folder="/run/b2/data", zookeeper=zookeeper, version=version)


def test_later_layers_win() -> None:
    assert effective().properties["flushInterval"] == "100"
    assert effective(flushInterval="7").properties["flushInterval"] == "7"
    assert effective(journalWriteData="true").properties["journalWriteData"] == "true"
    assert effective().properties["dataIntegrityChecking"] == "true"


def test_a_bookie_is_known_by_its_name_and_reaches_zookeeper_by_its_own_link() -> None:
    properties = effective().properties
    assert properties["bookieId"] == "b2:3181"
    assert properties["advertisedAddress"] == "b2"
    assert properties["metadataServiceUri"] == "zk+hierarchical://127.9.2.201:2181/ledgers"
    assert properties["ledgerDirectories"] == "/run/b2/data/ledgers"


def test_a_plan_may_start_a_bookie_under_another_id_or_address_and_give_its_index_a_directory() -> None:
    plan = {"bookieId": "b9:3181", "advertisedAddress": "at-b1", "indexDirectories": "index"}
    result = effective(plan=plan, indexDirectories="/mine")
    assert result.properties["bookieId"] == "b9:3181"
    assert result.properties["advertisedAddress"] == "at-b1"
    assert result.properties["indexDirectories"] == "/run/b2/data/index"
    assert "indexDirectories" not in effective(indexDirectories="/mine").properties


def test_what_the_run_owns_is_reported_with_both_values() -> None:
    result = effective(bookiePort="4000", ledgerDirectories="/a,/b", gcWaitTime="1000", zkServers="z:1")
    assert list(result.overridden.items()) == [
        ("bookiePort", {"theirs": "4000", "ours": "3181"}),
        ("ledgerDirectories", {"theirs": "/a,/b", "ours": "/run/b2/data/ledgers"}),
        ("zkServers", {"theirs": "z:1", "ours": ""}),
    ]
    assert "zkServers" not in result.properties
    assert result.properties["gcWaitTime"] == "1000"


def test_sizes_of_a_big_machine_are_cut_and_small_ones_kept() -> None:
    result = effective(dbStorage_writeCacheMaxSizeMb="8192", dbStorage_readAheadCacheMaxSizeMb="2")
    assert result.overridden == {"dbStorage_writeCacheMaxSizeMb": {"theirs": "8192", "ours": "512"}}
    assert direct_memory_mb(result.properties) == 512 + 2 + 64


def test_with_the_smallest_caches_each_read_thread_has_room_for_a_reader_of_direct_io() -> None:
    smallest = {"dbStorage_writeCacheMaxSizeMb": "1", "dbStorage_readAheadCacheMaxSizeMb": "1"}
    properties = effective(plan=smallest).properties
    buffers_mb = direct_memory_mb(properties) // 8
    share_mb = buffers_mb / int(properties["numReadWorkerThreads"])
    assert share_mb >= int(properties["dbStorage_directIOEntryLoggerReadBufferSizeMB"])


def test_a_threshold_of_the_users_is_not_contradicted_by_the_base() -> None:
    assert effective().properties["diskUsageWarnThreshold"] == "0.98"
    assert "diskUsageWarnThreshold" not in effective(diskUsageThreshold="0.9").properties


@pytest.mark.parametrize(("version", "needed"), [("4.15.0", True), ("4.15.1", True), ("4.15.4", False)])
def test_two_releases_are_given_the_file_they_insist_on(version: str, needed: bool) -> None:
    assert ("defaultRocksdbConf" in effective(version).properties) is needed


def test_a_client_has_no_metadata_uri_of_the_users() -> None:
    result = client_properties(Layers({}, {}, {}, {"metadataServiceUri": "zk://prod", "readTimeout": "3"}))
    assert result.properties == {"readTimeout": "3"}
    assert result.overridden == {"metadataServiceUri": {"theirs": "zk://prod", "ours": ""}}


def test_zookeeper_writes_its_log_where_evidence_is_read() -> None:
    properties = zookeeper_properties(folder="/run/zk1", address=("127.9.0.201", 2181))
    assert properties["dataDir"] == "/run/zk1/data"
    assert properties["clientPortAddress"] == "127.9.0.201"


def test_a_server_of_zookeeper_that_follows_has_no_vote() -> None:
    leader = quorum_properties("127.9.0.201", "127.9.0.202", votes=True)
    follower = quorum_properties("127.9.202.201", "127.9.0.202", votes=False)
    assert (leader.get("peerType"), follower["peerType"]) == (None, "observer")
    assert leader["server.2"] == follower["server.2"] == "127.9.0.202:2888:3888:observer"
    assert follower["server.1"] == "127.9.202.201:2888:3888"


@pytest.mark.parametrize("planned", [{}, {"gcEntryLogMetadataCachePath": "${ledgerDirectories}/../cache"}])
def test_a_path_of_the_users_machine_is_left_out_and_reported(planned: dict[str, str]) -> None:
    theirs = {
        "gcEntryLogMetadataCachePath": "/mnt/theirs",
        "dbStorage_rocksDB_logPath": "/var/log/theirs",
        "entryLocationRocksdbConf": "conf/theirs.conf",
        "networkTopologyScriptFileName": "/opt/theirs.sh",
    }
    found = effective(plan=planned, **theirs)
    assert found.overridden == {
        key: {"theirs": value, "ours": planned.get(key, "")} for key, value in theirs.items()
    }
    assert {key: found.properties[key] for key in theirs.keys() & found.properties.keys()} == planned
    script = {"networkTopologyScriptFileName": "/run/racks.sh"}
    client = client_properties(Layers({}, {}, script, theirs))
    assert client.properties == script


def test_java_property_syntax() -> None:
    text = (
        "# comment = no\n"
        "! another\n"
        "\n"
        "plain=1\n"
        "  spaced  =  two words  \n"
        "colon: 3\n"
        "blank 4\n"
        "empty=\n"
        "alone\n"
        "long = a,\\\n"
        "       b\n"
        "escaped\\ key\\==v\\u0041\\\\\n"
        "comment\\\n"
        "# not=one\n"
        "plain=last\n"
    )
    assert parse_properties(text, source="x.conf") == {
        "plain": "last",
        "spaced": "two words",
        "colon": "3",
        "blank": "4",
        "empty": "",
        "alone": "",
        "long": "a,b",
        "escaped key=": "vA\\",
        "comment#": "not=one",
    }


def test_written_properties_are_read_back() -> None:
    properties = {"path": "C:\\x", "pattern": "a=b:c", "n": "1"}
    assert parse_properties(java_properties(properties), source="x") == properties


def test_a_line_without_a_key_is_named() -> None:
    with pytest.raises(UsageError, match=r"my\.conf, line 2: no key in '=5'"):
        parse_properties("a=1\n=5\n", source="my.conf")


def test_a_plan_names_directories_in_their_order() -> None:
    plan = {"ledgerDirectories": "more,ledgers", "journalDirectories": "journal,journal2"}
    found = effective(plan=plan, ledgerDirectories="/mnt/theirs")
    assert found.properties["ledgerDirectories"] == "/run/b2/data/more,/run/b2/data/ledgers"
    assert [one["theirs"] for one in found.overridden.values()] == ["/mnt/theirs"]
    assert found.properties["journalDirectories"] == "/run/b2/data/journal,/run/b2/data/journal2"
