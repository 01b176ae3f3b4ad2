"""A client reports whether it knows a bookie: not while the bookie is gone, and soon after it is back."""

from __future__ import annotations

from typing import Any

from cluster.waiting import wait_until
from tests.live.client.conftest import Opener


def test_a_client_hears_of_a_bookie_s_end_and_of_its_return(opened: Opener, ask: Any) -> None:
    with opened(version="4.16.4") as cluster:
        writer, bookie = cluster.clients["writer"], cluster.bookies["b2"]

        def knows() -> bool:
            return bool(ask(writer, "knows", bookie="b2:3181")["known"])

        wait_until(lambda: (knows(), "not known"), 60, "b2 to be known")
        bookie.kill()  # type: ignore[attr-defined]
        cluster.metadata.forget_registration("b2")
        wait_until(lambda: (not knows(), "known"), 60, "b2 to be forgotten")
        bookie.start()
        bookie.wait_ready(60)
        wait_until(lambda: (knows(), "not known"), 60, "b2 to be known again")
