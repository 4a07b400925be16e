"""Little Python scripts stand in for parsers: quick, slow, late, dying, garbled, endless."""

from __future__ import annotations

import gc
import itertools
import os
import subprocess
import sys
import textwrap
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lexitree.errors import ConfigError, ParseMismatchError, ParseRefusedError, ParserError
from lexitree.parsers.adapters import CommandParser, penn_spelling
from lexitree.parsers.adapters import conversation as conversation_module
from lexitree.trees.brackets import tree_to_brackets
from tests.command import is_alive

SENTENCES = [["the", "film", "works"], ["it", "does"], ["yes"]]
FLAT = ["(S (W the) (W film) (W works))", "(S (W it) (W does))", "(W yes)"]

PRELUDE = """
import os, subprocess, sys, time
def tree(line):
    leaves = " ".join(f"(W {word})" for word in line.split())
    return f"(ROOT (S {leaves}))" if " " in line.strip() else f"(ROOT {leaves})"
"""
FLUSHING = "for line in sys.stdin: print(tree(line), flush=True)"
BUFFERING = "for line in sys.stdin: print(tree(line))"
AT_THE_END = "for line in sys.stdin.readlines(): print(tree(line))"

MakeParser = Callable[..., CommandParser]


@pytest.fixture
def make_parser(tmp_path: Path) -> MakeParser:
    def make(script: str, **options: Any) -> CommandParser:
        path = tmp_path / "parser.py"
        path.write_text(PRELUDE + textwrap.dedent(script), encoding="utf-8")
        settings: dict[str, Any] = {"timeout": 20.0, "environment": {"PYTHONIOENCODING": "utf-8"}}
        return CommandParser([sys.executable, str(path)], **(settings | options))

    return make


def parse(parser: CommandParser, sentences: Any = SENTENCES) -> list[str]:
    with parser:
        return [tree_to_brackets(tree) for tree in parser.parse_all(sentences)]


def wait_until_dead(number: int) -> bool:
    for _ in range(100):
        if not is_alive(number):
            return True
        time.sleep(0.05)
    return False


# --- answers in order, whatever the buffering --------------------------------------------------------------------


@pytest.mark.parametrize("script", [FLUSHING, BUFFERING, AT_THE_END])
def test_a_tree_for_each_sentence(make_parser: MakeParser, script: str) -> None:
    parser = make_parser(script)
    assert parse(parser) == FLAT
    assert parse(parser, []) == []
    assert parser.report.num_sentences == 3
    assert parser.report.num_refused == 0


@pytest.mark.parametrize("script", [FLUSHING, BUFFERING, AT_THE_END])
def test_no_pipe_is_ever_full_on_both_sides(
    make_parser: MakeParser, script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """About 1 MB each way, with fewer sentences in hand than any buffer holds."""
    monkeypatch.setattr(conversation_module, "PATIENCE_SECONDS", 0.1)
    sentences = [[f"w{number}"] * 40 for number in range(4_000)]
    parser = make_parser(script, read_ahead=10)
    assert sum(1 for _ in parser.parse_all(sentences)) == 4_000


def test_a_sentence_longer_than_a_pipe(make_parser: MakeParser) -> None:
    sentence = ["word"] * 100_000
    assert next(make_parser(FLUSHING).parse_all([sentence])).num_words == 100_000


def test_sentences_are_read_only_a_little_ahead(make_parser: MakeParser) -> None:
    num_read = 0

    def sentences() -> Iterator[list[str]]:
        nonlocal num_read
        for number in itertools.count():
            num_read = number
            yield [f"w{number}"]

    trees = make_parser(FLUSHING, read_ahead=5).parse_all(sentences())
    for number in range(50):
        assert next(trees).words == (f"w{number}",)
        assert num_read <= number + 6
    trees.close()  # type: ignore[attr-defined]


def test_a_command_that_is_busy_is_not_given_more(
    make_parser: MakeParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation_module, "PATIENCE_SECONDS", 0.05)
    slow = (
        "while line := sys.stdin.buffer.raw.read(20): time.sleep(.3); print(tree(line.decode()), flush=True)"
    )
    num_read = 0

    def sentences() -> Iterator[list[str]]:
        nonlocal num_read
        for number in range(100):
            num_read = number
            yield [f"{number:019}"]

    trees = make_parser(slow, read_ahead=4).parse_all(sentences())
    assert [next(trees).num_words for _ in range(3)] == [1, 1, 1]
    assert num_read <= 7
    trees.close()  # type: ignore[attr-defined]


def test_memory_does_not_grow_with_the_input(make_parser: MakeParser) -> None:
    trees = make_parser(FLUSHING, read_ahead=100).parse_all(["a", "b"] for _ in range(4_000))
    next(trees)
    tracemalloc.start()
    try:
        assert sum(1 for _ in trees) == 3_999
        # Half of what the sentences alone would take.
        assert tracemalloc.get_traced_memory()[1] < 400_000
    finally:
        tracemalloc.stop()


# --- what is read ------------------------------------------------------------------------------------------------


def test_trees_over_several_lines(make_parser: MakeParser) -> None:
    script = """
    for line in sys.stdin:
        print(tree(line).replace(" (", "\\n   ("), end="\\n\\n")
    """
    assert parse(make_parser(script)) == FLAT


def test_words_come_back_as_they_went(make_parser: MakeParser) -> None:
    words = [
        "(",
        ")",
        "[",
        "{",
        "1/2",
        "a\\/b",
        "*",
        '"',
        "``",
        "’s",
        "naïve",
        "東京",
        "😀",
        "a\xa0b",
        "c\u2028d",
        "\x85",
        "-LRB-",
    ]
    for spelling in ({}, {"spelling": penn_spelling}):
        assert next(make_parser(FLUSHING, **spelling).parse_all([words])).words == tuple(words)


def test_another_encoding(make_parser: MakeParser) -> None:
    latin = {"encoding": "latin-1", "environment": {"PYTHONIOENCODING": "latin-1"}}
    assert next(make_parser(FLUSHING, **latin).parse_all([["naïve"]])).words == ("naïve",)
    with pytest.raises(ParserError, match="sentence 1 cannot be encoded in latin-1"):
        list(make_parser(FLUSHING, **latin).parse_all([["東京"]]))
    with pytest.raises(ConfigError, match="unknown text encoding"):
        make_parser(FLUSHING, encoding="no-such")


# --- what goes wrong ---------------------------------------------------------------------------------------------


def test_a_command_that_dies_in_the_middle(make_parser: MakeParser) -> None:
    script = """
    print(tree(sys.stdin.readline()), flush=True)
    print("out of luck", file=sys.stderr)
    sys.exit(3)
    """
    trees = make_parser(script).parse_all(SENTENCES)
    assert next(trees).num_words == 3
    with pytest.raises(ParserError, match=r"exit code 3 at sentence 2: it wrote 1 tree") as caught:
        list(trees)
    assert "out of luck" in str(caught.value)


def test_a_command_that_dies_at_once_under_much_input(make_parser: MakeParser) -> None:
    with pytest.raises(ParserError, match=r"exit code 1 at sentence 1[^\d]"):
        list(make_parser("raise SystemExit('no model')").parse_all(["word"] * 50 for _ in range(10_000)))


def test_too_few_trees(make_parser: MakeParser) -> None:
    script = "for line in list(sys.stdin)[:2]: print(tree(line))"
    with pytest.raises(ParserError, match=r"ended at sentence 3: it wrote 2 trees and owes at least 1 more"):
        parse(make_parser(script))


@pytest.mark.parametrize(
    "script",
    [
        "for line in sys.stdin: print(tree(line), tree(line))",
        "for line in sys.stdin: print(tree(line))\nprint(tree('one more'))",
        "for line in sys.stdin: print(tree(line), flush=True)\ntime.sleep(.3); print('(')",
    ],
)
def test_too_many_trees(make_parser: MakeParser, script: str) -> None:
    with pytest.raises(ParserError, match=r"more trees than there are sentences|different words"):
        parse(make_parser(script))


def test_a_bad_end_is_not_passed_over(make_parser: MakeParser) -> None:
    with pytest.raises(ParserError, match="exit code 7 after its last answer"):
        parse(make_parser(BUFFERING + "\nsys.exit(7)"))


def test_endless_output_is_cut(make_parser: MakeParser) -> None:
    with pytest.raises(ParserError, match=r"different words|more trees"):
        parse(make_parser("while True: print('(W w)')"))


def test_garbled_trees(make_parser: MakeParser) -> None:
    script = "for line in sys.stdin: print('oops' if 'it' in line else tree(line))"
    with pytest.raises(ParserError, match=r"returned an invalid tree for sentence 2 \(it does\)") as caught:
        parse(make_parser(script, on_refused="flat"))
    assert "text outside of brackets" in str(caught.value)


@pytest.mark.parametrize("answer", ["(ROOT (S (W it)", "oops", "", "(())", "(W it) (W does)"])
def test_what_is_wrong_on_one_line_concerns_no_other(make_parser: MakeParser, answer: str) -> None:
    script = f"for line in sys.stdin: print({answer!r} if 'it' in line else tree(line))"
    parser = make_parser(script, layout="line", on_refused="flat")
    assert parse(parser) == [FLAT[0], "(X (_ it) (_ does))", FLAT[2]]
    assert [refusal.number for refusal in parser.report.refused] == [2]
    with pytest.raises(ParseRefusedError, match="sentence 2"):
        parse(make_parser(script, layout="line"))


def test_refused_sentences_among_free_trees(make_parser: MakeParser) -> None:
    script = "for line in sys.stdin: print('(())' if 'it' in line else tree(line))"
    assert parse(make_parser(script, on_refused="flat"))[1] == "(X (_ it) (_ does))"


def test_other_words(make_parser: MakeParser) -> None:
    with pytest.raises(ParseMismatchError, match="sentence 1 has different words"):
        parse(make_parser("for line in sys.stdin: print(tree(line.upper()))"))


def test_bytes_that_are_no_text(make_parser: MakeParser) -> None:
    with pytest.raises(ParserError, match="not valid utf-8 after line 0"):
        parse(make_parser("sys.stdout.buffer.write(b'(W \\xff)\\n')"))


@pytest.mark.parametrize("script", ["time.sleep(3600)", FLUSHING + "\ntime.sleep(3600)"])
def test_a_command_that_hangs(make_parser: MakeParser, script: str) -> None:
    """The command would sleep for an hour: that the test ends at all shows that it is not waited for."""
    with pytest.raises(ParserError, match=r"silent for 1 seconds, at sentence 1|still runs 1 seconds"):
        parse(make_parser(script, timeout=1.0))


def test_a_slow_command_is_waited_for(make_parser: MakeParser) -> None:
    assert (
        parse(make_parser("for line in sys.stdin: time.sleep(.4); print(tree(line), flush=True)", timeout=5))
        == FLAT
    )


def test_time_that_the_caller_takes_does_not_count(make_parser: MakeParser) -> None:
    trees = make_parser(
        "for line in sys.stdin: time.sleep(.2); print(tree(line), flush=True)", timeout=1.5
    ).parse_all(SENTENCES)
    next(trees)
    time.sleep(2)
    assert len(list(trees)) == 2


def test_much_on_standard_error_blocks_nothing(make_parser: MakeParser) -> None:
    script = "for line in sys.stdin: print('x' * 200_000, file=sys.stderr); print(tree(line))"
    assert parse(make_parser(script)) == FLAT


def test_a_program_that_is_not_there() -> None:
    with pytest.raises(ParserError, match="'no-such-program' cannot be started"):
        list(CommandParser("no-such-program --option").parse_all(SENTENCES))


@pytest.mark.parametrize(
    "options", [{"command": ""}, {"command": "x", "read_ahead": 0}, {"command": "x", "timeout": 0}]
)
def test_settings_out_of_range(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        CommandParser(**options)


# --- one process, or a process each ------------------------------------------------------------------------------

NUMBERED = "for line in sys.stdin: print(f'(P{os.getpid()} {line.strip()})', flush=True)"


def test_a_command_that_stays_open_serves_several_calls(make_parser: MakeParser) -> None:
    with make_parser(NUMBERED, stays_open=True) as parser:
        labels = {next(parser.parse_all([[word]])).label for word in ("a", "b", "c")}
        labels |= {tree.label for tree in parser.parse_all([["d"], ["e"]])}
        assert len(labels) == 1
    number = int(labels.pop()[1:])
    assert wait_until_dead(number)
    with parser:
        assert next(iter(parser.parse_all([["a"]]))).label != f"P{number}"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_leaves_the_command_to_the_one_that_started_it(make_parser: MakeParser) -> None:
    with make_parser(NUMBERED, stays_open=True) as parser:
        (before,) = parser.parse_all([["a"]])
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            try:
                list(parser.parse_all([["b"]]))
            except ParserError as error:
                parser.close()
                os.write(writing, error.message.encode())
            finally:
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as answer:
            assert "started before this process was forked" in answer.read()
        os.waitpid(child, 0)
        (after,) = parser.parse_all([["c"]])
        assert after.label == before.label


def test_a_call_that_is_left_early_cannot_disturb_the_next(make_parser: MakeParser) -> None:
    with make_parser(NUMBERED, stays_open=True) as parser:
        trees = parser.parse_all([["a"], ["b"], ["c"]])
        first = next(trees)
        with pytest.raises(ParserError, match="still at work"):
            list(parser.parse_all([["x"]]))
        trees.close()  # type: ignore[attr-defined]
        (again,) = parser.parse_all([["y"]])
        assert again.words == ("y",)
        assert again.label != first.label


def test_a_command_that_ended_between_calls_is_started_again(make_parser: MakeParser) -> None:
    with make_parser("print(tree(sys.stdin.readline()), flush=True)", stays_open=True) as parser:
        for word in ("a", "b"):
            assert [tree.words for tree in parser.parse_all([[word]])] == [(word,)]
            time.sleep(0.3)


def test_closing_in_the_middle_of_a_call_is_noticed(make_parser: MakeParser) -> None:
    parser = make_parser(NUMBERED, stays_open=True, read_ahead=1)
    trees = parser.parse_all([["a"], ["b"]])
    next(trees)
    parser.close()
    with pytest.raises(ParserError, match="ended"):
        list(trees)


# --- nothing is left behind --------------------------------------------------------------------------------------


@pytest.mark.parametrize("leave", ["close", "forget", "error"])
def test_the_command_ends_when_the_loop_is_left(make_parser: MakeParser, leave: str) -> None:
    parser = make_parser(NUMBERED)
    trees = parser.parse_all(itertools.repeat(["a"]))
    number = int(next(trees).label[1:])
    assert is_alive(number)
    if leave == "close":
        trees.close()  # type: ignore[attr-defined]
    elif leave == "forget":
        del trees
        gc.collect()
    else:
        with pytest.raises(KeyboardInterrupt):
            trees.throw(KeyboardInterrupt)  # type: ignore[attr-defined]
    assert wait_until_dead(number)


def test_a_command_that_will_not_end_is_killed_with_its_children(make_parser: MakeParser) -> None:
    script = """
    import signal
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen([sys.executable, "-c", "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(100)"])
    for line in sys.stdin: print(f"(P{os.getpid()}-{child.pid} {line.strip()})", flush=True)
    """
    trees = make_parser(script).parse_all(itertools.repeat(["a"]))
    label = next(trees).label
    trees.close()  # type: ignore[attr-defined]
    assert all(wait_until_dead(int(number)) for number in label[1:].split("-"))


def test_an_error_in_the_sentences_ends_the_command(make_parser: MakeParser) -> None:
    def sentences() -> Iterator[list[str]]:
        yield ["a"]
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(make_parser(AT_THE_END).parse_all(sentences()))


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX has them")
def test_ctrl_c_ends_the_command(tmp_path: Path) -> None:
    script = tmp_path / "hanging.py"
    script.write_text("import os, time\nprint(f'(W{os.getpid()} a)', flush=True)\ntime.sleep(100)\n")
    # What runs in the background may have been told to ignore it.
    program = f"""
import signal, sys
from lexitree.parsers.adapters import CommandParser
signal.signal(signal.SIGINT, signal.default_int_handler)
for tree in CommandParser([sys.executable, {str(script)!r}], read_ahead=1).parse_all([["a"], ["b"]]):
    print(tree.label[1:], flush=True)
"""
    caller = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert caller.stdout is not None
    number = int(caller.stdout.readline())
    assert is_alive(number)
    caller.send_signal(2)
    _, complaints = caller.communicate(timeout=30)
    assert "KeyboardInterrupt" in complaints
    assert wait_until_dead(number)


# --- the shell ---------------------------------------------------------------------------------------------------


def test_a_string_is_cut_into_words_without_a_shell(tmp_path: Path) -> None:
    script = tmp_path / "a parser.py"
    script.write_text(PRELUDE + "assert sys.argv[1:] == ['a b', ';', 'exit']\n" + FLUSHING)
    parser = CommandParser(f"'{sys.executable}' '{script}' 'a b' ; exit")
    assert parse(parser) == FLAT


@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
def test_a_shell_only_where_it_is_asked_for() -> None:
    command = "sed 's/.*/(W &)/' | cat"
    assert parse(CommandParser(command, shell=True, timeout=20), [["a"], ["b"]]) == ["(W a)", "(W b)"]
    with pytest.raises(ParserError):
        parse(CommandParser(command, timeout=20), [["a"], ["b"]])
