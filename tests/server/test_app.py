"""The application: every status of the contract, answers equal to the library's, and what surrounds them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from lexitree.limits import Limits
from lexitree.pipeline.text_pipeline import TextPipeline
from lexitree.server import web_files
from lexitree.server.app import create_app
from lexitree.server.service_settings import ServiceSettings
from tests.pipeline.stubs import Batches, some_texts, tiny_pipeline
from tests.server.asgi import Exchange, GatedParser, make_app, make_settings, running, until

EVERYTHING = ["probabilities", "phrases", "heads", "offsets", "trees", "head_weights"]
TEXTS = [text for text in some_texts(20) if text.strip()]


@pytest.fixture(scope="module")
def pipe() -> TextPipeline:
    return tiny_pipeline(parser=Batches())


@pytest.fixture(scope="module")
def app(pipe: TextPipeline) -> Starlette:
    settings = make_settings(models=("tiny", "other"), max_body=20_000, max_texts=50, token="secret")
    return create_app(settings, {"tiny": pipe, "other": tiny_pipeline("contree", parser=Batches())})


@pytest.fixture(scope="module")
def client(app: Starlette) -> Iterator[TestClient]:
    with TestClient(app, headers={"authorization": "Bearer secret"}) as client:
        while client.get("/ready").status_code != 200:
            pass
        yield client


def label(client: TestClient, **body: Any) -> Any:
    response = client.post("/v1/label", json=body)
    assert response.status_code == 200, response.text
    return response.json()


def problem_of(response: Any, status: int) -> dict[str, Any]:
    """The problem that a response describes."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert {"type", "title", "status", "detail", "request_id"} <= set(problem)
    assert problem["status"] == status
    assert problem["request_id"] == response.headers["x-request-id"]
    return problem


def post(client: TestClient, body: bytes, path: str = "/v1/label", **headers: str) -> Any:
    return client.post(path, content=body, headers={"content-type": "application/json", **headers})


def test_an_answer_is_short_unless_more_is_asked_for(client: TestClient, pipe: TextPipeline) -> None:
    text = "The film is good . The plot is dull ."
    document = pipe(text)
    expected = document.as_dict()
    keys = ("text", "label", "probability", "score")
    assert label(client, text=text) == {
        "model": "tiny",
        "document": {
            "label": document.label,
            "probability": expected["probability"],
            "score": expected["score"],
            "sentences": [{key: sentence[key] for key in keys} for sentence in expected["sentences"]],
        },
    }


def test_everything_that_can_be_asked_for_is_what_the_library_says(
    client: TestClient, pipe: TextPipeline
) -> None:
    found = label(client, texts=TEXTS, include=EVERYTHING)["documents"]
    for values, document in zip(found, pipe.stream(TEXTS), strict=True):
        expected = document.as_dict(head_weights=True)
        del expected["text"]
        assert {key: values[key] for key in expected if key != "sentences"} == {
            key: value for key, value in expected.items() if key != "sentences"
        }
        for ours, theirs, sentence in zip(
            values["sentences"], expected["sentences"], document.sentences, strict=True
        ):
            assert {key: ours[key] for key in theirs} == theirs
            assert ours["tree"] == sentence.brackets()
            assert ours["head"] == sentence.whole.head


def test_two_models_at_once(client: TestClient, app: Starlette) -> None:
    for name, pipe in app.state.service.models.items():
        (expected,) = pipe.stream(["The film is good ."])
        answer = label(client, text="The film is good .", model=name, include=["probabilities"])
        assert answer["model"] == name
        assert answer["document"]["probabilities"] == expected.as_dict()["probabilities"]


def test_a_text_without_words_and_no_texts(client: TestClient) -> None:
    empty = {"label": None, "probability": None, "score": None, "sentences": []}
    assert label(client, text=" ")["document"] == empty
    assert label(client, texts=["", "\n"])["documents"] == [empty, empty]
    assert label(client, texts=[])["documents"] == []


def test_one_sentence(client: TestClient) -> None:
    text = "The film is good . The plot is dull ."
    assert len(label(client, text=text)["document"]["sentences"]) == 2
    assert len(label(client, text=text, one_sentence=True)["document"]["sentences"]) == 1


def test_parse(client: TestClient) -> None:
    answer = client.post("/v1/parse", json={"texts": ["Not bad .", ""]}).json()
    (sentence,) = answer["documents"][0]["sentences"]
    assert sentence["parse"] == "(X (Y Not) (X (Y bad) (Y .)))"
    assert (sentence["start"], sentence["end"], sentence["text"]) == (0, 9, "Not bad .")
    assert sentence["tokens"][1] == {"start": 4, "end": 7, "text": "bad"}
    assert answer["documents"][1] == {"sentences": []}


def test_explain(client: TestClient, pipe: TextPipeline) -> None:
    body = {"text": "The film is good ."}
    expected = pipe(body["text"]).explanation(model="tiny")
    assert client.post("/v1/explain", json=body).json() == json.loads(json.dumps(expected))
    page = client.post("/v1/explain", json={**body, "format": "html"})
    assert page.headers["content-type"].startswith("text/html")
    assert "The film is good" in page.text
    assert page.headers["content-security-policy"].startswith("sandbox")
    picture = client.post("/v1/explain", json={**body, "format": "svg", "model": "other"})
    assert picture.headers["content-type"].startswith("image/svg+xml")
    assert picture.text.startswith("<svg")


def test_models_and_limits(client: TestClient) -> None:
    answer = client.get("/v1/models").json()
    assert [(each["name"], each["default"]) for each in answer["models"]] == [
        ("tiny", True),
        ("other", False),
    ]
    assert answer["models"][0]["labels"] == ["negative", "positive"]
    assert answer["limits"]["words"] == Limits.for_service().words
    assert answer["limits"]["texts"] == 50


@pytest.mark.parametrize(
    ("body", "part"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b'{"text": NaN}', "NaN"),
        (b'{"text": Infinity}', "Infinity"),
        (b'{"text": 1e999}', "1e999"),
        (b'{"text": "\xff"}', "UTF-8"),
        (b'{"text": "\\ud800"}', "surrogate"),
        (b'{"te\\udfffxt": "a"}', "surrogate"),
        (b"[" * 5_000, "deeply"),
        (b'{"a":' * 3_000, "deeply"),
        (b'{"text": ' + b"9" * 5_000 + b"}", "not JSON"),
        ('{"text": "a"}'.encode("utf-16"), "UTF-8"),
    ],
)
def test_bad_json_and_bad_unicode(client: TestClient, body: bytes, part: str) -> None:
    for path in ("/v1/label", "/v1/parse", "/v1/explain"):
        assert part in problem_of(post(client, body, path), 400)["detail"]


def test_pairs_of_surrogates_and_duplicate_keys_are_fine(client: TestClient) -> None:
    response = post(client, b'{"text": "x", "text": "good \\ud83d\\ude00"}')
    assert response.json()["document"]["sentences"][0]["text"] == "good 😀"


@pytest.mark.parametrize(
    ("body", "part", "remedy"),
    [
        ("text", "object", "text"),
        ([], "object", "text"),
        ({}, "either text or texts", "text"),
        ({"text": "a", "texts": ["b"]}, "either text or texts", "text"),
        ({"txt": "a"}, "txt", "Did you mean text?"),
        ({"text": 5}, "a string", None),
        ({"texts": "a"}, "a list of strings", None),
        ({"texts": ["a", None]}, "a list of strings", None),
        ({"text": "a", "model": "tinny"}, "no model 'tinny'", "Did you mean tiny?"),
        ({"text": "a", "include": ["everything"]}, "probabilities, phrases", None),
        ({"text": "a", "include": ["heads", "heads"]}, "twice", None),
        ({"text": "a", "one_sentence": 1}, "true or false", None),
        ({"texts": ["a"] * 51}, "51 texts", "/v1/label/stream"),
    ],
)
def test_what_is_asked_is_not_valid(client: TestClient, body: object, part: str, remedy: str | None) -> None:
    problem = problem_of(client.post("/v1/label", json=body), 422)
    assert part in problem["detail"]
    assert (remedy is None) == ("remedy" not in problem)
    assert (remedy or "") in problem.get("remedy", "")


def test_a_text_beyond_a_limit_is_named(client: TestClient) -> None:
    long = "a " * 501
    problem = problem_of(client.post("/v1/label", json={"texts": ["good", long]}), 422)
    assert problem["text"] == 1
    assert "501 words in one sentence" in problem["detail"]
    assert "Limits(" not in problem["remedy"]
    assert "text" not in problem_of(client.post("/v1/label", json={"text": long}), 422)


def test_long_texts_are_cut_if_the_service_is_set_so() -> None:
    limits = {"words": 3, "beyond": "cut"}
    with TestClient(make_app(limits=limits)) as client:
        while client.get("/ready").status_code != 200:
            pass
        answer = label(client, text="a b c d e")["document"]
    assert answer["sentences"][0]["text"] == "a b c"
    assert len(answer["notes"]) == 2


def test_unknown_paths_and_methods(client: TestClient) -> None:
    for path in ("/v2", "/v1/label/", "/assets/", "/assets/../app.py", "/assets/none.js"):
        problem_of(client.get(path), 404)
    response = client.get("/v1/label")
    problem_of(response, 405)
    assert response.headers["allow"] == "POST"
    problem_of(client.post("/live"), 405)


def test_other_types_of_bodies(client: TestClient) -> None:
    for headers in ({"content-type": "text/plain"}, {"content-type": ""}, {"content-encoding": "gzip"}):
        problem_of(post(client, b'{"text": "a"}', **headers), 415)
    response = post(client, b'{"text": "a"}', **{"content-type": "Application/JSON; charset=utf-8"})
    assert response.status_code == 200


def test_a_large_body(client: TestClient) -> None:
    response = post(client, json.dumps({"text": "a" * 20_000}).encode())
    problem_of(response, 413)


@pytest.mark.parametrize(
    "token", [None, "Bearer wrong", "Basic secret", "Bearer", "Bearer secre\u00e9t", "secret"]
)
def test_the_token(client: TestClient, token: str | None) -> None:
    headers = {"authorization": (token or "").encode()}
    for path in ("/v1/models", "/metrics"):
        response = client.get(path, headers=headers)
        problem_of(response, 401)
        assert response.headers["www-authenticate"] == "Bearer"
    for path in ("/live", "/ready", "/openapi.json", "/"):
        assert client.get(path, headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("testserver", 200),
        ("TESTSERVER:8000", 200),
        ("evil.example", 421),
        ("", 421),
        ("testserver.evil:1", 421),
    ],
)
def test_the_host(client: TestClient, host: str, status: int) -> None:
    response = client.get("/live", headers={"host": host})
    assert response.status_code == status


def test_the_loopback_is_called_by_its_own_names() -> None:
    assert ServiceSettings().allowed_hosts == {"127.0.0.1", "::1", "localhost"}
    assert ServiceSettings(host="0.0.0.0").allowed_hosts is None
    assert ServiceSettings(hosts=("Example.org",)).allowed_hosts == {"example.org"}
    assert ServiceSettings(hosts=("*",)).allowed_hosts is None
    with TestClient(create_app(ServiceSettings(), {"tiny": tiny_pipeline()})) as client:
        for host in ("localhost:8000", "127.0.0.1", "[::1]:8000"):
            assert client.get("/live", headers={"host": host}).status_code == 200
        assert client.get("/live").status_code == 421


def test_request_ids(client: TestClient) -> None:
    assert client.get("/live", headers={"x-request-id": "my-id.1"}).headers["x-request-id"] == "my-id.1"
    for bad in ("a b", "a" * 65, "", "<script>", "é".encode()):
        found = client.get("/live", headers={"x-request-id": bad}).headers["x-request-id"]
        assert found.isalnum()
        assert len(found) == 16


def test_every_answer_has_security_headers(client: TestClient) -> None:
    for response in (client.get("/live"), client.get("/nothing"), client.get("/"), client.get("/v1/models")):
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["referrer-policy"] == "no-referrer"
        assert response.headers["content-security-policy"].startswith("default-src 'none'")


def test_cors() -> None:
    origin = {"origin": "https://good.example"}
    with TestClient(make_app(cors=("https://good.example",), token="secret")) as client:
        asked = {"access-control-request-method": "POST", "access-control-request-headers": "authorization"}
        preflight = client.options("/v1/label", headers={**origin, **asked})
        assert preflight.status_code == 200
        assert preflight.headers["access-control-allow-origin"] == "https://good.example"
        # A page must be able to read that its token is wrong.
        assert client.get("/v1/models", headers=origin).headers["access-control-allow-origin"]
        other = client.get("/live", headers={"origin": "https://evil.example"})
        assert "access-control-allow-origin" not in other.headers


def test_the_page_and_its_assets(client: TestClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    page = client.get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["content-security-policy"] == web_files.PAGE_POLICY
    again = client.get("/", headers={"if-none-match": page.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    for name, content in {"a.js": "1", "b.css": "b{}", "c.svg": "<svg/>", "index.html": "<p>"}.items():
        (tmp_path / "web").mkdir(exist_ok=True)
        (tmp_path / "web" / name).write_text(content)
    (tmp_path / "secret.txt").write_text("secret")
    monkeypatch.setattr(web_files, "files", lambda package: tmp_path)
    with TestClient(make_app()) as other:
        types = {
            name: other.get(f"/assets/{name}").headers["content-type"] for name in ("a.js", "b.css", "c.svg")
        }
        assert types == {
            "a.js": "text/javascript; charset=utf-8",
            "b.css": "text/css; charset=utf-8",
            "c.svg": "image/svg+xml; charset=utf-8",
        }
        assert other.get("/assets/..%2Fsecret.txt").status_code == 404


def test_metrics(client: TestClient) -> None:
    client.get("/v1/nothing-of-this-name")
    label(client, text="good")
    page = client.get("/metrics")
    assert page.headers["content-type"].startswith("text/plain")
    lines = page.text.splitlines()
    assert any(line.startswith('lexitree_requests_total{route="/v1/label",status="200"}') for line in lines)
    assert any(line.startswith('lexitree_requests_total{route="other",status="404"}') for line in lines)
    assert "nothing-of-this-name" not in page.text
    for name in ("lexitree_queue_nodes", "lexitree_batch_nodes_sum", "lexitree_batch_texts_count"):
        assert any(line.startswith(f"{name} ") for line in lines)


def test_the_log_tells_no_texts_unless_asked(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "lexitree.server"):
        client.post("/v1/label", json={"text": "my secret"}, headers={"x-request-id": "one"})
    (record,) = [each for each in caplog.records if each.message == "request"]
    assert vars(record)["request_id"] == "one"
    assert (vars(record)["texts"], vars(record)["nodes"], vars(record)["status"]) == (1, 3, 200)
    assert "secret" not in str(vars(record))
    caplog.clear()
    with TestClient(make_app(log_texts=True)) as other, caplog.at_level("INFO", "lexitree.server"):
        while other.get("/ready").status_code != 200:
            pass
        label(other, text="my secret")
    assert any(vars(each).get("text") == ("my secret",) for each in caplog.records)


def test_an_unexpected_error_is_answered_and_logged(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr("lexitree.server.labelling_service.LabellingService.find_model", fail)
    problem = problem_of(client.post("/v1/label", json={"text": "a"}), 500)
    assert "secret" not in json.dumps(problem)
    assert any(each.exc_info and each.exc_info[0] is ZeroDivisionError for each in caplog.records)


def test_a_chunked_body_beyond_the_limit() -> None:
    async def ask() -> None:
        app = make_app(max_body=100)
        async with running(app):
            exchange = Exchange(app)
            for _ in range(3):
                exchange.send(b" " * 40, more=True)
            await exchange.done()
            assert exchange.status == 413
            assert exchange.num_received == 3

    asyncio.run(ask())


def test_a_body_that_stalls() -> None:
    async def ask() -> None:
        app = make_app(body_seconds=0.05)
        async with running(app):
            exchange = await Exchange(app).send(b'{"text": "a', more=True).done()
            assert exchange.status == 408
            assert exchange.headers["connection"] == "close"

    asyncio.run(ask())


def test_a_full_queue_is_429_and_not_ready_but_live() -> None:
    async def ask() -> None:
        parser = GatedParser()
        app = make_app(tiny_pipeline(parser=parser), queue_nodes=20, batch_nodes=10)
        async with running(app) as service:
            parser.gate.clear()
            parser.has_begun.clear()
            accepted = [Exchange(app).send_json({"text": "good"})]
            await until(parser.has_begun.is_set)
            accepted += [Exchange(app).send_json({"text": "a b c d e"}) for _ in range(2)]
            await until(lambda: service.queue.num_nodes == 18)
            refused = await Exchange(app).send_json({"text": "one two"}).done()
            assert refused.status == 429
            assert int(refused.headers["retry-after"]) >= 1
            assert service.why_not_ready() == "queue full"
            assert (await Exchange(app, "/live", method="GET").done()).status == 200
            assert (await Exchange(app, "/ready", method="GET").done()).status == 503
            parser.gate.set()
            assert [(await each.done()).status for each in accepted] == [200] * 3
            assert b'lexitree_shed_total{reason="queue full"} 1.0' in service.metrics.page()
            large = await Exchange(app).send_json({"texts": ["a b c d e"] * 3}).done()
            assert large.status == 422

    asyncio.run(ask())


def test_models_are_loaded_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[tuple[str, dict[str, Any]]] = []

    def load(source: str, **options: Any) -> TextPipeline:
        loaded.append((source, options))
        return tiny_pipeline()

    monkeypatch.setattr("lexitree.server.app.load", load)
    settings = ServiceSettings(models=("mine=runs/mine/model", "sentiment"), device="cpu", labels=3)
    assert list(create_app(settings).state.service.models) == ["mine", "sentiment"]
    assert [source for source, _ in loaded] == ["runs/mine/model", "sentiment"]
    assert loaded[0][1] == {
        "reads": "text",
        "device": "cpu",
        "limits": Limits.for_service(),
        "labels": 3,
    }
