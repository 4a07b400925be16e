"""Ways to damage an input: blindly, byte by byte, or by its structure, so that damage gets past the first check."""

from __future__ import annotations

import gzip
import io
import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import PurePath
from random import Random
from typing import Any

Case = dict[str, bytes]
"""An input: files by name. Entries whose names begin with `=` are parameters, which are not damaged."""

Mutation = Callable[[bytes, Random, bytes], bytes]
"""Takes data, a source of randomness, and other data of which it may use parts."""

MAX_BYTES = 1 << 16
"""What grows larger is cut, so that every case stays quick."""


def pieces(text: str) -> tuple[str, ...]:
    """What stands between the spaces of a text."""
    return tuple(text.split(" "))


NUMBERS = (
    *pieces("0 -0 -1 1 2 0.5 1e-320 1e999 -1e999 NaN Infinity 1_0 0x10 ٣ 255 65536 100000 2147483648"),
    *pieces("-9223372036854775809 9223372036854775807 9223372036854775808 18446744073709551616"),
    *("1" + "0" * 20, "1" * 5000, "0." + "1" * 400),
)
TEXTS = (
    *pieces("\t \n \r \0 \x1b[31m \x7f \x85 \u00a0 \ufeff \u2028 \u2029 \u202e \u200f \u2066 \u200d \ud800"),
    *pieces(
        "\udcff \U0010ffff \U0001f3f4\u200d\u2620\ufe0f \ufdfa ( ) [ { (a \" ' \\ -LRB- _ %s <script> ]]>"
    ),
    *pieces('</style> --><!-- "onload=" &amp; &#0; =1+1 @a - -- .. null true None label words . !!!! ...'),
    *pieces("e.g. a.b@c.de http://x/ http://[ // <unk> @ : , ; # .5 a=b "),
    *(" ", "\u0301" * 40),
)
LONG_TEXTS = tuple(piece * 1500 for piece in (*pieces('( [ a a. ! \n " \0 {"a":'), "(a ", "a "))
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 0.5, -0.0, 65536, 2**31, 2**40, 2**63, -(2**63) - 1, 2**64, 10**20),
    *(float("inf"), float("nan"), [], {}, [[]], [None], {"": None}, {"a": {"b": []}}, ["a", "a"], [1, "a"]),
)


def encoded(text: str) -> bytes:
    """A text as bytes, half characters included."""
    return text.encode("utf-8", "surrogatepass")


def _draw_text(rng: Random) -> bytes:
    """A troublesome text; seldom a long one, for these take time."""
    return encoded(rng.choice(TEXTS if rng.random() < 0.98 else LONG_TEXTS))


def _edit(data: bytes, rng: Random, other: bytes) -> tuple[int, int, bytes]:
    """Draw an edit: a start, an end, and what replaces all between."""
    start, how = rng.randrange(len(data) + 1), rng.randrange(8)
    end = min(len(data), start + rng.choice((1, 4, 16, 64, len(data))))
    if how == 0:  # another bit, or another byte
        bits = data[start] ^ (1 << rng.randrange(8)) if start < end else rng.randrange(256)
        return start, start + 1, bytes([bits])
    if how == 1:
        return start, len(data), b""
    if how == 2:
        return start, end, b""
    if how == 3:
        return start, start, data[start:end] * (30 if rng.random() < 0.02 else 1)
    if how == 4:
        return start, len(data), other[rng.randrange(len(other) + 1) :]
    if how == 5:
        return start, start, _draw_text(rng)
    found = list(re.finditer(rb"-?[0-9][0-9.]*" if how == 6 else rb"\w+", data))
    start, end = rng.choice(found).span() if found else (start, start)
    return start, end, rng.choice(NUMBERS).encode() if how == 6 else _draw_text(rng)


def mutate_bytes(data: bytes, rng: Random, other: bytes) -> bytes:
    """Damage data of any kind by one edit or several."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        start, end, new = _edit(data, rng, other)
        data = (data[:start] + new + data[end:])[:MAX_BYTES]
    return data


def _draw_place(whole: list[Any], rng: Random) -> tuple[Any, Any]:
    """Walk down from the root: a key near it is drawn more often than one of thousands below another."""
    container, key = whole, 0
    while isinstance(inner := container[key], dict | list) and inner and rng.random() < 0.9:
        container, key = inner, rng.choice(list(inner) if isinstance(inner, dict) else range(len(inner)))
    return container, key


def mutate_value(value: Any, rng: Random) -> Any:
    """Put something else into one place of nested lists and tables, or remove, rename or nest what is there."""
    whole = [value]
    container, key = _draw_place(whole, rng)
    how = rng.randrange(6)
    if how == 0 and container is not whole:
        del container[key]
    elif how == 1 and isinstance(container, dict):
        container[rng.choice(TEXTS)] = container.pop(key)
    elif how == 2:
        container[key] = [container[key]] if rng.random() < 0.5 else {"a": container[key]}
    elif how == 3:
        other, other_key = _draw_place(whole, rng)
        # A copy, for a value cannot hold itself.
        container[key] = json.loads(json.dumps(other[other_key]))
    else:
        container[key] = rng.choice(VALUES if rng.random() < 0.7 else TEXTS)
    return whole[0]


def mutate_json(data: bytes, rng: Random, other: bytes) -> bytes:
    """Damage a value of a JSON document; 1e999 is one of the numbers that it may become."""
    value = mutate_value(json.loads(data), rng)
    return encoded(json.dumps(value, ensure_ascii=rng.random() < 0.9).replace("Infinity", "1e999"))


def mutate_json_lines(data: bytes, rng: Random, other: bytes) -> bytes:
    lines = data.split(b"\n")
    place = rng.randrange(len(lines))
    lines[place] = mutate_json(lines[place], rng, other)
    return b"\n".join(lines)


def mutate_toml(data: bytes, rng: Random, other: bytes) -> bytes:
    """Give one key of a TOML document another value or name, or put it into another table."""
    lines = data.decode().split("\n")
    place = rng.choice([number for number, line in enumerate(lines) if "=" in line])
    line, name = lines[place], lines[place].partition("=")[0]
    odd = ("inf", "nan", "1979-05-27", "12:00:00", "'a'", '"\\uD800"', "{a = 1}", "[[1]]", "true", "[" * 500)
    value = json.dumps(rng.choice(TEXTS)) if rng.random() < 0.3 else rng.choice((*NUMBERS, *odd))
    changes = (f"{name}= {value}", f"a.b = {value}\n{line}", f"{name}.a = 1", f"[a]\n{line}", name)
    lines[place] = rng.choice(changes)
    return encoded("\n".join(lines))


def mutate_gzip(data: bytes, rng: Random, other: bytes) -> bytes:
    return gzip.compress(mutate_bytes(gzip.decompress(data), rng, other), 1, mtime=0)


def mutate_zip(data: bytes, rng: Random, other: bytes) -> bytes:
    """Damage the name or the content of a member; its checksum is right again afterwards."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    place = rng.randrange(len(members))
    name, content = members[place]
    if rng.random() < 0.2:
        members[place] = (rng.choice(("", "a/", "a\0b", "../a", "words.npy", "é" * 200)), content)
    else:
        members[place] = (name, mutate_bytes(content, rng, members[place - 1][1]))
    return zip_bytes(members)


def zip_bytes(members: Iterable[tuple[str, bytes]]) -> bytes:
    """An archive without dates, so that it is the same each time."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content)
    return written.getvalue()


def mutate_safetensors(data: bytes, rng: Random, other: bytes) -> bytes:
    """Damage the header, the record that a checkpoint has in it, or the numbers."""
    size = int.from_bytes(data[:8], "little")
    header, tensors = json.loads(data[8 : 8 + size]), data[8 + size :]
    record = header.get("__metadata__", {}).get("record")
    if rng.random() < 0.3:
        # Of another length, they would not be looked at.
        tensors = mutate_bytes(tensors, rng, other)[: len(tensors)].ljust(len(tensors), b"\0")
    elif record and rng.random() < 0.8:
        header["__metadata__"]["record"] = mutate_json(record.encode(), rng, b"").decode("utf-8", "replace")
    else:
        header = mutate_value(header, rng)
    written = json.dumps(header).encode()
    return len(written).to_bytes(8, "little") + written + tensors


_BY_SUFFIX: dict[str, Mutation] = {
    ".json": mutate_json,
    ".jsonl": mutate_json_lines,
    ".toml": mutate_toml,
    ".gz": mutate_gzip,
    ".zip": mutate_zip,
    ".npz": mutate_zip,
    ".safetensors": mutate_safetensors,
}
_NOT_AS_NAMED = (
    ValueError,
    LookupError,
    AttributeError,
    RecursionError,
    OSError,
    zlib.error,
    zipfile.BadZipFile,
)


def mutate_case(case: Case, rng: Random, other: Case) -> Case:
    """Damage one file of an input; seldom, exchange files with another input or among each other before."""
    changed = dict(case)
    names = [name for name in case if not name.startswith("=")]
    name, second = rng.choice(names), rng.choice(names)
    if rng.random() < 0.05:
        changed[name], changed[second] = case[second], other.get(name, case[name])
    mutation = _BY_SUFFIX.get(PurePath(name).suffix, mutate_bytes) if rng.random() < 0.75 else mutate_bytes
    try:
        changed[name] = mutation(changed[name], rng, other.get(name, b""))
    except _NOT_AS_NAMED:
        changed[name] = mutate_bytes(changed[name], rng, other.get(name, b""))
    return changed
