"""Calls to the proxy's REST API, toxiproxy's own and ours beside it, with their errors translated.

``toxiproxy-python`` keeps one server's address for the whole process and asks without a time-out, so its
errors are used here and its calls are not.
"""

from __future__ import annotations

import json
from typing import Any

import requests
from toxiproxy.api import validate_response
from toxiproxy.exceptions import InvalidToxic, NotFound, ProxyExists

from protocol.errors import FencepostError, LinkError, UsageError


class Rest:
    """Calls to one proxy process at ``address``; each may take ``timeout_s``.

    Every error is a ``LinkError``, or a ``UsageError`` where the proxy says what would be right.
    """

    def __init__(self, address: tuple[str, int], timeout_s: float) -> None:
        self._where = "{}:{}".format(*address)
        self._timeout_s = timeout_s

    def call(self, verb: str, path: str, body: object = None) -> Any:
        """One request (GET, POST, PUT or DELETE); the answer's document, None for an empty answer."""
        order = f"{verb} {path} at {self._where}"
        try:
            response = requests.request(
                verb,
                f"http://{self._where}{path}",
                json=body,
                timeout=self._timeout_s,
                # An empty proxy keeps requests from sending loopback traffic to one named in the environment.
                proxies={"http": ""},
            )
            validate_response(response)
        except (NotFound, ProxyExists, InvalidToxic) as error:
            raise _refusal(order, error.args[0]) from error
        except requests.RequestException as error:
            raise LinkError(f"the proxy did not answer {order}: {error}") from error
        if not response.ok:
            raise LinkError(f"the proxy failed at {order}: {response.status_code} {response.text.strip()}")
        return response.json() if response.content else None


def _refusal(order: str, body: bytes) -> FencepostError:
    """The proxy's ``{error, field, value, allowed}`` as an error that says the value and the next step."""
    text = body.decode(errors="replace").strip()
    try:
        reply = json.loads(text)
    except ValueError:
        reply = None
    if not isinstance(reply, dict) or "error" not in reply:
        return LinkError(f"the proxy refused {order}: {text}")
    message = f"the proxy refused {order}: {reply['error']}"
    if not reply.get("allowed"):
        return LinkError(message)
    return UsageError(message, remedy=f"{reply.get('field', 'allowed')}: {reply['allowed']}")
