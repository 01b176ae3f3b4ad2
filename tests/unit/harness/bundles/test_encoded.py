"""Text in base64, as the cookies of bookies are recorded, is looked into when a bundle is made."""

from __future__ import annotations

import base64
import json

from hypothesis import given
from hypothesis import strategies as st

from reports.redaction import Redactor

REDACTOR = Redactor(recorded=("/srv/fences/results/x",), names={"carthage": "HOST"}, tops=("srv", "home"))


def line(data: bytes) -> str:
    return json.dumps({"op": "create", "data": base64.b64encode(data).decode()}, separators=(",", ":"))


def inner(text: str) -> bytes:
    return base64.b64decode(json.loads(text)["data"])


def test_a_cookie_tells_no_path_and_no_host() -> None:
    cookie = (
        b'5\nbookieHost: "b1:3181"\njournalDir: "/srv/fences/results/x/b1"\nledgerDirs: "1\\t/home/me/d"\n'
    )
    clean = inner(REDACTOR.text(line(cookie + b"at carthage")))
    assert clean == b'5\nbookieHost: "b1:3181"\njournalDir: "RUN/b1"\nledgerDirs: "1\\tPATH"\nat HOST'


@given(st.binary(max_size=200))
def test_what_tells_nothing_stays_as_it_is(data: bytes) -> None:
    telling = any(word in data for word in (b"/", b"carthage", b":", b"environment")) or b"." in data
    if not telling:
        assert REDACTOR.text(line(data)) == line(data)
    json.loads(REDACTOR.text(line(data)))
