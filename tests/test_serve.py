"""The HTTP server without processes: answers equal the classifier's, and every wrong request is told what is wrong."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linnet
import running

pytest.importorskip("uvicorn")

from linnet.errors import LinnetError  # noqa: E402
from linnet.serve import predictions as batching  # noqa: E402
from linnet.serve.settings import Settings, named, tokens  # noqa: E402
from serve_clients import Local  # noqa: E402

TEXTS = ["loved it", "great fun", "loved the cast", "dull", "a dull bore", "awful", "a goal", "they won", "the match"]
LABELS = ["pos"] * 3 + ["neg"] * 3 + ["sport"] * 3


def fitted(labels: list[str], seed: int = 0) -> linnet.TextClassifier:
    return linnet.TextClassifier("logistic", features="words:1+chars:2-3", random_state=seed).fit(
        TEXTS[: len(labels)], labels
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("models")
    fitted(LABELS).save(place / "three.linnet")
    fitted(LABELS[:6]).save(place / "two.linnet")
    return place


@pytest.fixture(scope="module")
def models(folder):
    return named([str(folder / "three.linnet"), f"other={folder / 'two.linnet'}"])


@pytest.fixture(scope="module")
def local(models):
    made = Local(models)
    yield made
    made.close()


@pytest.fixture(scope="module")
def three(folder):
    return linnet.load(folder / "three.linnet")


def count(local: Local, name: str) -> float:
    """Return one of the counters without labels."""
    found = re.search(rf"^{name} (.+)$", local.service.metrics.exposition().decode(), re.MULTILINE)
    assert found is not None
    return float(found[1])


# ---- answers


def test_one_text_gets_the_label_and_probability_of_the_classifier(local, three):
    status, answer = local.post("/v1/predict", {"text": "loved the match"})
    assert status == 200
    assert answer["label"] == three.predict(["loved the match"])[0]
    assert answer["probability"] == pytest.approx(three.predict_proba(["loved the match"]).max(), abs=1e-6)
    assert (answer["model"], set(answer)) == ("three", {"model", "version", "label", "probability"})


texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)


@settings(max_examples=60)
@given(st.lists(texts, max_size=6))
def test_a_batch_is_what_predict_proba_says(local, three, batch):
    status, answer = local.post("/v1/predict", {"texts": batch, "probabilities": True})
    assert status == 200
    assert len(answer["results"]) == len(batch)
    if batch:
        want = three.predict_proba(batch)
        got = [[r["probabilities"][c] for c in three.classes_.tolist()] for r in answer["results"]]
        np.testing.assert_allclose(got, want, atol=1e-6)
        assert [r["label"] for r in answer["results"]] == three.predict(batch).tolist()


def test_requests_in_flight_share_a_call_and_get_their_own_answers(models):
    local = Local(models)
    bodies = [{"text": t} for t in TEXTS] + [{"texts": TEXTS[:4], "top": 2}, {"text": "dull", "model": "other"}]
    alone = [local.post("/v1/predict", body) for body in bodies]
    assert count(local, "linnet_calls_total") == len(bodies)
    assert local.together(bodies) == alone
    assert count(local, "linnet_calls_total") == len(bodies) + 2  # one a model
    local.close()


def test_gathering_can_be_switched_off_and_is_bounded(models):
    for gather, calls in ((1, 9), (4, 3), (64, 1)):
        local = Local(models, gather=gather)
        assert [s for s, _ in local.together([{"text": t} for t in TEXTS])] == [200] * 9
        assert count(local, "linnet_calls_total") == calls
        local.close()


def test_labels_restrict_the_choice_and_their_probabilities_add_up(local, three):
    asked = {"texts": TEXTS, "labels": ["sport", "neg"], "probabilities": True}
    status, answer = local.post("/v1/predict", asked)
    assert status == 200
    assert [r["label"] for r in answer["results"]] == three.predict(TEXTS, labels=["sport", "neg"]).tolist()
    P = three.predict_proba(TEXTS)[:, [0, 2]]
    assert three.classes_.tolist() == ["neg", "pos", "sport"]
    got = np.array([[r["probabilities"]["neg"], r["probabilities"]["sport"]] for r in answer["results"]])
    np.testing.assert_allclose(got, P / P.sum(axis=1, keepdims=True), atol=2e-6)


@pytest.mark.parametrize("labels", [["pos"], ["neg"], ["pos", "neg"], ["neg", "pos", "pos"]])
def test_labels_of_a_model_with_two_classes(local, folder, labels):
    two = linnet.load(folder / "two.linnet")
    _, answer = local.post("/v1/predict", {"texts": TEXTS, "labels": labels, "model": "other", "probabilities": True})
    assert [r["label"] for r in answer["results"]] == two.predict(TEXTS, labels=labels).tolist()
    for result in answer["results"]:
        assert sum(result["probabilities"].values()) == pytest.approx(1, abs=3e-6)


def test_top_gives_the_most_probable_labels_in_order(local, three):
    _, answer = local.post("/v1/predict", {"text": "a dull match", "top": 2})
    p = three.predict_proba(["a dull match"])[0]
    order = np.argsort(-p, kind="stable")[:2]
    assert [c["label"] for c in answer["top"]] == three.classes_[order].tolist()
    assert [c["probability"] for c in answer["top"]] == pytest.approx(p[order].tolist(), abs=1e-6)
    _, all_of_them = local.post("/v1/predict", {"text": "a dull match", "top": 1000})
    assert len(all_of_them["top"]) == 3


def test_abstaining_gives_no_label_below_the_bound_and_one_at_it(local):
    _, plain = local.post("/v1/predict", {"texts": ["zzz", "loved it"]})
    _, answer = local.post("/v1/predict", {"texts": ["zzz", "loved it"], "threshold": 0.5})
    unsure, sure = answer["results"]
    assert unsure == {"label": None, "probability": plain["results"][0]["probability"]}
    assert unsure["probability"] < 0.5 <= sure["probability"]
    assert sure == plain["results"][1]


def test_numbers_as_labels_stay_numbers(tmp_path):
    linnet.TextClassifier("nb", features="words:1").fit(TEXTS[:6], [1, 1, 1, 0, 0, 0]).save(tmp_path / "n.linnet")
    local = Local(named([str(tmp_path / "n.linnet")]))
    status, answer = local.post("/v1/predict", {"text": "loved it", "labels": [0, 1], "probabilities": True})
    assert (status, answer["label"], list(answer["probabilities"])) == (200, 1, ["0", "1"])
    assert local.post("/v1/predict", {"text": "loved it", "labels": [True]})[0] == 404  # not 1
    local.close()


def test_explanations_are_those_of_the_classifier_and_add_up(local, three):
    status, answer = local.post("/v1/explain", {"text": "loved the dull match", "label": "pos", "top": 3})
    whole = three.explain("loved the dull match", "pos")
    assert status == 200
    assert answer["score"] == pytest.approx(whole.score)
    assert [c["feature"] for c in answer["contributions"]] == [c.feature for c in whole.top(3)]
    parts = answer["bias"] + sum(c["value"] for c in answer["contributions"]) + answer["other_contributions"]
    assert parts == pytest.approx(answer["score"], abs=1e-6)
    _, everything = local.post("/v1/explain", {"text": "loved the dull match", "label": "pos"})
    assert everything["other_contributions"] == 0
    assert len(everything["contributions"]) == len(whole.contributions)


def test_models_are_listed(local):
    status, _, answer = local("GET", "/v1/models")
    assert (status, answer["default"]) == (200, "three")
    first, second = answer["models"]
    assert (first["name"], first["labels"], first["model"]) == ("three", ["neg", "pos", "sport"], "logistic")
    assert (second["name"], second["file"], second["calibrated"]) == ("other", "two.linnet", True)
    assert re.fullmatch("[0-9a-f]{12}", first["version"])
    assert first["version"] != second["version"]


# ---- wrong requests


WRONG = [
    (b"{", 400, "bad_json"),
    (b"", 400, "bad_json"),
    (b"\x00", 400, "bad_json"),
    (b'{"text": "a\x00b"}', 400, "bad_json"),
    (b'{"text": "\\ud800"}', 400, "bad_json"),
    (b'{"text": "\\udc00 \\ud800"}', 400, "bad_json"),
    (b'{"text": "\xff\xfe"}', 400, "bad_json"),
    (b'{"text": "\xed\xa0\x80"}', 400, "bad_json"),
    (b"[" * 100_000, 400, "bad_json"),
    (b'{"text": "a\\u0000b"}', 422, "invalid"),
    (b'{"texts": ["a", "a\\u0000b"]}', 422, "invalid"),
    (b"{}", 422, "invalid"),
    (b"[]", 422, "invalid"),
    (b"null", 422, "invalid"),
    (b'"text"', 422, "invalid"),
    (b'{"text": "a", "texts": ["b"]}', 422, "invalid"),
    (b'{"text": null}', 422, "invalid"),
    (b'{"text": 3}', 422, "invalid"),
    (b'{"texts": "a"}', 422, "invalid"),
    (b'{"texts": [1]}', 422, "invalid"),
    (b'{"text": "a", "txt": "b"}', 422, "invalid"),
    (b'{"text": "a", "top": 0}', 422, "invalid"),
    (b'{"text": "a", "top": 1.5}', 422, "invalid"),
    (b'{"text": "a", "top": 1e400}', 422, "invalid"),
    (b'{"text": "a", "top": 99999999999999999999999999}', 422, "invalid"),
    (b'{"text": "a", "abstain": 1.1}', 422, "invalid"),
    (b'{"text": "a", "abstain": NaN}', 422, "invalid"),
    (b'{"text": "a", "abstain": 0.9999}', 409, "not_possible"),
    (b'{"text": "a", "threshold": {"pos": "high"}}', 422, "invalid"),
    (b'{"text": "a", "threshold": {"poss": 0.5}}', 409, "not_possible"),
    (b'{"text": "a", "cost": {"pos": {"neg": "much"}}}', 422, "invalid"),
    (b'{"text": "a", "probabilities": "yes"}', 422, "invalid"),
    (b'{"text": "a", "labels": []}', 422, "invalid"),
    (b'{"text": "a", "labels": [["pos"]]}', 422, "invalid"),
    (b'{"text": "a", "labels": ["poss"]}', 404, "unknown_label"),
    (b'{"text": "a", "model": "thre"}', 404, "unknown_model"),
]


@pytest.mark.parametrize(("body", "status", "code"), WRONG, ids=[f"{k}" for k in range(len(WRONG))])
def test_what_is_wrong_is_told(local, body, status, code):
    got, answer = local.post("/v1/predict", body)
    assert (got, answer["error"]["code"]) == (status, code)
    assert answer["error"]["message"]
    assert local.post("/v1/predict", {"text": "loved it"})[0] == 200


def test_messages_name_the_place_and_the_nearest_choice(local):
    def message(body):
        return local.post("/v1/predict", body)[1]["error"]["message"]

    assert "did you mean 'three'?" in message({"text": "a", "model": "thre"})
    assert "choose one of: neg, pos, sport" in message({"text": "a", "labels": ["poss"]})
    assert message({"texts": ["a", 3]}) == "texts.1: input should be a valid string"
    assert message({"texts": ["a", "b\0"]}) == "texts.1: a NUL character (U+0000) at position 1; remove it"
    assert "surrogate" in message(b'{"text": "\\ud800"}')


def test_a_backslash_before_u0000_is_no_nul(local):
    assert local.post("/v1/predict", b'{"text": "\\\\u0000"}')[0] == 200


@pytest.mark.parametrize("path", ["/v1/predict", "/v1/explain"])
def test_a_body_of_another_type_is_refused(local, path):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "jsonp", ""):
        status, answer = local.post(path, {"text": "a"}, **{"content-type": kind})
        assert (status, answer["error"]["code"]) == (415, "not_json")
    assert local.post(path, {"text": "a"}, **{"content-type": "application/json; charset=utf-8"})[0] == 200


def test_limits_of_texts_batches_and_bodies(models):
    local = Local(models, max_text=10, max_batch=3, max_body=250, max_explain=5)
    assert local.post("/v1/predict", {"texts": ["é" * 10] * 3})[0] == 200
    assert local.post("/v1/predict", {"text": "é" * 11})[0] == 422
    assert local.post("/v1/predict", {"texts": ["a"] * 4})[0] == 422
    assert local.post("/v1/explain", {"text": "123456"})[0] == 422
    many = {"texts": ["a" * 300]}
    status, headers, answer = local("POST", "/v1/predict", many)
    assert (status, answer["error"]["code"], headers["connection"]) == (413, "too_large", "close")
    body = json.dumps(many).encode()
    parts = [body[k : k + 50] for k in range(0, len(body), 50)]
    assert local("POST", "/v1/predict", parts)[0] == 413
    assert local("POST", "/v1/predict", parts, {"content-length": None})[0] == 413  # chunked
    assert local("POST", "/v1/models", parts)[0] == 413  # wherever it goes
    assert local("POST", "/v1/predict", [b'{"text":', b' "a"}'], {"content-length": None})[0] == 200
    local.close()


def test_other_paths_and_methods(local):
    assert local("GET", "/v1/predict")[0] == 405
    assert local("GET", "/v1/predict")[1]["allow"] == "POST"
    assert local("GET", "/v1/nothing")[2]["error"]["code"] == "not_found"
    assert local("POST", "/v1/models/reload")[0] == 404  # only with allow_reload


# ---- who may ask


def test_tokens(models, tmp_path, monkeypatch):
    (tmp_path / "tokens").write_text("first-token\n\nsecond-token\n")
    local = Local(models, token_file=str(tmp_path / "tokens"))
    status, headers, answer = local("POST", "/v1/predict", {"text": "a"})
    assert (status, answer["error"]["code"]) == (401, "unauthorized")
    assert headers["www-authenticate"].startswith("Bearer")
    for wrong in (
        "Bearer wrong",
        "Bearer first-toke",
        "Bearer first-token2",
        "Basic first-token",
        "first-token",
        "Bearer ",
        "é",
    ):
        assert local.post("/v1/predict", {"text": "a"}, authorization=wrong)[0] == 401
    for right in ("Bearer first-token", "bearer second-token"):
        assert local.post("/v1/predict", {"text": "a"}, authorization=right)[0] == 200
    for path in ("/v1/models", "/metrics", "/nothing"):
        assert local("GET", path)[0] == 401
    for path in ("/healthz", "/readyz", "/docs", "/openapi.json"):
        assert local("GET", path)[0] == 200
    schema = local("GET", "/openapi.json")[2]
    assert schema["paths"]["/v1/predict"]["post"]["security"] == [{"bearer": []}]
    assert "401" in schema["paths"]["/v1/models"]["get"]["responses"]
    local.close()


BROWSER = {"host": "127.0.0.1:8000"}


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({}, None),  # no browser
        (BROWSER, None),
        ({"host": "localhost:8000", "origin": "http://localhost:8000"}, None),
        ({"host": "[::1]:8000", "origin": "http://[::1]:8000"}, None),
        ({**BROWSER, "origin": "http://127.0.0.1:8000", "sec-fetch-site": "same-origin"}, None),
        ({**BROWSER, "sec-fetch-site": "none"}, None),
        ({"host": "linnet.example", "origin": "https://linnet.example"}, None),  # --allow-host
        ({**BROWSER, "origin": "http://evil.example"}, "cross_site"),
        ({**BROWSER, "origin": "http://127.0.0.1:9000"}, "cross_site"),
        ({**BROWSER, "origin": "null"}, "cross_site"),
        ({**BROWSER, "origin": "http://[oops"}, "cross_site"),
        ({**BROWSER, "sec-fetch-site": "cross-site"}, "cross_site"),
        ({**BROWSER, "origin": "http://127.0.0.1:8000", "sec-fetch-site": "same-site"}, "cross_site"),
        (
            {"host": "evil.example:8000", "origin": "http://evil.example:8000", "sec-fetch-site": "same-origin"},
            "unknown_host",
        ),
        ({"host": "127.0.0.1.evil.example"}, "unknown_host"),
        ({"host": "localhost@evil.example"}, "unknown_host"),
        ({"host": "[oops"}, "unknown_host"),
        ({"host": ""}, "unknown_host"),
    ],
)
def test_other_sites_cannot_use_a_server_without_a_token(models, headers, code):
    local = Local(models, allow_reload=True, allow_host=("linnet.example",))
    for path, body in (("/v1/models/reload", b""), ("/v1/predict", {"text": "a"})):
        status, _, answer = local("POST", path, body, headers)
        assert (status, answer.get("error", {}).get("code")) == (403 if code else 200, code)
    open_to_all = Local(models, host="0.0.0.0", allow_reload=True, allow_host=("linnet.example",))
    status, _, answer = open_to_all("POST", "/v1/models/reload", b"", headers)
    assert (status, answer.get("error", {}).get("code")) == (403 if code else 200, code)
    if code == "unknown_host":  # a server for everybody has many names
        assert open_to_all("POST", "/v1/predict", {"text": "a"}, headers)[0] == 200
    for one in (local, open_to_all):
        one.close()


def test_with_a_token_no_site_is_refused(models, tmp_path):
    (tmp_path / "token").write_text("a-token")
    local = Local(models, token_file=str(tmp_path / "token"), allow_reload=True)
    headers = {"host": "linnet.example", "origin": "https://app.example", "sec-fetch-site": "cross-site"}
    assert local("POST", "/v1/models/reload", b"", headers)[2]["error"]["code"] == "unauthorized"
    assert local("POST", "/v1/models/reload", b"", {**headers, "authorization": "Bearer a-token"})[0] == 200
    local.close()


def test_no_answer_can_be_framed(local):
    for method, path in (
        ("GET", "/docs"),
        ("GET", "/"),
        ("GET", "/v1/models"),
        ("GET", "/nothing"),
        ("POST", "/healthz"),
        ("GET", "/metrics"),
    ):
        headers = local(method, path)[1]
        assert headers["x-frame-options"] == "DENY"
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "unsafe" not in local("GET", "/docs")[1]["content-security-policy"]


def test_tokens_come_from_the_environment_or_a_file(tmp_path, monkeypatch):
    monkeypatch.delenv("LINNET_TOKEN", raising=False)
    assert tokens(None) == ()
    monkeypatch.setenv("LINNET_TOKEN", " abc ")
    assert tokens(None) == (b"abc",)
    monkeypatch.setenv("LINNET_TOKEN", "  ")
    with pytest.raises(LinnetError, match="set but empty"):
        tokens(None)
    (tmp_path / "empty").write_text("\n \n")
    with pytest.raises(LinnetError, match="holds no token"):
        tokens(str(tmp_path / "empty"))
    with pytest.raises(LinnetError, match="cannot read the token file"):
        tokens(str(tmp_path / "none"))
    (tmp_path / "blank").write_text("two words\n")
    with pytest.raises(LinnetError, match="blanks"):
        tokens(str(tmp_path / "blank"))


def test_names_of_models():
    assert named(["a/b.linnet", "c=d/e.linnet", "f"]) == (("b", "a/b.linnet"), ("c", "d/e.linnet"), ("f", "f"))
    with pytest.raises(LinnetError, match="two models are called 'b'"):
        named(["a/b.linnet", "c/b.linnet"])
    with pytest.raises(LinnetError, match="NAME=PATH"):
        named(["=a"])


# ---- reloading


def test_reload_takes_the_new_file_and_keeps_the_old_where_it_is_broken(folder, tmp_path):
    one, two = tmp_path / "one.linnet", tmp_path / "two.linnet"
    shutil.copy(folder / "three.linnet", one)
    shutil.copy(folder / "three.linnet", two)
    local = Local(named([str(one), str(two)]), allow_reload=True)
    before = {name: served.version for name, served in local.service.catalogue.models.items()}
    assert local.post("/v1/models/reload", b"") == (200, {"reloaded": [], "versions": before})
    shutil.copy(folder / "two.linnet", tmp_path / "new")
    (tmp_path / "new").replace(one)
    (tmp_path / "broken").write_bytes((folder / "two.linnet").read_bytes()[:-100])
    (tmp_path / "broken").replace(two)
    status, answer = local.post("/v1/models/reload", b"")
    assert (status, answer["error"]["code"]) == (409, "reload_failed")
    assert "truncated" in answer["error"]["message"]
    assert local.post("/v1/predict", {"text": "the match"})[1]["version"] == before["one"]  # all or nothing
    assert local.post("/v1/predict", {"text": "the match", "model": "two"})[1]["label"] == "sport"
    shutil.copy(folder / "two.linnet", tmp_path / "new")
    (tmp_path / "new").replace(two)
    status, answer = local.post("/v1/models/reload", b"")
    assert (status, answer["reloaded"]) == (200, ["one", "two"])
    assert local.post("/v1/predict", {"text": "the match"})[1]["label"] in ("pos", "neg")
    assert count(local, "linnet_reloads_total") == 2
    assert count(local, "linnet_failed_reloads_total") == 1
    two.unlink()
    assert local.post("/v1/models/reload", b"")[0] == 409
    local.close()


def test_a_request_keeps_the_model_it_began_with(folder, tmp_path):
    path = tmp_path / "m.linnet"
    shutil.copy(folder / "three.linnet", path)
    local = Local(named([str(path)]))

    async def both():
        asked = asyncio.ensure_future(local.ask("POST", "/v1/predict", {"text": "the match"}))
        for _ in range(3):
            await asyncio.sleep(0)
        shutil.copy(folder / "two.linnet", tmp_path / "new")
        (tmp_path / "new").replace(path)
        local.service.catalogue.reload()
        return await asked, await local.ask("POST", "/v1/predict", {"text": "the match"})

    (_, _, old), (_, _, new) = asyncio.run(both())
    assert old["version"] != new["version"]
    assert old["label"] == "sport" != new["label"]
    local.close()


def test_tokens_are_read_again(models, tmp_path):
    (tmp_path / "tokens").write_text("old")
    local = Local(models, token_file=str(tmp_path / "tokens"), allow_reload=True)
    (tmp_path / "tokens").write_text("new")
    assert local.post("/v1/models/reload", b"", authorization="Bearer old")[0] == 200
    assert local.post("/v1/predict", {"text": "a"}, authorization="Bearer old")[0] == 401
    assert local.post("/v1/predict", {"text": "a"}, authorization="Bearer new")[0] == 200
    local.close()


# ---- when things go wrong inside


def test_a_crash_fails_its_own_request_only(models, monkeypatch, tmp_path):
    real = batching.answer_all

    def fragile(questions):
        if any("bomb" in text for q in questions for text in q.texts):
            raise RuntimeError("the secret bomb text")
        return real(questions)

    monkeypatch.setattr(batching, "answer_all", fragile)
    local = Local(models, log=tmp_path / "log")
    found = local.together([{"text": "loved it"}, {"text": "a bomb"}, {"text": "dull"}])
    assert [status for status, _ in found] == [200, 500, 200]
    assert found[1][1]["error"]["code"] == "internal"
    local.close()
    log = (tmp_path / "log").read_text()
    assert "bomb" not in log
    assert '"error":"RuntimeError"' in log
    assert "fragile" in log  # where it happened


def test_too_slow_and_too_many(models, monkeypatch):
    import time

    monkeypatch.setattr(batching, "INLINE", 3)
    real = batching.answer_all
    monkeypatch.setattr(batching, "answer_all", lambda q: (time.sleep(0.4), real(q))[1])
    local = Local(models, timeout=0.15, max_waiting=2)
    status, answer = local.post("/v1/predict", {"text": "a long text"})
    assert (status, answer["error"]["code"]) == (503, "timeout")
    found = local.together([{"text": f"a long text {k}"} for k in range(5)])
    assert [a["error"]["code"] for _, a in found] == ["timeout"] * 2 + ["overloaded"] * 3
    assert {s for s, _ in found} == {503}
    local.close()
    local = Local(models, timeout=5)
    assert local.post("/v1/predict", {"text": "a long text"})[0] == 200
    local.close()


def test_what_is_held_in_memory_is_bounded(models, monkeypatch):
    from linnet.serve import asgi

    monkeypatch.setattr(asgi, "MAX_HELD", 3)
    monkeypatch.setattr(batching, "INLINE", 3)
    local = Local(models, max_body=1000)
    found = local.together([{"text": "a" * 900} for _ in range(5)])
    assert [status for status, _ in found] == [200] * 3 + [503] * 2
    assert local.service.held == 0
    assert local.together([{"text": "a" * 900}])[0][0] == 200
    local.close()


def test_a_body_that_never_comes_is_told_so(models):
    local = Local(models, timeout=0.1)
    status, _, _ = local("POST", "/v1/predict", [b'{"text":'], {"content-length": "100"})
    assert status == 400  # the part that came is not JSON

    async def never():
        scope = {"type": "http", "method": "POST", "path": "/v1/predict", "headers": [(b"content-length", b"9")]}
        sent = []

        async def receive():
            await asyncio.sleep(5)

        async def send(message):
            sent.append(message)

        await local.app(scope, receive, send)
        return sent[0]["status"]

    assert asyncio.run(never()) == 408
    local.close()


def test_a_server_that_stops_is_not_ready(models):
    local = Local(models)
    assert local("GET", "/readyz")[0] == 200
    local.service.ready = False
    assert local("GET", "/readyz")[0] == 503
    assert local("GET", "/healthz")[0] == 200
    local.close()


# ---- logs and counters


def test_the_log_is_json_and_holds_no_text(models, tmp_path):
    secret = "xylophone"
    for log_texts in (False, True):
        log = tmp_path / f"log-{log_texts}"
        local = Local(models, log=log, log_texts=log_texts)
        for path in ("/v1/predict", "/v1/explain"):
            local.post(path, {"text": f"a {secret}"})
            local.post(path, {"text": f"a {secret}", secret: 1})
            local.post(path, {"text": f"a {secret}\0"})
            local.post(path, f'{{"text": "{secret}'.encode())
        local.post("/v1/predict", {"texts": [secret, 3]})
        local.close()
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        assert len(lines) == 9
        assert (secret in log.read_text()) == log_texts
        assert [line["status"] for line in lines[:4]] == [200, 422, 422, 400]
        first = lines[0]
        assert (first["event"], first["method"], first["path"], first["model"]) == (
            "request",
            "POST",
            "/v1/predict",
            "three",
        )
        assert (first["texts"], first["bytes_in"] > 0, first["ms"] >= 0) == (1, True, True)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", first["time"])


@pytest.mark.parametrize(("log", "count"), [("requests", 2), ("problems", 1), ("none", 0)])
def test_what_is_logged_can_be_chosen(models, tmp_path, log, count):
    local = Local(models, log=tmp_path / "log")
    local.service.settings = Settings(models, log=log)
    local.post("/v1/predict", {"text": "a"})
    local.post("/v1/predict", b"{")
    local.close()
    assert len((tmp_path / "log").read_text().splitlines()) == count


def test_metrics_are_what_prometheus_reads(models):
    parser = pytest.importorskip("prometheus_client.parser")
    local = Local(models)
    for k in range(3):
        local.post("/v1/predict", {"texts": ["a"] * (k + 1)})
    local.post("/v1/predict", b"{")
    local.post("/v1/explain", {"text": "a", "model": "other"})
    status, headers, text = local("GET", "/metrics")
    assert (status, headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    samples = {
        (s.name, tuple(sorted(s.labels.items()))): s.value
        for family in parser.text_string_to_metric_families(text)
        for s in family.samples
    }
    assert samples["linnet_requests_total", (("endpoint", "predict"), ("status", "200"))] == 3
    assert samples["linnet_requests_total", (("endpoint", "predict"), ("status", "400"))] == 1
    assert samples["linnet_texts_total", (("model", "three"),)] == 6
    assert samples["linnet_texts_total", (("model", "other"),)] == 1
    assert samples["linnet_request_seconds_count", (("endpoint", "predict"),)] == 4
    assert samples["linnet_request_seconds_bucket", (("endpoint", "predict"), ("le", "+Inf"))] == 4
    assert samples["linnet_in_flight", ()] == 1  # this one
    local.close()


def test_metrics_say_whether_the_input_has_changed(tmp_path, monkeypatch):
    """Every look compares texts of requests with the reference in the card; a shift raises the alarm."""
    from concurrent.futures import Future

    from linnet.evaluate.drift import reference_of

    words = [f"good{k} film{k % 7}" if k % 2 else f"bad{k} film{k % 5}" for k in range(60)]
    texts = [f"{word} indeed" for word in words * 5]
    clf = linnet.TextClassifier("nb", features="words:1").fit(texts, ["pos" if "good" in t else "neg" for t in texts])
    clf.model_ = replace(clf.model_, card={**clf.model_.card, "reference": reference_of(clf.model_, texts)})
    clf.save(tmp_path / "m.linnet")
    local = Local(named([str(tmp_path / "m.linnet")]))

    def at_once(function, *given):
        function(*given)
        return Future()

    monkeypatch.setattr(local.service.batcher._watch._pool, "submit", at_once)
    monkeypatch.setattr(batching, "PAUSE", 0.0)
    monkeypatch.setattr(batching, "LOOK", 200)
    samples = {}
    for sent, alarms in ((texts[:200], 0), (["strange words here"] * 200, 1)):
        for first in range(0, len(sent), 50):
            local.post("/v1/predict", {"texts": sent[first : first + 50]})
        text = local("GET", "/metrics")[2]
        samples = dict(line.rsplit(" ", 1) for line in text.splitlines() if line and line[0] != "#")
        assert float(samples['linnet_drift_alarms_total{model="m"}']) == alarms
        assert float(samples['linnet_drift_alarm{model="m"}']) == alarms
    assert float(samples['linnet_drift_looks_total{model="m"}']) == 2
    assert float(samples['linnet_unknown_share{model="m",of="now"}']) == 1.0
    assert float(samples['linnet_unknown_share{model="m",of="reference"}']) == 0.0
    assert float(samples['linnet_label_share{label="pos",model="m",of="reference"}']) == 0.5
    assert 'linnet_confidence{model="m",of="now"}' in samples
    local.close()


WORKER = """
import sys
from linnet.serve.metrics import Metrics
metrics = Metrics(workers=2)
metrics.in_flight.inc()
for seconds in (0.01, 0.3):
    metrics.requests("predict", 200).inc()
    metrics.seconds("predict").observe(seconds)
metrics.texts('b"\\\\').inc(3)
if sys.argv[1] == "last":
    print(metrics.exposition().decode())
"""


def test_counters_are_summed_over_workers_and_outlive_one(tmp_path):
    """Three processes, the first two of which have ended: their counts stay, their requests in flight do not."""
    from prometheus_client.multiprocess import mark_process_dead

    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    for name in ("first", "second", "last"):
        process = subprocess.Popen(
            [sys.executable, "-c", WORKER, name], env=environment, stdout=subprocess.PIPE, text=True
        )
        text = process.communicate(timeout=60)[0]
        assert process.returncode == 0
        if name != "last":
            mark_process_dead(process.pid, str(tmp_path))
    assert 'linnet_requests_total{endpoint="predict",status="200"} 6.0\n' in text
    assert 'linnet_request_seconds_count{endpoint="predict"} 6.0\n' in text
    assert 'linnet_request_seconds_bucket{endpoint="predict",le="0.01"} 3.0\n' in text
    assert "linnet_in_flight 1.0\n" in text
    assert "linnet_workers 2.0\n" in text
    assert 'linnet_texts_total{model="b\\"\\\\"} 9.0\n' in text


# ---- the published schema and its page


def test_the_schema_says_what_is_checked(local):
    status, _, schema = local("GET", "/openapi.json")
    assert status == 200
    request = schema["components"]["schemas"]["PredictRequest"]
    assert request["additionalProperties"] is False
    assert request["properties"]["texts"]["maxItems"] == 10_000
    assert request["properties"]["text"]["maxLength"] == 1_000_000
    assert "default" not in request["properties"]["model"]
    assert set(schema["paths"]) == {"/v1/predict", "/v1/explain", "/v1/models", "/healthz", "/readyz", "/metrics"}
    for example in request["examples"]:
        assert local.post("/v1/predict", example)[0] == 200


def test_the_page_needs_nothing_from_elsewhere(local):
    status, headers, page = local("GET", "/docs")
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "default-src 'none'" in headers["content-security-policy"]
    assert not re.findall(r"(?:https?:)?//[a-z]", page)
    assert local("GET", "/")[1]["location"] == "docs"


# ---- the command line


def run(*arguments: str, **environment: str):
    return running.run("serve", *arguments, env=environment, text=True)


def test_what_cannot_be_served_is_one_line(folder, tmp_path):
    import socket

    done = run(str(folder / "thre.linnet"))
    assert done.returncode == 2
    assert "did you mean" in done.stderr
    (tmp_path / "no.linnet").write_text("text,label\n")
    assert run(str(tmp_path / "no.linnet")).returncode == 2
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = run(str(folder / "two.linnet"), "--port", str(taken.getsockname()[1]))
    assert done.returncode == 2
    assert done.stderr.startswith("linnet: cannot listen on 127.0.0.1:")
    assert len(done.stderr.splitlines()) == 1
    done = run(str(folder / "two.linnet"), "--token-file", str(tmp_path / "none"))
    assert (done.returncode, "cannot read the token file" in done.stderr) == (2, True)


def test_a_missing_extra_is_one_line(folder, monkeypatch):
    from click.testing import CliRunner

    from linnet.cli.serve import serve
    from linnet.errors import MissingExtraError

    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    done = CliRunner().invoke(serve, [str(folder / "two.linnet")])
    assert isinstance(done.exception, MissingExtraError)
    assert "pip install 'linnet[serve]'" in str(done.exception)


def test_settings_travel_to_other_processes(models):
    given = Settings(models, port=0, token_file="f", timeout=2.5)
    assert pickle.loads(pickle.dumps(given)) == given
