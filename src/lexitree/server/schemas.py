"""JSON schemas of settings classes, from the same declarations that check the values."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from lexitree.settings import REQUIRED, DeclaredSetting, Setting, Settings, plain_value

Schema = dict[str, Any]

_PLAIN: Mapping[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    NoneType: "null",
}
_RANGES = {
    "at_least": "minimum",
    "above": "exclusiveMinimum",
    "at_most": "maximum",
    "below": "exclusiveMaximum",
}


def settings_schema(cls: type[Settings]) -> Schema:
    """The schema of the JSON objects that `cls.from_dict` accepts, relations between settings aside."""
    declared = cls.declared()
    return {
        "type": "object",
        "description": (cls.__doc__ or "").partition("\n")[0],
        "properties": {name: _setting_schema(each) for name, each in declared.items()},
        "required": [name for name, each in declared.items() if each.default is REQUIRED],
        "additionalProperties": False,
    }


def _setting_schema(declared: DeclaredSetting) -> Schema:
    schema = _type_schema(declared.type, declared.setting)
    known = {} if declared.default is REQUIRED else {"default": plain_value(declared.default)}
    return {**schema, **known, "description": declared.setting.help}


def _type_schema(kind: Any, setting: Setting) -> Schema:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (UnionType, Union):
        return {"anyOf": [_type_schema(each, setting) for each in inner]}
    if origin is Literal:
        return {"type": "string", "enum": list(inner)}
    if origin is tuple:
        unique = {"uniqueItems": True} if setting.unique else {}
        return {"type": "array", "items": _type_schema(inner[0], setting), **unique}
    if isinstance(kind, type) and issubclass(kind, Settings):
        return settings_schema(kind)
    if kind not in _PLAIN:
        return {}
    ranges = {word: bound for name, word in _RANGES.items() if (bound := getattr(setting, name)) is not None}
    return {"type": _PLAIN[kind], **(ranges if kind in (int, float) else {})}
