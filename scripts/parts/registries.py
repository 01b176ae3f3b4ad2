"""How the registries of packages are reached: pip's settings for other tools, and what to do when none is.

Standard library only. No registry's address is written here: each tool has its own, or the user's.
"""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path

import machine

from protocol.errors import FencepostError, PrerequisiteError

_UNREACHABLE = re.compile(
    r"temporary failure in name resolution|name or service not known|no address associated"
    r"|failed to lookup address|dns error|no such host|network is unreachable|no route to host"
    r"|connection refused|connection reset|newconnectionerror|proxyerror|proxyconnect|tcp connect error"
    r"|error sending request|i/o timeout|timed out|tls handshake|certificate|x509|out of reach",
    re.IGNORECASE,
)
_FULL = re.compile(r"no space left on device|disk quota exceeded", re.IGNORECASE)
_CERTIFICATES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt")
"""The system's certificates, which include a company's own: pip trusts them, requests does not by default."""
REMEDY = """\
Check the network, or name a mirror, a proxy, a certificate:
    Python packages  PIP_INDEX_URL, PIP_PROXY, PIP_CERT, or pip.conf
    jars             FENCEPOST_MAVEN (the base URL of a Maven repository), HTTPS_PROXY, REQUESTS_CA_BUNDLE
    Go modules       GOPROXY, HTTPS_PROXY, SSL_CERT_FILE
docs/setup.md explains them. Fetched files are kept for the next attempt."""


class UnreachableError(PrerequisiteError):
    """A step failed because a registry did not answer."""


def explained(step: str, code: int, log: Path, tail: list[str]) -> FencepostError:
    """The error of a step that ended with ``code``, by the last lines of its log."""
    for line in reversed(tail):
        if _FULL.search(line):
            return PrerequisiteError(
                f"{step}: the disk is full ({log}): free some, or set FENCEPOST_CACHE to a larger disk"
            )
        if _UNREACHABLE.search(line):
            return UnreachableError(f"{step}: {line.strip()[:200]} ({log})")
    end = "\n".join(tail)
    return FencepostError(f"{step} failed (exit code {code}), {log} ends:\n{end}")


def summary(stops: list[FencepostError]) -> FencepostError:
    """One error for all steps that failed: a network that is out of reach is said once."""
    unreached = [str(stop) for stop in stops if isinstance(stop, UnreachableError)]
    texts = [str(stop) for stop in stops if not isinstance(stop, UnreachableError)]
    if unreached:
        seen = "\n".join(f"    {one}" for one in unreached)
        texts.append(f"the package registries cannot be reached from here:\n{seen}\n{REMEDY}")
    worst = max(stops, key=lambda stop: stop.exit_code)
    return type(worst)("\n".join(dict.fromkeys(texts)))


def environment(python: Path) -> dict[str, str]:
    """What pip is configured with (files and PIP_ variables), as variables of uv, Go and Python's requests.

    ``python`` has a pip, which reads its configuration itself. Variables that the user has set stand.
    """
    settings = _configured(machine.output([str(python), "-m", "pip", "config", "list"]))
    links = [one for one in settings.get("find-links", "").split() if "://" in one or Path(one).is_dir()]
    certificates = settings.get("cert") or next((one for one in _CERTIFICATES if Path(one).is_file()), None)
    named = {
        "UV_INDEX_URL": settings.get("index-url"),
        "UV_EXTRA_INDEX_URL": " ".join(settings.get("extra-index-url", "").split()),
        "UV_INDEX_STRATEGY": "unsafe-best-match",  # as pip chooses; the locks' hashes make it safe
        "UV_FIND_LINKS": ",".join(links),
        "UV_INSECURE_HOST": " ".join(settings.get("trusted-host", "").split()),
        "UV_HTTP_TIMEOUT": settings.get("timeout") or settings.get("default-timeout"),
        "SSL_CERT_FILE": certificates,
        "REQUESTS_CA_BUNDLE": certificates,
        "SSL_CLIENT_CERT": settings.get("client-cert"),
        "HTTP_PROXY": settings.get("proxy"),
        "HTTPS_PROXY": settings.get("proxy"),
    }
    return {
        name: value for name, value in named.items() if value and not {name, name.lower()} & os.environ.keys()
    }


def _configured(listing: str) -> dict[str, str]:
    """Settings by name from ``pip config list``: ``install``'s before ``global``'s, PIP_ variables first."""
    found: dict[str, dict[str, str]] = {"global": {}, "install": {}, ":env:": {}}
    for line in listing.splitlines():
        key, equals, value = line.partition("=")
        section, _, name = key.rpartition(".")
        if equals and section in found:
            found[section][name] = ast.literal_eval(value)
    return found["global"] | found["install"] | found[":env:"]
