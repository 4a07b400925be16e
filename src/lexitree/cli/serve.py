"""`lexitree serve`: answer over HTTP, with a page to try it in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lexitree.cli.console import messages
from lexitree.cli.options import SetOption, complete_models, help_settings
from lexitree.errors import ConfigError, import_extra
from lexitree.files import read_lines
from lexitree.settings import MAX_PROCESSES

if TYPE_CHECKING:
    from lexitree.server.service_settings import ServiceSettings

ModelsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        "-m",
        help="A model that comes with the package, or NAME=FOLDER for one of yours; can be repeated. The first one"
        " answers requests that name none. Default: sentiment.",
        show_default=False,
        autocompletion=complete_models,
    ),
]
HostOption = Annotated[
    str | None,
    typer.Option(
        help="Address to listen on: 127.0.0.1 is for this machine only (default), 0.0.0.0 for the network.",
        show_default=False,
    ),
]
PortOption = Annotated[
    int | None,
    typer.Option(
        help="Port to listen on (default: 8000); 0 for any free one.", show_default=False, min=0, max=65_535
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        help="Processes behind the port, each with its own models; one per core is most (default: 1).",
        show_default=False,
        min=1,
        max=MAX_PROCESSES,
    ),
]
DeviceOption = Annotated[str | None, typer.Option(help="auto (default), cpu or cuda.", show_default=False)]
TokenFileOption = Annotated[
    Path | None,
    typer.Option(help="A file with the bearer token that requests must carry.", show_default=False),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", help="A TOML file of settings; other options override it.", show_default=False),
]


def serve_command(
    models: ModelsOption = None,
    host: HostOption = None,
    port: PortOption = None,
    workers: WorkersOption = None,
    device: DeviceOption = None,
    token_file: TokenFileOption = None,
    config: ConfigOption = None,
    assignments: SetOption = None,
    list_settings: Annotated[bool, help_settings("lexitree.server.service_settings:ServiceSettings")] = False,
) -> None:
    """Answer over HTTP, with a page to try it in a browser.

    [bold]Start:[/bold]  lexitree serve, then open http://localhost:8000

    [bold]Ask:[/bold]  curl http://localhost:8000/v1/label --json '{"text": "Not a bad film."}'

    [bold]Two models, two processes:[/bold]  lexitree serve -m sentiment -m mine=runs/mine/model --workers 2

    [bold]Any setting:[/bold]  lexitree serve --set limits.words=500 --set queue_nodes=100000

    Settings come from a file (--config), from variables such as LEXITREE_SERVE_PORT, and from options; the last one
    counts. --help-settings lists all. Ctrl-C or SIGTERM stops: what was accepted is answered, and new requests are
    refused; a second one stops at once. GET /openapi.json describes the interface, /ready and /live are for probes,
    and /metrics is for Prometheus.
    """
    for module, package in _PACKAGES.items():
        import_extra(module, extra="serve", purpose="lexitree serve", package=package)
    from lexitree.server.listening import shown_address
    from lexitree.server.service_settings import ServiceSettings
    from lexitree.server.serving import serve

    options = {
        "models": models or None,
        "host": host,
        "port": port,
        "workers": workers,
        "device": device,
        "token": token_file and _read_token(token_file),
    }
    given = {name: value for name, value in options.items() if value is not None}
    settings = ServiceSettings.gather(
        config, values={**given, **ServiceSettings.parse_assignments(assignments or ())}
    )
    messages.print(_loading(settings))
    serve(
        settings, lambda port: messages.print(f"Ready: {shown_address(settings.host, port)} (Ctrl-C stops)")
    )
    messages.print("Stopped.")


_PACKAGES = {
    "uvicorn": "",
    "starlette": "",
    "httptools": "",
    "prometheus_client": "prometheus-client",
}


def _read_token(path: Path) -> str:
    token = next((line.strip() for _, line in read_lines(path) if line.strip()), "")
    if not token:
        raise ConfigError(f"{path} holds no token", remedy="Write one into it: openssl rand -hex 32")
    return token


def _loading(settings: ServiceSettings) -> str:
    where = f" in {settings.workers} processes" if settings.workers > 1 else ""
    return f"Loading {', '.join(settings.sources)}{where} ..."
