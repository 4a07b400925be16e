"""A running service and a real browser, for the tests of the page; a service of stubs, for those of the client."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import Any
from urllib.parse import urlencode

import pytest

import lexitree
from lexitree.server import retrying_client
from lexitree.server.service_settings import ServiceSettings
from tests.server.told_service import Service

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
AXE = Path(os.environ.get("LEXITREE_AXE", Path(__file__).parents[2] / ".cache/axe-core/package/axe.min.js"))
"""Where axe-core is; `make test-all` puts it there."""

OpenPage = Callable[..., Any]


@contextmanager
def serving(app: Any) -> Generator[str]:
    """The address of an application while it runs in a thread."""
    import uvicorn

    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    thread = Thread(target=server.run, daemon=True)
    thread.start()
    limit = monotonic() + 60
    while not server.started and monotonic() < limit:
        sleep(0.02)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(30)


@pytest.fixture(scope="session")
def service_address() -> Iterator[str]:
    """The service with two of the models that come with the package."""
    from lexitree.server.app import create_app

    models = {name: lexitree.load(name) for name in ("sentiment", "questions")}
    with serving(create_app(ServiceSettings(), models)) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    # Not for the whole session: while Playwright runs, no other test of this process can run an event loop.
    playwright = pytest.importorskip("playwright.sync_api", reason="needs pip install playwright")
    if CHROMIUM is None:
        pytest.skip("no Chromium here: apt install chromium")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture
def open_page(browser: Any, service_address: str) -> Iterator[OpenPage]:
    """Opens the page with a text and waits for its tree; afterwards, nothing may have gone wrong or left the machine."""
    contexts: list[Any] = []
    complaints: list[str] = []
    asked: list[str] = []

    def hear(said: Any) -> None:
        # A refused request, which the browser reports by itself, is what some tests are about.
        if said.type == "error" and not said.location["url"].endswith("/v1/explain"):
            complaints.append(said.text)

    def fail(error: Any) -> None:
        complaints.append(str(error))

    def note(request: Any) -> None:
        asked.append(request.url)

    def open_it(
        text: str | None = None,
        *,
        width: int = 1280,
        on_explain: Callable[[Any], None] | None = None,
        path: str = "/",
        link: Any = (),
        **options: Any,
    ) -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.add_init_script(
            "addEventListener('securitypolicyviolation', (event) => console.error('policy', event.violatedDirective))"
        )
        if on_explain:
            page.route("**/v1/explain", on_explain)
        page.on("console", hear)
        page.on("pageerror", fail)
        page.on("request", note)
        fragment = urlencode({**({} if text is None else {"text": text}), **dict(link)})
        address = path if "://" in path else f"{service_address}{path}"
        page.goto(f"{address}#{fragment}" if fragment else address)
        page.wait_for_selector(".node")
        return page

    yield open_it
    for context in contexts:
        context.close()
    assert not complaints
    own = (service_address, "file://", "data:", "blob:")
    assert [url for url in asked if not url.startswith(own)] == []


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses of a client between its attempts, none of which is waited for."""
    seconds: list[float] = []
    monkeypatch.setattr(retrying_client.time, "sleep", seconds.append)
    return seconds


@pytest.fixture
def service(pauses: list[float]) -> Iterator[Service]:
    """A service that answers what a test has told it to."""
    service = Service()
    yield service
    service.server.shutdown()
    service.server.server_close()
