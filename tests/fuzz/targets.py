"""All targets: importing the modules that define them fills the registry."""

from tests.fuzz import reader_targets, saved_targets, service_targets, settings_targets, text_targets
from tests.fuzz.driver import TARGETS

__all__ = [
    "TARGETS",
    "reader_targets",
    "saved_targets",
    "service_targets",
    "settings_targets",
    "text_targets",
]
