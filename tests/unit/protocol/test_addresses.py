"""Addresses of a run on bridges: in its own network a source finds the links to others, and itself."""

import ipaddress

from protocol.addresses import AddressPlan, BridgedPlan


def test_a_link_is_the_proxys_in_the_network_of_its_source() -> None:
    plan = BridgedPlan(9)
    assert plan.link(101, "b2") == ("10.9.101.2", 3181)
    assert plan.link(2, "zk1") == ("10.9.2.201", 2181)
    assert plan.proxy == ("10.9.201.252", 8474)
    assert plan.network(2) == "10.9.2.0/24"


def test_a_server_has_the_address_that_would_be_its_link_to_itself() -> None:
    plan = BridgedPlan(9)
    assert plan.direct("b2") == plan.link(0, "b2") == ("10.9.2.2", 3181)
    assert plan.direct("zk1") == ("10.9.201.201", 2181)
    assert plan.direct("b2")[0] == plan.own(2)


def test_nobody_in_a_network_has_the_address_of_another() -> None:
    plan = BridgedPlan(239)
    servers = ["zk1", *(f"b{number}" for number in range(1, 100))]
    for number in (1, 99, 101, 199, 201, 221, 240, 250):
        links = {plan.link(number, name)[0] for name in servers} - {plan.own(number)}
        taken = [*links, plan.own(number), plan.proxy_in(number), plan.gateway(number)]
        assert len(taken) == len(set(taken))
        assert all(ipaddress.ip_address(one) in ipaddress.ip_network(plan.network(number)) for one in taken)


def test_plain_processes_stay_on_loopback() -> None:
    assert AddressPlan(9).link(101, "b2") == ("127.9.101.2", 3181)
    assert AddressPlan(9).direct("zk1") == ("127.9.0.201", 2181)


def test_a_server_that_follows_zookeeper_reaches_it_through_its_own_link() -> None:
    assert AddressPlan(9).direct("zk2") == ("127.9.0.202", 2181)
    assert AddressPlan(9).following == "127.9.202.201"
