"""`lexitree serve`: answer over HTTP, with a page to try it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lexitree.cli.options import SetOption, help_settings
from lexitree.errors import import_extra

ModelsArgument = Annotated[
    list[str] | None,
    typer.Argument(help="Models: shipped names, or NAME=FOLDER. Default: sentiment.", show_default=False),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", help="A TOML file of settings; other options override it.", show_default=False),
]
HostOption = Annotated[str | None, typer.Option(help="Address to listen on. Default: 127.0.0.1.")]
PortOption = Annotated[int | None, typer.Option(help="Port to listen on. Default: 8000.")]
DeviceOption = Annotated[str | None, typer.Option(help="auto, cpu or cuda. Default: auto.")]


def serve_command(
    models: ModelsArgument = None,
    host: HostOption = None,
    port: PortOption = None,
    device: DeviceOption = None,
    config: ConfigOption = None,
    assignments: SetOption = None,
    list_settings: Annotated[bool, help_settings("lexitree.server.service_settings:ServiceSettings")] = False,
) -> None:
    """Answer over HTTP, with a page to try it in a browser.

    [bold]Start:[/bold]  lexitree serve

    [bold]Two models:[/bold]  lexitree serve sentiment mine=runs/mine/model --port 8080

    [bold]Any setting:[/bold]  lexitree serve --set limits.words=500 --set queue_nodes=100000

    Settings come from a file (--config), from variables such as LEXITREE_SERVE_PORT, and from options; the last
    one counts.
    """
    uvicorn = import_extra("uvicorn", extra="serve", purpose="lexitree serve")
    import_extra("starlette", extra="serve", purpose="lexitree serve")
    import_extra("prometheus_client", extra="serve", purpose="lexitree serve", package="prometheus-client")
    from lexitree.server.app import create_app
    from lexitree.server.service_log import configure_logs
    from lexitree.server.service_settings import ServiceSettings

    options = {"models": models or None, "host": host, "port": port, "device": device}
    given = {name: value for name, value in options.items() if value is not None}
    values = {**given, **ServiceSettings.parse_assignments(assignments or ())}
    settings = ServiceSettings.gather(config, values=values)
    configure_logs()
    uvicorn.Server(
        uvicorn.Config(
            create_app(settings),
            host=settings.host,
            port=settings.port,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=round(settings.drain_seconds) or None,
        )
    ).run()
