"""What docker-compose.yml promises, read from the file: no engine is needed to see it broken."""

import json
import re
from typing import Any

import pytest
from ruamel.yaml import YAML

from cluster.docker import images
from cluster.releases import artifacts
from cluster.releases.versions import DEFAULT_VERSION

TEXT = (artifacts.CHECKOUT / "docker-compose.yml").read_text()
SERVICES: dict[str, Any] = YAML(typ="safe").load(TEXT)["services"]
BOOKIES = {name: service for name, service in SERVICES.items() if re.fullmatch(r"b\d", name)}


def test_three_bookies_start_and_two_more_are_asked_for() -> None:
    plain = [name for name, service in SERVICES.items() if "profiles" not in service]
    assert plain == ["zookeeper", "initialise", "b1", "b2", "b3", "proxy"]
    assert [name for name, service in SERVICES.items() if service.get("profiles") == ["five"]] == ["b4", "b5"]


@pytest.mark.parametrize("name", SERVICES)
def test_every_container_has_a_limit_of_memory(name: str) -> None:
    assert "mem_limit" in SERVICES[name]


def test_no_port_of_the_machine_is_fixed() -> None:
    published = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert published == ["127.0.0.1::8474"]


def test_every_bookie_has_a_volume_a_name_and_a_port_of_its_own() -> None:
    for number, (name, service) in enumerate(BOOKIES.items(), start=1):
        assert service["volumes"][1] == f"{name}:/opt/bookkeeper/data"
        assert service["environment"]["NAME"] == name == f"b{number}"
        assert service["environment"]["PORT"] == 3180 + number


def test_the_proxy_stands_for_every_server_among_clients() -> None:
    links = json.loads((images.SOURCES / "proxy" / "fencepost" / "links.json").read_text())
    among_clients = SERVICES["proxy"]["networks"]["clients"]["aliases"]
    for name in ["zookeeper", *BOOKIES]:
        port = 2181 if name == "zookeeper" else BOOKIES[name]["environment"]["PORT"]
        (alias,) = SERVICES[name]["networks"]["servers"]["aliases"]
        assert {"name": f"client-{name}", "listen": f"0.0.0.0:{port}", "upstream": f"{alias}:{port}"} in links
        assert name in among_clients
    assert len(links) == len(among_clients) == len(BOOKIES) + 1
    assert SERVICES["client"]["networks"] == ["clients"]


@pytest.mark.parametrize(
    "image", [images.bookkeeper_image(), images.client_image(), images.proxy_image()], ids=lambda i: i.name
)
def test_the_images_of_this_checkout_are_what_is_used(image: images.Image) -> None:
    repository, _, tag = image.name.partition(":")
    assert f":-{repository}}}:${{" in TEXT
    assert f":-{tag}}}" in TEXT
    assert DEFAULT_VERSION in TEXT


def test_building_reads_the_contexts_that_are_filled() -> None:
    contexts = set(re.findall(r"context: (\S+)", TEXT))
    filled = {images.bookkeeper_image().context, images.proxy_image().context}
    expanded = {context.replace("${BOOKKEEPER_VERSION:-4.18.0}", DEFAULT_VERSION) for context in contexts}
    assert expanded == {str(path.relative_to(artifacts.CHECKOUT)) for path in filled}
