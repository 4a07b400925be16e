"""The log of the service: one JSON object per line, on standard error."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}
"""What every record has; anything else was added by whoever wrote it."""
_LOGGERS = ("lexitree.server", "uvicorn", "uvicorn.error")


class JsonFormatter(logging.Formatter):
    """Writes a record as one line of JSON, in ASCII, so that nothing in it can look like another line."""

    def format(self, record: logging.LogRecord) -> str:
        """The record with its time, level and message first."""
        values: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            # What other libraries add for themselves, such as a clock of Ray, begins with an underscore.
            **{
                name: value
                for name, value in vars(record).items()
                if name not in _STANDARD and not name.startswith("_")
            },
        }
        if record.exc_info:
            values["traceback"] = self.formatException(record.exc_info)
        return json.dumps(values, default=str)


def configure_logs(level: int = logging.INFO) -> None:
    """Write the log of the service, and that of uvicorn, to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers = [handler] if name != "uvicorn.error" else []
        logger.setLevel(level)
        logger.propagate = name == "uvicorn.error"
