"""The settings of the service: from options, a TOML file or environment variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from lexitree.errors import ConfigError
from lexitree.limits import Limits
from lexitree.settings import MAX_COUNT, MAX_PROCESSES, Setting, Settings

ENVIRONMENT_PREFIX = "LEXITREE_SERVE_"
"""Variables with this prefix are settings, such as LEXITREE_SERVE_PORT."""

_DAY = 86_400
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings(Settings):
    """Where the service listens, what it serves, and what it takes before it refuses."""

    file_kind: ClassVar[str] = "settings file"

    host: Annotated[str, Setting("The address to listen on; 0.0.0.0 for all.")] = "127.0.0.1"
    port: Annotated[
        int, Setting("The port to listen on; 0 for any free one.", at_least=0, at_most=65_535)
    ] = 8000
    workers: Annotated[
        int,
        Setting("Processes behind the port, each with its own models.", at_least=1, at_most=MAX_PROCESSES),
    ] = 1
    models: Annotated[
        tuple[str, ...],
        Setting(
            "The models: shipped names or NAME=FOLDER. A request that names none gets the first.", unique=True
        ),
    ] = ("sentiment",)
    device: Annotated[str, Setting("Where the models run: cpu, cuda or auto.")] = "auto"
    labels: Annotated[
        int | None,
        Setting(
            "How many labels the models answer with, 3 or 2 for the sides of a scale; default: their own.",
            at_least=2,
            at_most=MAX_COUNT,
        ),
    ] = None
    token: Annotated[
        str | None,
        Setting(
            "The bearer token that requests to /v1 and /metrics must carry; best given as a variable or file."
        ),
    ] = field(default=None, repr=False)
    cors: Annotated[
        tuple[str, ...],
        Setting("Origins whose pages may call the service, such as https://example.org; * for all."),
    ] = ()
    hosts: Annotated[
        tuple[str, ...],
        Setting(
            "Names under which the service may be called (the Host header); * for any. By default the loopback's"
            " names where it listens on the loopback, and else any."
        ),
    ] = ()
    max_body: Annotated[
        int, Setting("Bytes per request, and per line of a stream.", at_least=1, at_most=MAX_COUNT)
    ] = 1 << 20
    max_texts: Annotated[int, Setting("Texts per request.", at_least=1, at_most=MAX_COUNT)] = 1_000
    queue_nodes: Annotated[
        int,
        Setting(
            "Tree nodes that may wait (a sentence of n words has 2n - 1); beyond that, requests are refused with"
            " status 429.",
            at_least=1,
            at_most=MAX_COUNT,
        ),
    ] = 50_000
    batch_nodes: Annotated[
        int, Setting("Tree nodes that are labelled together.", at_least=1, at_most=MAX_COUNT)
    ] = 8_000
    wait_ms: Annotated[
        float, Setting("Milliseconds that a request waits for others to join it.", at_least=0, at_most=1_000)
    ] = 2.0
    request_seconds: Annotated[
        float,
        Setting("Seconds after which a request is answered with status 504.", above=0, at_most=_DAY),
    ] = 30.0
    body_seconds: Annotated[
        float,
        Setting(
            "Seconds in which the body of a request must arrive, or the next piece of a stream.",
            above=0,
            at_most=_DAY,
        ),
    ] = 20.0
    drain_seconds: Annotated[
        float,
        Setting("Seconds to finish accepted requests after SIGTERM.", at_least=0, at_most=_DAY),
    ] = 30.0
    header_seconds: Annotated[
        float,
        Setting("Seconds in which the headers of a request must arrive.", above=0, at_most=_DAY),
    ] = 10.0
    stall_seconds: Annotated[
        float,
        Setting(
            "Seconds after which a client that does not read its answer is dropped.", above=0, at_most=_DAY
        ),
    ] = 60.0
    keep_alive_seconds: Annotated[
        float,
        Setting(
            "Seconds that an unused connection stays open; more than those of a proxy in front of the service.",
            above=0,
            at_most=_DAY,
        ),
    ] = 75.0
    max_connections: Annotated[
        int,
        Setting("Connections per worker; others are refused with status 503.", at_least=1, at_most=MAX_COUNT),
    ] = 4_096
    log_texts: Annotated[bool, Setting("Whether to log the texts of requests.")] = False
    limits: Annotated[Limits, Setting("What a text may have.")] = field(default_factory=Limits.for_service)

    def _check_together(self) -> None:
        if not self.models:
            raise ConfigError("models is empty", remedy="Name at least one model, such as sentiment.")
        names = [name for name, _ in map(_name_and_folder, self.models)]
        if len(set(names)) != len(names):
            raise ConfigError(f"two models have the same name: {', '.join(names)}")
        if self.token is not None and (not self.token or not self.token.isascii() or " " in self.token):
            raise ConfigError("token must be of ASCII characters without spaces, and not empty")
        if self.batch_nodes > self.queue_nodes:
            raise ConfigError("batch_nodes must not be more than queue_nodes")

    @property
    def sources(self) -> dict[str, str]:
        """What to load for each model, by the name that requests use."""
        return dict(map(_name_and_folder, self.models))

    @property
    def allowed_hosts(self) -> frozenset[str] | None:
        """The names under which the service may be called; None for any."""
        if not self.hosts and self.host in _LOOPBACK:
            # A page from elsewhere whose name points to the loopback must not reach the service.
            return frozenset(_LOOPBACK)
        return None if not self.hosts or "*" in self.hosts else frozenset(map(str.lower, self.hosts))

    @classmethod
    def gather(
        cls,
        file: str | Path | None = None,
        environment: Mapping[str, str] | None = None,
        values: Mapping[str, Any] | None = None,
    ) -> Self:
        """The settings of a file, then of environment variables, then of options; the last one counts.

        Args:
            file: A TOML file.
            environment: Variables such as LEXITREE_SERVE_PORT; by default those of the process.
            values: Settings by dotted name, such as `{"limits.words": 500}`.

        Raises:
            FileError: The file cannot be read or holds settings that are not accepted.
            ConfigError: The other settings are not accepted.
        """
        settings = cls() if file is None else cls.from_toml(file)
        variables = os.environ if environment is None else environment
        given = cls.values_from_environment(ENVIRONMENT_PREFIX, variables)
        return settings.with_values({**given, **(values or {})})


def _name_and_folder(model: str) -> tuple[str, str]:
    """`mine=runs/mine/model` is called `mine`; anything else is called what it is."""
    name, sign, folder = model.partition("=")
    return (name, folder) if sign else (model, model)
