"""Against a server of our own that answers as CoreNLP's does, by its source and the clients of NLTK 3.10 and Stanza 1.15."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from lexitree.errors import ConfigError, ParseMismatchError, ParseRefusedError, ParserError
from lexitree.parsers.adapters import CoreNLPParser
from lexitree.parsers.adapters import corenlp as corenlp_module
from lexitree.trees.brackets import tree_to_brackets

Reply = Callable[[str], tuple[int, bytes]]


def parse_of(line: str) -> str:
    leaves = "\n    ".join(f"(NN {word})" for word in line.split(" "))
    return f"(ROOT\n  (NP {leaves}))"


def answer(text: str) -> tuple[int, bytes]:
    """One sentence for each line that is not blank, as with `ssplit.eolonly`, and words between spaces."""
    lines = [line for line in text.split("\n") if line.strip()]
    sentences = [
        {
            "index": number,
            "parse": parse_of(line),
            "tokens": [{"index": 1, "word": word} for word in line.split(" ")],
        }
        for number, line in enumerate(lines)
    ]
    return 200, json.dumps({"sentences": sentences}, ensure_ascii=False).encode()


class Server(ThreadingHTTPServer):
    """Answers with `reply`; remembers what it was asked."""

    daemon_threads = True
    reply: Reply
    announced: int = 0
    requests: list[tuple[dict[str, str], str]]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        assert self.headers["Content-Type"] == "text/plain; charset=utf-8"
        properties = json.loads(parse_qs(urlsplit(self.path).query)["properties"][0])
        self.server.requests.append((properties, text))
        code, body = self.server.reply(text)
        self.send_response(code)
        self.send_header("Content-Type", "application/json;charset=utf-8")
        self.send_header("Content-Length", str(self.server.announced or len(body)))
        self.end_headers()
        with contextlib.suppress(BrokenPipeError):
            self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server(("127.0.0.1", 0), Handler)
    server.reply, server.requests = answer, []
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def reply_with(body: str, code: int = 200) -> Reply:
    return lambda text: (code, body.encode())


def test_trees_in_batches(server: Server) -> None:
    parser = CoreNLPParser(server.url, batch_size=2)
    sentences = [["the", "film"], ["it", "works"], ["yes"]]
    trees = list(parser.parse_all(sentences))
    assert [tree_to_brackets(tree) for tree in trees] == [
        "(NP (NN the) (NN film))",
        "(NP (NN it) (NN works))",
        "(NP (NN yes))",
    ]
    assert [text for _, text in server.requests] == ["the film\nit works", "yes"]
    properties = server.requests[0][0]
    assert properties["tokenize.whitespace"] == properties["ssplit.eolonly"] == "true"
    assert properties["outputFormat"] == "json"
    assert "parse" in properties["annotators"]
    assert properties["timeout"] == "60000"


def test_words_come_back_as_they_went(server: Server) -> None:
    words = [
        "(",
        ")",
        "[",
        "1/2",
        '"',
        "``",
        "a%20b",
        "+",
        "&",
        "naïve",
        "東京",
        "😀",
        "a\xa0b",
        "c\u2028d",
        "\\",
        "</s>",
    ]
    assert next(CoreNLPParser(server.url).parse_all([words])).words == tuple(words)


def test_requests_stay_below_what_a_server_takes(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corenlp_module, "MAX_REQUEST_CHARACTERS", 30)
    sentences = [["word"] * 3] * 5 + [["word"] * 20]
    assert len(list(CoreNLPParser(server.url).parse_all(sentences))) == 6
    assert [text.count("\n") + 1 for _, text in server.requests] == [2, 2, 1, 1]


def test_a_sentence_that_the_server_cannot_do_is_refused_alone(server: Server) -> None:
    def reply(text: str) -> tuple[int, bytes]:
        return (
            (500, b"CoreNLP request timed out. Your document may be too long.")
            if "toolong" in text
            else answer(text)
        )

    server.reply = reply
    sentences = [["a"], ["toolong"], ["b"]]
    with pytest.raises(
        ParseRefusedError, match=r"sentence 2 \(toolong\): it returned 500 .*request timed out"
    ):
        list(CoreNLPParser(server.url).parse_all(sentences))
    parser = CoreNLPParser(server.url, on_refused="flat")
    assert [tree.label for tree in parser.parse_all(sentences)] == ["NP", "X", "NP"]


@pytest.mark.parametrize(
    "sentence", [{}, {"parse": ""}, {"parse": "SENTENCE_SKIPPED_OR_UNPARSABLE"}, {"parse": "(())"}]
)
def test_a_sentence_without_a_tree(server: Server, sentence: dict[str, str]) -> None:
    server.reply = reply_with(json.dumps({"sentences": [sentence]}))
    with pytest.raises(ParseRefusedError, match="sentence 1"):
        list(CoreNLPParser(server.url).parse_all([["a"]]))


@pytest.mark.parametrize(
    "body",
    [
        "",
        "<html>",
        "[]",
        "{}",
        '{"sentences": 3}',
        '{"sentences": [3]}',
        '{"sentences": [{"parse": 3}]}',
        "[" * 100_000,
        "\udcff",
    ],
)
def test_garbage(server: Server, body: str) -> None:
    server.reply = lambda text: (200, body.encode("utf-8", "surrogateescape"))
    with pytest.raises(ParserError, match="returned no parse"):
        list(CoreNLPParser(server.url, on_refused="flat").parse_all([["a"]]))


def test_a_garbled_tree(server: Server) -> None:
    server.reply = reply_with('{"sentences": [{"parse": "(ROOT (NN a)"}]}')
    with pytest.raises(ParserError, match="invalid tree"):
        list(CoreNLPParser(server.url).parse_all([["a"]]))


def test_control_characters_in_the_answer(server: Server) -> None:
    server.reply = reply_with('{"sentences": [{"parse": "(ROOT\n\t(NN a))", "after": "\x00"}]}')
    assert next(CoreNLPParser(server.url).parse_all([["a"]])).words == ("a",)


def test_too_few_and_too_many_sentences(server: Server) -> None:
    for count in (1, 3):
        server.reply = reply_with(json.dumps({"sentences": [{"parse": "(NN a)"}] * count}))
        with pytest.raises(ParserError, match=f"returns {count} trees for 2 sentences"):
            list(CoreNLPParser(server.url).parse_all([["a"], ["a"]]))


def test_other_words(server: Server) -> None:
    server.reply = reply_with('{"sentences": [{"parse": "(NN b)"}]}')
    with pytest.raises(ParseMismatchError, match="sentence 1"):
        list(CoreNLPParser(server.url).parse_all([["a"]]))


def test_another_server(server: Server) -> None:
    server.reply = reply_with("there is nothing here", 404)
    with pytest.raises(ParserError, match=r"returned 404 .*there is nothing here") as caught:
        list(CoreNLPParser(server.url, on_refused="flat").parse_all([["a"]]))
    assert "Is this the address of a CoreNLP server?" in str(caught.value)


def test_a_server_that_hangs(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corenlp_module, "OWN_TIME_SECONDS", 0.0)

    def reply(text: str) -> tuple[int, bytes]:
        time.sleep(1.5)
        return answer(text)

    server.reply = reply
    with pytest.raises(ParserError, match=r"did not answer within 0.3 seconds"):
        list(CoreNLPParser(server.url, timeout=0.3, on_refused="flat").parse_all([["a"]]))


def test_an_answer_that_is_cut(server: Server) -> None:
    server.reply = lambda text: (200, answer(text)[1][:-20])
    server.announced = 1000
    with pytest.raises(ParserError, match="returned no parse"):
        list(CoreNLPParser(server.url, timeout=5).parse_all([["a"]]))


def test_an_answer_without_end(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corenlp_module, "MAX_ANSWER_BYTES", 100)
    server.reply = reply_with(" " * 1000)
    with pytest.raises(ParserError, match="more than 100 bytes"):
        list(CoreNLPParser(server.url).parse_all([["a"]]))


def test_no_server() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
    with pytest.raises(ParserError, match="cannot be reached") as caught:
        list(CoreNLPParser(url).parse_all([["a"]]))
    assert "StanfordCoreNLPServer" in str(caught.value)


@pytest.mark.parametrize("url", ["localhost:9000", "ftp://host", "http://", "", "file:///etc/passwd"])
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(ConfigError, match="not a server address"):
        CoreNLPParser(url)


def test_settings_out_of_range() -> None:
    with pytest.raises(ConfigError, match="timeout"):
        CoreNLPParser(timeout=0)
