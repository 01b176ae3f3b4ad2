"""The compose plugin of the ``docker`` command: whether it is there, and how to get it.

Debian 12 has an engine and no plugin. The next release's package has one file, which needs nothing but
an older libc: it is fetched with apt-get from the mirror that this machine uses, so Debian's signature is
checked, with separate package lists, and unpacked; nothing is installed. Elsewhere it is a package.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import engine
import machine
import steps
from stamp import BUILD

from protocol.errors import PrerequisiteError

VERSION = "2.26.1"
"""The version that the next release has, and with which the tier ``docker`` runs on Debian 12."""

FOLDER = BUILD / "compose"
"""A configuration folder (DOCKER_CONFIG) that has nothing but the plugin."""

_FOLLOWING = {"bookworm": "trixie"}
_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
_PACKAGES = ("docker-compose-v2", "docker-compose-plugin", "docker-compose")
_IN_PACKAGE = "./usr/libexec/docker/cli-plugins/docker-compose"


def lacking(folder: Path | None = None) -> str | None:
    """Why ``docker compose`` does not work with a configuration folder (default: the user's own)."""
    words = ["--config", str(folder)] if folder else []
    if engine.docker(*words, "compose", "version").returncode == 0:
        return None
    return "there is no compose plugin (docker compose): scripts/images --compose brings it"


def users_folder() -> Path:
    """The configuration folder of this user's ``docker`` command."""
    return Path(os.environ.get("DOCKER_CONFIG") or "~/.docker").expanduser()


def bring(folder: Path) -> None:
    """Have the plugin, as a package of this release or else in ``folder``."""
    name = package()
    if name is not None:
        gap = machine.Gap("the compose plugin", (name,))
        if not machine.may_install():
            raise PrerequisiteError(machine.by_hand([gap], "scripts/images --compose"))
        steps.system([gap])
        return
    here = _mirror()
    if here is None:
        raise PrerequisiteError(
            "there is no compose plugin, and no package of it for this system: "
            f"see the pages of Docker, or put a docker-compose {VERSION} into {folder / 'cli-plugins'}"
        )
    with tempfile.TemporaryDirectory(prefix="fencepost-compose-") as scratch:
        found = _fetch(*here, Path(scratch))
        steps.run("compose", ["dpkg-deb", "--extract", found.name, "out"], cwd=found.parent)
        target = folder / "cli-plugins" / "docker-compose"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(found.parent / "out" / _IN_PACKAGE, target.with_suffix(".part"))
        target.with_suffix(".part").replace(target)


def package() -> str | None:
    """The first package of this release whose plugin is a version 2 (Debian 12 has a version 1)."""
    for name in _PACKAGES:
        words = machine.output(["apt-cache", "policy", name]).partition("Candidate: ")[2].split()
        if words and words[0].rpartition(":")[2].startswith(("2.", "5.")):
            return name
    return None


def _mirror() -> tuple[str, str] | None:
    """The mirror of a Debian whose following release is known, and that release's name."""
    form = "$(ORIGIN) $(CODENAME) $(REPO_URI)"
    for line in machine.output(["apt-get", "indextargets", "--format", form]).splitlines():
        origin, _, rest = line.partition(" ")
        release, _, mirror = rest.partition(" ")
        if origin == "Debian" and release in _FOLLOWING:
            return mirror, _FOLLOWING[release]
    return None


def _fetch(mirror: str, release: str, scratch: Path) -> Path:
    """The package's file, by an apt-get that knows the following release only, all of it in ``scratch``."""
    for name in ("lists/partial", "cache/archives/partial", "none"):
        (scratch / name).mkdir(parents=True)
    (scratch / "sources").write_text(f"deb [signed-by={_KEYS}] {mirror} {release} main\n")
    settings = {
        "Dir::State::Lists": "lists", "Dir::Cache": "cache", "Dir::Etc::SourceList": "sources",
        "Dir::Etc::SourceParts": "none", "Dir::Etc::PreferencesParts": "none",
    }  # fmt: skip
    apt = ["apt-get", "-q", "-o", "Acquire::Languages=none", "-o", "APT::Sandbox::User="]
    apt += [word for key, name in settings.items() for word in ("-o", f"{key}={scratch / name}")]
    steps.run("compose", [*apt, "update"], cwd=scratch)
    steps.run("compose", [*apt, "download", f"docker-compose={VERSION}-*"], cwd=scratch)
    return next(scratch.glob("docker-compose_*.deb"))
