"""The client's jar is built without a JDK: errors come in the compiler's words."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

import client_jar
import pytest

from cluster.releases.artifacts import CHECKOUT
from protocol.errors import FencepostError


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The client's jar, built elsewhere than in the checkout, as the agent's is beside it."""
    place = tmp_path_factory.mktemp("built")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client_jar, "CLIENT_JAR", place / "target" / "client.jar")
        patch.setattr(client_jar, "AGENT_JAR", place / "agent" / "agent.jar")
        assert client_jar.main() == 0
        yield place / "target" / "client.jar"


def test_the_jar_has_every_class_and_resource_and_starts_with_main(built: Path) -> None:
    names = set(zipfile.ZipFile(built).namelist())
    sources = CHECKOUT / "client" / "src" / "main"
    expected = {
        path.relative_to(sources / "java").with_suffix(".class").as_posix()
        for path in (sources / "java").rglob("*.java")
        if path.name != "package-info.java"
    }
    assert expected <= names
    assert {path.name for path in (sources / "resources").iterdir()} <= names
    assert b"Main-Class: fencepost.client.Main\n" in zipfile.ZipFile(built).read("META-INF/MANIFEST.MF")
    assert [path.name for path in built.parent.iterdir()] == [built.name]


def test_the_agent_has_its_own_jar_with_byte_buddy_beside_it(built: Path) -> None:
    agent = built.parents[1] / "agent" / "agent.jar"
    names = set(zipfile.ZipFile(agent).namelist())
    assert {"fencepost/agent/Agent.class", "fencepost/agent/defects/fence-ignored.properties"} <= names
    assert not [name for name in zipfile.ZipFile(built).namelist() if name.startswith("fencepost/agent/")]
    manifest = zipfile.ZipFile(agent).read("META-INF/MANIFEST.MF").decode()
    (beside,) = agent.parent.glob("byte-buddy-*.jar")
    assert "Premain-Class: fencepost.agent.Agent\n" in manifest
    assert f"Class-Path: {beside.name}\n" in manifest
    pom = (CHECKOUT / "agent" / "pom.xml").read_text(encoding="utf-8")
    assert f"<byte-buddy.version>{beside.stem.removeprefix('byte-buddy-')}</byte-buddy.version>" in pom


def test_the_same_sources_give_the_same_bytes(built: Path) -> None:
    first = built.read_bytes()
    assert client_jar.main() == 0
    assert built.read_bytes() == first


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("int x = absent;", "absent cannot be resolved"),
        ("return; }; int y() {", "ERROR"),
        ("java.util.List l = null;", "raw type"),
    ],
)
def test_a_source_with_an_error_or_a_warning_is_refused(
    body: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "java").mkdir()
    (tmp_path / "java" / "A.java").write_text(f"class A {{ void a() {{ {body} }} }}\n")
    monkeypatch.setattr(client_jar, "SOURCES", tmp_path)
    compiler, *jars = client_jar.libraries()
    with pytest.raises(FencepostError, match=reason):
        client_jar.compile_into(tmp_path / "classes", compiler, jars)
