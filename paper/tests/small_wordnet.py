"""A WordNet of a few nouns, in the form of the real files."""

from __future__ import annotations

from pathlib import Path

_LICENCE = "  1 A licence stands here, indented.\n"

_SYNSETS = {
    # number: (words, kind of pointer upwards, number above)
    "00000100": (("entity",), "", ""),
    "00000200": (("person", "soul"), "@", "00000100"),
    "00000300": (("place",), "@", "00000100"),
    "00000400": (("city",), "@", "00000300"),
    "00000500": (("paris",), "@i", "00000400"),
    "00000600": (("child",), "@", "00000200"),
    "00000700": (("church",), "@", "00000300"),
    "00000800": (("lady",), "@", "00000200"),
}


def write_wordnet(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    index: dict[str, list[str]] = {}
    data = _LICENCE
    for number, (words, pointer, above) in _SYNSETS.items():
        for word in words:
            index.setdefault(word, []).append(number)
        named = " ".join(f"{word} 0" for word in words)
        pointers = f"002 ~ 00000999 n 0000 {pointer} {above} n 0000" if above else "001 ~ 00000999 n 0000"
        data += f"{number} 03 n {len(words):02x} {named} {pointers} | what it means; @ 00000999\n"
    # A second sense, which is less frequent.
    index["paris"].append("00000800")
    lines = (f"{word} n {len(found)} 1 @ {len(found)} 0 {' '.join(found)}\n" for word, found in index.items())
    (folder / "index.noun").write_text(_LICENCE + "".join(lines), encoding="utf-8")
    (folder / "data.noun").write_text(data, encoding="utf-8")
    (folder / "noun.exc").write_text("children child\n", encoding="utf-8")
    return folder
