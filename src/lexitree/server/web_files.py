"""The page of the service and its assets: the files of one folder, held in memory."""

from __future__ import annotations

import hashlib
import mimetypes
from collections.abc import Mapping
from http import HTTPStatus
from importlib.resources import files
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from lexitree.server.problems import ProblemError

PAGE = "index.html"
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".html": "text/html"}
"""Not left to the system, some of which call scripts plain text, which browsers then refuse to run."""
_TEXTS = ("text/", "application/json", "image/svg+xml")


class WebFile(NamedTuple):
    """A file as it is sent."""

    content: bytes
    headers: dict[str, str]


def read_web_files() -> dict[str, WebFile]:
    """The page and its assets by name."""
    folder = files("lexitree.views") / "web"
    return {each.name: _web_file(each.name, each.read_bytes()) for each in folder.iterdir() if each.is_file()}


def _web_file(name: str, content: bytes) -> WebFile:
    suffix = f".{name.rpartition('.')[2]}"
    kind = _TYPES.get(suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    headers = {
        "content-type": f"{kind}; charset=utf-8" if kind.startswith(_TEXTS) else kind,
        "etag": f'"{hashlib.sha256(content).hexdigest()[:32]}"',
        "cache-control": "no-cache",
        "content-security-policy": PAGE_POLICY,
    }
    return WebFile(content, headers)


def send_web_file(request: Request, web_files: Mapping[str, WebFile], name: str) -> Response:
    """A file, or the answer that it has not changed.

    Raises:
        ProblemError: There is no such file.
    """
    if name not in web_files:
        raise ProblemError(HTTPStatus.NOT_FOUND, "there is no such file")
    file = web_files[name]
    if file.headers["etag"] in request.headers.get("if-none-match", ""):
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=file.headers)
    return Response(file.content, headers=file.headers)
