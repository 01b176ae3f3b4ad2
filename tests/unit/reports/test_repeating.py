"""The command that repeats a run names whatever is not a default."""

from __future__ import annotations

from typing import Any

from reports.results import repeat_command


def recorded(
    mode: str, *, modes: tuple[str, ...] = ("unprotected", "protected"), **vary: int
) -> dict[str, Any]:
    return {
        "source": "soak/kill9",
        "seed": 7,
        "bookkeeper": "4.18.0",
        "mode": mode,
        "plan": {"modes": list(modes), "vary": vary},
    }


def test_all_modes_of_the_plan_need_no_mode() -> None:
    runs = [recorded("unprotected"), recorded("protected")]
    assert repeat_command(runs) == "fencepost run soak/kill9 --seed 7 --bookkeeper 4.18.0"


def test_another_backend_than_plain_processes_is_named() -> None:
    runs = [recorded("unprotected") | {"backend": "docker"}, recorded("protected") | {"backend": "docker"}]
    assert repeat_command(runs).endswith("--bookkeeper 4.18.0 --backend docker")


def test_the_users_own_files_are_named() -> None:
    runs = [
        recorded("unprotected", modes=("unprotected",)) | {"user_files": {"bookie": "bk.conf", "client": "c"}}
    ]
    assert repeat_command(runs).endswith("--bookkeeper 4.18.0 --bookie-conf bk.conf --client-conf c")


def test_one_mode_and_the_plan_s_parameters_are_named() -> None:
    command = repeat_command([recorded("unprotected", for_s=20, v2=True)])
    assert command.endswith("--mode unprotected --set for_s=20 --set v2=true")


def test_a_path_with_spaces_is_quoted() -> None:
    run = recorded("unprotected", modes=("unprotected",)) | {"source": "my plans/a.yaml"}
    assert "'my plans/a.yaml'" in repeat_command([run])


def test_rounds_are_named_when_they_were_ordered_or_are_more_than_one() -> None:
    def repeated(rounds: int, *, ordered: int | None) -> str:
        run = recorded("unprotected", modes=("unprotected",))
        plan = run["plan"] | {"rounds": rounds}
        return repeat_command([run | {"plan": plan, "rounds": ordered}])

    assert repeated(20, ordered=20).endswith("--rounds 20")
    assert repeated(20, ordered=None).endswith("--rounds 20")
    assert repeated(1, ordered=1).endswith("--rounds 1")
    assert "--rounds" not in repeated(1, ordered=None)
