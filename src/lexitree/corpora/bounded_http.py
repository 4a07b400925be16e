"""Open addresses of the web within bounds: of time, of speed, of bytes, and of where a redirect may lead."""

from __future__ import annotations

import io
import time
from collections.abc import Mapping
from functools import partial
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from types import TracebackType
from typing import Any, Protocol, Self
from urllib.error import HTTPError
from urllib.parse import urljoin, urlsplit
from urllib.request import HTTPHandler, HTTPRedirectHandler, HTTPSHandler, Request, build_opener

TIMEOUT_SECONDS = 60.0
"""How long a server may be silent."""
_MAX_SECONDS = 12 * 3600.0
"""How long all answers together may take."""
_MIN_BYTES_PER_SECOND = 2_048
_WINDOW_SECONDS = 60.0
"""The speed is measured over this time, in which a slow line may also stand still."""
_MAX_OTHER_BYTES = 1 << 20
"""What may come besides the file: headers, answers that are redirects, the frames of chunks."""
_MAX_REDIRECTS = 5


class Response(Protocol):
    """The parts of an HTTP response that a download needs."""

    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    def read1(self, amount: int, /) -> bytes: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> object: ...


class Meter:
    """Counts the bytes that arrive and the time spent waiting for them, over all connections of a download.

    Args:
        num_bytes: The size of the file.
    """

    def __init__(self, num_bytes: int) -> None:
        self._num_bytes = num_bytes
        self._bytes_left = 0
        self._seconds_left = _MAX_SECONDS
        self._window_bytes = 0
        self._window_seconds = 0.0

    def start(self) -> None:
        """Begin another request: the whole file may come again."""
        self._bytes_left = self._num_bytes + _MAX_OTHER_BYTES

    def note(self, num_bytes: int, seconds: float) -> None:
        """Count what has arrived.

        Raises:
            TimeoutError: It took too long.
            OSError: It is more than the file can be.
        """
        self._bytes_left -= num_bytes
        self._seconds_left -= seconds
        self._window_bytes += num_bytes
        self._window_seconds += seconds
        if self._bytes_left < 0:
            raise OSError("the server sends without end")
        if self._seconds_left < 0:
            raise TimeoutError(f"it takes more than {_MAX_SECONDS / 3600:g} hours")
        if self._window_seconds >= _WINDOW_SECONDS:
            speed = self._window_bytes / self._window_seconds
            self._window_bytes, self._window_seconds = 0, 0.0
            if speed < _MIN_BYTES_PER_SECOND:
                raise TimeoutError(f"the server is too slow: {speed:,.0f} bytes per second")


class _MeteredStream(io.RawIOBase):
    """The bytes of a socket on their way through a meter; so headers and frames are metered as well."""

    def __init__(self, stream: io.RawIOBase, meter: Meter) -> None:
        self._stream = stream
        self._meter = meter

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int | None:
        start = time.monotonic()
        num_bytes = self._stream.readinto(buffer)
        self._meter.note(num_bytes or 0, time.monotonic() - start)
        return num_bytes

    def close(self) -> None:
        self._stream.close()
        super().close()


class _MeteredResponse(HTTPResponse):
    def __init__(self, meter: Meter, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fp: Any = io.BufferedReader(_MeteredStream(self.fp.detach(), meter))


class _MeteredHandler(HTTPHandler, HTTPSHandler):
    """Opens connections whose responses are metered."""

    def __init__(self, meter: Meter) -> None:
        super().__init__()
        self._meter = meter

    def http_open(self, req: Request) -> HTTPResponse:
        return self.do_open(partial(self._connect, HTTPConnection), req)  # type: ignore[arg-type]

    def https_open(self, req: Request) -> HTTPResponse:
        return self.do_open(partial(self._connect, HTTPSConnection), req)  # type: ignore[arg-type]

    def _connect(self, kind: type[HTTPConnection], host: str, **options: Any) -> HTTPConnection:
        connection: Any = kind(host, **options)
        connection.response_class = partial(_MeteredResponse, self._meter)
        return connection


class _FewRedirects(HTTPRedirectHandler):
    """Follows redirects to other pages of the web; their own content, which may be endless, is not read."""

    def http_error_302(self, req: Request, fp: Any, code: int, msg: str, headers: Any) -> Any:
        place = headers.get("Location", "")
        num_redirects = getattr(req, "num_redirects", 0) + 1
        try:
            address = urljoin(req.full_url, place)
            parts = urlsplit(address)
            # Reading the port checks it: a socket would not take one of 2^64.
            is_web = parts.scheme in ("http", "https") and parts.port != 0
        except ValueError:
            address, is_web = place, False
        if not place or not is_web:
            raise HTTPError(
                req.full_url, code, f"redirects to {address[:200]!r}, which is not a web address", headers, fp
            )
        if num_redirects > _MAX_REDIRECTS:
            raise HTTPError(req.full_url, code, f"more than {_MAX_REDIRECTS} redirects", headers, fp)
        fp.close()
        request = Request(address, headers=req.headers)
        request.num_redirects = num_redirects  # type: ignore[attr-defined]
        return self.parent.open(request, timeout=req.timeout)

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


def open_bounded(request: Request, meter: Meter) -> Response:
    """Open an address like `urllib.request.urlopen`, within bounds.

    Raises:
        OSError: It cannot be opened; an HTTPError if the server says so.
        HTTPException: The answer is malformed.
        ValueError: The address is malformed.
    """
    meter.start()
    return build_opener(_MeteredHandler(meter), _FewRedirects).open(request, timeout=TIMEOUT_SECONDS)
