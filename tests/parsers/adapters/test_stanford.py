"""The real parser where LEXITREE_STANFORD_PARSER and Java lead to it; else a script that writes as it does."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from lexitree.errors import ConfigError, FileError, ParseMismatchError, ParseRefusedError, ParserError
from lexitree.parsers.adapters import StanfordParser
from lexitree.parsers.adapters.stanford import KBestAnswers, find_jars, find_java
from lexitree.trees.brackets import tree_to_brackets

REAL = os.environ.get("LEXITREE_STANFORD_PARSER", "")
needs_parser = pytest.mark.skipif(
    not REAL or not shutil.which("java"),
    reason="needs Java and the folder of the Stanford parser's jars in LEXITREE_STANFORD_PARSER",
)

FAKE_JAVA = f"""#!{sys.executable}
import sys
arguments = sys.argv[1:]
assert arguments[arguments.index("-cp") + 2] == "edu.stanford.nlp.parser.lexparser.LexicalizedParser"
assert "-tokenized" in arguments and arguments[-1] == "-", arguments
assert arguments[-2].endswith(".ser.gz"), arguments
longest = int(arguments[arguments.index("-maxLength") + 1])
k = int(arguments[arguments.index("-printPCFGkBest") + 1]) if "-printPCFGkBest" in arguments else 0
print("Loading parser from serialized file ...", file=sys.stderr, flush=True)
for line in sys.stdin:
    words = line.split()
    if len(words) > longest:
        print("(())", flush=True)
        continue
    leaves = " ".join(f"(NN {{word}})" for word in words)
    print(f"(ROOT (NP {{leaves}}))", flush=True)
    for number in range(min(k, len(words))):
        print(f"# Parse {{number + 1}} with score {{-10.5 - number}}")
        print(f"(ROOT (X{{number}} {{leaves}}))", flush=True)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in (
        "stanford-parser.jar",
        "stanford-parser-3.3.1-models.jar",
        "stanford-parser-3.3.1-sources.jar",
        "ejml.jar",
    ):
        (tmp_path / name).touch()
    java = tmp_path / "java"
    java.write_text(FAKE_JAVA)
    java.chmod(0o755)
    return tmp_path


def fake(folder: Path, **options: object) -> StanfordParser:
    return StanfordParser(folder, java=str(folder / "java"), timeout=20, **options)  # type: ignore[arg-type]


def test_one_process_parses_all(folder: Path) -> None:
    with fake(folder) as parser:
        assert [tree_to_brackets(tree) for tree in parser.parse_all([["a", "b"]])] == ["(NP (NN a) (NN b))"]
        process = parser._command._open  # pyright: ignore[reportPrivateUsage]
        assert [tree.words for tree in parser.parse_all([["(", "c", ")"]])] == [("(", "c", ")")]
        assert parser._command._open is process is not None  # pyright: ignore[reportPrivateUsage]
    assert parser.report.num_sentences == 2


def test_sentences_that_are_too_long(folder: Path) -> None:
    with fake(folder, max_length=2) as parser, pytest.raises(ParseRefusedError, match="sentence 2"):
        list(parser.parse_all([["a", "b"], ["a", "b", "c"]]))
    with fake(folder, max_length=2, on_refused="flat") as parser:
        trees = list(parser.parse_all([["a", "b", "c"], ["a"]]))
    assert [tree.label for tree in trees] == ["X", "NP"]
    assert (parser.report.num_sentences, parser.report.num_refused) == (2, 1)


def test_k_best_trees_have_scores(folder: Path) -> None:
    with fake(folder, max_length=3, on_refused="flat") as parser:
        lists = list(parser.parse_k_best([["a", "b", "c"], ["a"], ["a"] * 4, ["a", "b"]], 2))
    assert [[(one.tree.label, one.log_probability) for one in trees] for trees in lists] == [
        [("X0", -10.5), ("X1", -11.5)],
        [("X0", -10.5)],
        [("X", float("-inf"))],
        [("X0", -10.5), ("X1", -11.5)],
    ]
    assert (parser.report.num_sentences, parser.report.num_refused) == (4, 1)
    with pytest.raises(ConfigError):
        list(parser.parse_k_best([["a"]], 0))


def test_k_best_lists_end_where_the_next_begins() -> None:
    reader = KBestAnswers()
    lines = [
        "(A b)",
        "# Parse 1 with score -1.5E1",
        "(A b)",
        "(())",
        "(C d)",
        "# Parse 1 with score -2",
        "(C d)",
        "# Parse 2 with score -3",
        "(E d)",
    ]
    found = [one for number, line in enumerate(lines, 1) for one in reader.feed(number, line)] + list(
        reader.finish()
    )
    assert [(one.best.text, [score for score, _ in one.scored]) for one in found] == [
        ("(A b)", [-15.0]),
        ("(())", []),
        ("(C d)", [-2.0, -3.0]),
    ]


def test_jars_are_found_without_sources(folder: Path) -> None:
    assert [jar.name for jar in find_jars(folder)] == [
        "ejml.jar",
        "stanford-parser-3.3.1-models.jar",
        "stanford-parser.jar",
    ]


def test_a_folder_without_jars(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="holds no jar file") as caught:
        StanfordParser(tmp_path)
    assert "https://nlp.stanford.edu" in str(caught.value)
    with pytest.raises(FileError, match="is not a folder"):
        StanfordParser(tmp_path / "nothing")


def test_java_is_looked_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ParserError, match="needs Java, but 'no-such-java' was not found"):
        StanfordParser(folder, java="no-such-java")
    (folder / "bin").mkdir()
    shutil.copy(folder / "java", folder / "bin" / "java")
    monkeypatch.setenv("JAVA_HOME", str(folder))
    assert find_java() == str(folder / "bin" / "java")
    monkeypatch.setenv("JAVA_HOME", "")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ParserError, match="JAVA_HOME"):
        find_java()


def test_settings_out_of_range(folder: Path) -> None:
    with pytest.raises(ConfigError, match="max_length"):
        fake(folder, max_length=0)


# --- the real one ------------------------------------------------------------------------------------------------

ODD_WORDS = [
    *[
        "He",
        "paid",
        "(",
        "1/2",
        ")",
        "[",
        "or",
        "1\\/2",
        "]",
        "{",
        "*",
        "}",
        '"',
        "so",
        '"',
        "``",
        "''",
        "“",
        "x",
        "”",
    ],
    *[
        "naïve",
        "東京",
        "😀",
        "a\xa0b",
        "c\u2028d",
        "e\u3000f",
        "g\u200bh",
        "\ufeff",
        "*NL*",
        "-NONE-",
        "<unk>",
        "=",
    ],
    *["colour", "’s", "…", "—", "&amp;", "#", "-LRB-", "\\", "a\\", "\x85", "."],
]


@pytest.mark.slow
@needs_parser
def test_the_real_parser_gives_penn_trees() -> None:
    with StanfordParser(REAL, memory="1g") as parser:
        (tree,) = parser.parse_all([["The", "film", "is", "good", "."]])
        assert tree_to_brackets(tree) == "(S (NP (DT The) (NN film)) (VP (VBZ is) (ADJP (JJ good))) (. .))"
        (again,) = parser.parse_all([["Is", "it", "?"]])
        assert again.words == ("Is", "it", "?")


@pytest.mark.slow
@needs_parser
def test_the_real_parser_gives_all_words_back() -> None:
    sentences = [ODD_WORDS, *([word] for word in ODD_WORDS), ["(", *ODD_WORDS[::-1]]]
    with StanfordParser(REAL, memory="1g", on_refused="flat") as parser:
        trees = list(parser.parse_all(sentences))
    assert [tree.words for tree in trees] == [tuple(sentence) for sentence in sentences]
    assert parser.report.num_refused == 0


@pytest.mark.slow
@needs_parser
def test_the_real_parser_refuses_long_sentences() -> None:
    with StanfordParser(REAL, memory="1g", max_length=5, on_refused="flat") as parser:
        trees = list(parser.parse_all([["a"] * 6, ["a"] * 5]))
    assert [tree.num_words for tree in trees] == [6, 5]
    assert [refusal.number for refusal in parser.report.refused] == [1]


@pytest.mark.slow
@needs_parser
def test_the_real_parser_gives_k_best_trees() -> None:
    with StanfordParser(REAL, memory="1g", max_length=10, on_refused="flat") as parser:
        long, short, odd = parser.parse_k_best(
            [["Time", "flies", "like", "an", "arrow", "."], ["a"] * 11, ["(", "yes", ")"]], 8
        )
    assert len({tree_to_brackets(one.tree) for one in long}) == 8
    assert [one.log_probability for one in long] == sorted(
        (one.log_probability for one in long), reverse=True
    )
    assert len(short) == 1
    assert all(one.tree.words == ("(", "yes", ")") for one in odd)


@pytest.mark.slow
@needs_parser
def test_a_model_that_is_not_there() -> None:
    with StanfordParser(REAL, model="no-such-model.ser.gz") as parser, pytest.raises(ParserError) as caught:
        list(parser.parse_all([["a"]]))
    assert "no-such-model" in str(caught.value)


@pytest.mark.slow
@needs_parser
def test_a_wrong_sentence_is_no_silent_shift() -> None:
    with (
        StanfordParser(REAL, memory="1g", spelling=lambda words: ["x y"]) as parser,
        pytest.raises(ParseMismatchError),
    ):
        list(parser.parse_all([["a"]]))
