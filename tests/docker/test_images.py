"""The images: built once, small, and good for any command line under any user."""

from __future__ import annotations

import subprocess

import building
import pytest

from cluster.docker import images
from cluster.releases.versions import DEFAULT_VERSION

pytestmark = pytest.mark.timeout(1500)


def in_container(image: images.Image, *words: str, user: str = "") -> str:
    """What a container prints that is given these words."""
    argv = [
        "docker",
        "run",
        "--rm",
        "--network",
        "none",
        *(["--user", user] if user else []),
        image.name,
        *words,
    ]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_what_is_up_to_date_is_left_alone(engine: None, capsys: pytest.CaptureFixture[str]) -> None:
    names = [image.name for image in building.build([DEFAULT_VERSION])]
    assert [f"  {name}: up to date" for name in names] == capsys.readouterr().out.splitlines()


def test_any_command_line_runs_under_any_user(engine: None) -> None:
    output = in_container(images.bookkeeper_image(), "java", "-Xshare:on", "-version", user="4321:4321")
    assert "17" in output  # and with its class-data archive, or it would have refused to start
    assert in_container(images.bookkeeper_image(), "id", "-u", user="4321:4321").strip() == "4321"


def test_the_jars_are_those_of_the_lock(engine: None) -> None:
    check = "cd /opt/bookkeeper/lib && sha256sum --check --strict --quiet ../sums && ls | wc -l"
    count = in_container(images.bookkeeper_image(), "sh", "-c", check).strip()
    assert int(count) == len(list((images.bookkeeper_image().context / "lib").iterdir()))


def test_without_a_word_the_roles_are_told(engine: None) -> None:
    argv = ["docker", "run", "--rm", images.bookkeeper_image().name, ""]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.returncode, "autorecovery" in done.stdout) == (2, True)
