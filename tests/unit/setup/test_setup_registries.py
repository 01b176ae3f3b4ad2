"""pip's settings reach the other tools, and a failed step says what the user can do."""

import os
from pathlib import Path

import machine
import pytest
import registries

from protocol.errors import FencepostError, PrerequisiteError

LOG = Path("/x/.build/python.log")


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of a tool is set, and the system has no certificates."""
    for name in list(os.environ):
        if name.upper().startswith(("UV_", "SSL_", "HTTP", "REQUESTS_", "ALL_PROXY")):
            monkeypatch.delenv(name)
    monkeypatch.setattr(registries, "_CERTIFICATES", ())


def given(monkeypatch: pytest.MonkeyPatch, *lines: str) -> dict[str, str]:
    monkeypatch.setattr(machine, "output", lambda _: "".join(f"{line}\n" for line in lines))
    return registries.environment(Path("/x/bin/python"))


def test_a_mirror_and_its_certificate_are_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    found = given(monkeypatch, "global.index-url='https://mirror/simple'", "global.cert='/ca.pem'")
    assert found["UV_INDEX_URL"] == "https://mirror/simple"
    assert found["SSL_CERT_FILE"] == found["REQUESTS_CA_BUNDLE"] == "/ca.pem"


def test_variables_go_before_files_and_install_before_global(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [":env:.proxy='http://c:1'", "global.proxy='http://a:1'", "install.proxy='http://b:1'"]
    assert given(monkeypatch, *lines)["HTTPS_PROXY"] == "http://c:1"
    assert given(monkeypatch, *lines[1:])["HTTPS_PROXY"] == "http://b:1"


def test_what_the_user_has_set_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://own:1")
    assert "HTTPS_PROXY" not in given(monkeypatch, "global.proxy='http://a:1'")


def test_lists_have_the_form_that_uv_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = given(
        monkeypatch,
        rf"global.find-links='{tmp_path}\nhttps://wheels/\n/no/such/folder'",
        r"global.extra-index-url='https://one/\nhttps://two/'",
    )
    assert found["UV_FIND_LINKS"] == f"{tmp_path},https://wheels/"
    assert found["UV_EXTRA_INDEX_URL"] == "https://one/ https://two/"


@pytest.mark.parametrize(
    "line",
    [
        "  Caused by: dns error: failed to lookup address information",
        "dial tcp: lookup proxy: no such host",
        "connection broken by 'NewConnectionError(... Temporary failure in name resolution)'",
        "x509: certificate signed by unknown authority",
    ],
)
def test_a_registry_out_of_reach_is_recognised(line: str) -> None:
    stop = registries.explained("python", 2, LOG, ["error: Failed", line, "and more"])
    assert isinstance(stop, registries.UnreachableError)


def test_several_steps_without_network_are_one_message() -> None:
    stops = [registries.explained(name, 1, LOG, ["no such host"]) for name in ("python", "proxy")]
    text = str(registries.summary(list(stops)))
    assert text.count("cannot be reached") == 1
    assert text.count("PIP_INDEX_URL") == 1
    assert {"PIP_INDEX_URL", "FENCEPOST_MAVEN", "GOPROXY"} <= set(text.replace(",", " ").split())
    assert "docs/setup.md" in text


def test_a_full_disk_is_one_line() -> None:
    stop = registries.explained("proxy", 1, LOG, ["write x.o: No space left on device", "exit status 2"])
    assert str(stop).count("\n") == 0
    assert "the disk is full" in str(stop)
    assert isinstance(stop, PrerequisiteError)


def test_another_failure_shows_the_end_of_its_log() -> None:
    stop = registries.explained("proxy", 3, LOG, ["main.go:3: undefined: x"])
    assert "proxy failed (exit code 3)" in str(stop)
    assert "undefined: x" in str(stop)
    assert type(stop) is FencepostError
