"""Build the container images: of BookKeeper with ZooKeeper, of the client, and of the proxy.

usage: scripts/images [--base IMAGE] [--engine] [--compose] [--contexts] [VERSION ...]

Builds fencepost/bookkeeper:VERSION and fencepost/client:VERSION for each release named (without any:
the default release), and fencepost/proxy; a current image is not rebuilt. Needs a Docker engine that
answers, and nothing to pull: without --base IMAGE (a Debian or an Ubuntu) the base is
fencepost/base:bookworm where it exists, else debian:bookworm-slim where it exists or can be
pulled, else the former is made with debootstrap, as root.

--engine     first install docker.io with apt-get and start its engine, as root, where none answers
--compose    first bring the compose plugin, where `docker compose` is missing
--contexts   only fill .build/images, from which `docker compose build` builds; needs no engine

Exit codes: 0 done, 1 a step failed, 2 something is missing that only you can install.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import sys
import time

import engine
import machine
import plugin
import steps
from stamp import ROOT

from cluster.docker import images
from cluster.docker.images import DIGEST_LABEL, Image
from cluster.releases.versions import DEFAULT_VERSION
from protocol.errors import FencepostError, PrerequisiteError

PULLED_BASE = "debian:bookworm-slim"
MADE_BASE = "fencepost/base:bookworm"
_PULL_TIMEOUT_S = 300
_PROXIES = ("http_proxy", "https_proxy", "no_proxy")


def main(arguments: list[str]) -> int:
    """Do what the arguments say; the exit code."""
    try:
        _carry_out(_parsed(arguments))
    except FencepostError as error:
        return machine.error_exit(error)
    except KeyboardInterrupt:
        print("\ninterrupted; run scripts/images again to continue", file=sys.stderr)
        return 130
    return 0


def build(versions: list[str], *, base: str | None = None) -> list[Image]:
    """Fill the contexts and build every image that is out of date, all on one base; the images.

    ``FencepostError`` when there is no base or a build fails; its log is ``.build/images.log``.
    """
    wanted = images.prepare(versions)
    base = base or _base()
    identity = engine.inspect(base, "{{.Id}}")
    if identity is None:
        raise PrerequisiteError(f"the engine has no image {base}: docker pull {base}, or leave --base away")
    for image in wanted:
        made_from = hashlib.sha256(f"{identity} {images.digest(image.context)}".encode()).hexdigest()
        if engine.inspect(image.name, f'{{{{index .Config.Labels "{DIGEST_LABEL}"}}}}') == made_from:
            print(f"  {image.name}: up to date", flush=True)
            continue
        started = time.monotonic()
        former = engine.inspect(image.name, "{{.Id}}")
        _build(image, base, made_from)
        if former is not None:  # has lost its name now; it stays where a container needs it
            engine.docker("image", "rm", former)
        size_mb = int(engine.inspect(image.name, "{{.Size}}") or 0) // 1_000_000
        took_s = time.monotonic() - started
        print(f"  {image.name}: built in {took_s:.0f} s, {size_mb} MB", flush=True)
    return wanted


def _parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/images", add_help=False, allow_abbrev=False)
    parser.add_argument("--base")
    for name in ("--engine", "--compose", "--contexts"):
        parser.add_argument(name, action="store_true")
    parser.add_argument("versions", nargs="*", metavar="VERSION")
    return parser.parse_args(arguments)


def _carry_out(chosen: argparse.Namespace) -> None:
    versions = chosen.versions or [DEFAULT_VERSION]
    if chosen.contexts:
        for folder in sorted({str(image.context.relative_to(ROOT)) for image in images.prepare(versions)}):
            print(f"  {folder}: filled")
        return
    if chosen.engine:
        engine.install_and_start()
    lacking = engine.lacking()
    if lacking is not None:
        raise PrerequisiteError(lacking)
    if chosen.compose and plugin.lacking() is not None:
        plugin.bring(plugin.users_folder())
    build(versions, base=chosen.base)
    print(f"next: {plugin.lacking() or 'docker compose up --detach --wait (docs/docker.md)'}")


def _base() -> str:
    """A base that is there, can be pulled, or can be made, in this order."""
    for known in (MADE_BASE, PULLED_BASE):
        if engine.inspect(known, "{{.Id}}") is not None:
            return known
    if engine.docker("pull", "--quiet", PULLED_BASE, timeout_s=_PULL_TIMEOUT_S).returncode == 0:
        return PULLED_BASE
    print(f"  {PULLED_BASE} cannot be pulled; making {MADE_BASE} with debootstrap", flush=True)
    if os.geteuid() != 0:
        raise PrerequisiteError(
            f"there is no base image: {PULLED_BASE} cannot be pulled, and making one needs root. Either\n"
            "    sudo images/base.sh               (once; needs debootstrap)\n"
            "    scripts/images --base IMAGE       (a Debian or an Ubuntu that the engine has)"
        )
    if shutil.which("debootstrap") is None:
        if not machine.may_install():
            raise PrerequisiteError(machine.by_hand([engine.DEBOOTSTRAP], "scripts/images"))
        steps.system([engine.DEBOOTSTRAP])
    steps.run("images", [str(ROOT / "images" / "base.sh")])
    return MADE_BASE


def _build(image: Image, base: str, made_from: str) -> None:
    argv = ["docker", "build", "--tag", image.name, "--build-arg", f"BASE={base}"]
    argv += ["--label", f"{DIGEST_LABEL}={made_from}"]
    argv += ["--target", image.target] if image.target else []
    for name in _PROXIES:  # the builder passes these on to what it runs, and leaves them out of the image
        argv += ["--build-arg", name] if name in os.environ else []
    steps.run("images", [*argv, str(image.context)], env=engine.builder())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
