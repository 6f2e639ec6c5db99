"""The HTTP server as processes: sockets, signals, workers, load."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import linnet

pytest.importorskip("uvicorn")

from linnet.datasets import whole  # noqa: E402
from serve_clients import Load, served  # noqa: E402

SHOTS = os.environ.get("LINNET_SHOTS")  # a folder for screenshots, to be looked at
linux = pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="needs /proc, which only Linux has")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two models of the built-in reviews, and where to put things."""
    place = tmp_path_factory.mktemp("served")
    rows = whole("reviews")
    for name, C in (("reviews", 1.0), ("newer", 0.1)):
        linnet.TextClassifier("svm", params={"C": C}, ratio=0.5).fit(rows).save(place / f"{name}.linnet")
    return place


def replace(folder: Path, target: str, source: str) -> None:
    """Put a copy of a model in place of another, as mv does."""
    shutil.copy(folder / source, folder / "copy.tmp")
    (folder / "copy.tmp").replace(folder / target)


def raw(server, data: bytes, *, wait: float = 15) -> bytes:
    """Send bytes and read until the server closes, or nothing comes."""
    host, port = server.address.split(":")
    with socket.create_connection((host, int(port)), timeout=wait) as connection:
        connection.sendall(data)
        answer = b""
        while part := connection.recv(65536):
            answer += part
        return answer


END = b"\r\nhost: localhost\r\nconnection: close\r\n"
NOT_HTTP = [
    (b"\x16\x03\x01 hello\r\n\r\n", 400, "bad_request"),
    (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, "bad_request"),
    (b"GET /healthz HTTP/9.9\r\n\r\n", 400, "bad_request"),
    (b"GET /\0 HTTP/1.1\r\n\r\n", 400, "bad_request"),
    (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400, "bad_request"),
    (b"CONNECT evil.example:80 HTTP/1.1" + END + b"\r\n", 400, "bad_request"),
    (b"POST /v1/predict HTTP/1.1" + END + b"content-length: -1\r\n\r\n", 400, "bad_request"),
    (b"POST /v1/predict HTTP/1.1" + END + b"content-length: 1\r\ncontent-length: 2\r\n\r\nab", 400, "bad_request"),
    (b"POST /v1/predict HTTP/1.1" + END + b"transfer-encoding: chunked\r\n\r\nzz\r\n", 400, "bad_request"),
    (b"GET / HTTP/1.1\r\nx: " + b"a" * 66_000, 431, "head_too_large"),
    (b"GET /" + b"a" * 66_000, 431, "head_too_large"),
    (b"OPTIONS * HTTP/1.1" + END + b"\r\n", 404, "not_found"),
    (b"GET /nothing HTTP/1.1" + END + b"\r\n", 404, "not_found"),
    (b"BREW /v1/predict HTTP/1.1" + END + b"\r\n", 400, "bad_request"),
    (b"DELETE /v1/predict HTTP/1.1" + END + b"\r\n", 405, "method_not_allowed"),
    (b"HEAD /v1/predict HTTP/1.1" + END + b"\r\n", 405, b""),
    (
        b"GET /v1/predict HTTP/1.1\r\nhost: localhost\r\nconnection: close, upgrade\r\nupgrade: websocket\r\n\r\n",
        405,
        "method_not_allowed",
    ),
    (b"POST /v1/predict HTTP/1.1" + END + b"content-type: text/plain\r\ncontent-length: 2\r\n\r\nab", 415, "not_json"),
    (b"POST /v1/predict HTTP/1.1" + END + b"content-length: 999999999999\r\n\r\n", 413, "too_large"),
]


def test_one_server_from_start_to_stop(folder):
    with served(folder, "reviews.linnet", "--timeout", "5") as server:
        clf = linnet.load(folder / "reviews.linnet")
        status, answer = server.ask("POST", "/v1/predict", {"text": "a warm and funny book"})
        assert (status, answer["label"]) == (200, clf.predict(["a warm and funny book"])[0])
        # bytes that are not HTTP, a head without end, a body of 50 MB: told, and the server lives
        for data, status, code in NOT_HTTP:
            head, _, body = raw(server, data).partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 %d " % status), data[:40]
            assert b"content-type: application/json\r\n" in head
            assert b"x-frame-options: DENY" in head
            assert (b"" if data.startswith(b"HEAD") else json.loads(body)["error"]["code"]) == code, data[:40]
        large = b'{"text": "' + b"a" * 50_000_000 + b'"}'
        status, answer = server.ask("POST", "/v1/predict", large)
        assert (status, answer["error"]["code"]) == (413, "too_large")
        assert server.ask("POST", "/v1/predict", b'{"text": "\\ud800"}')[0] == 400
        assert server.ask("POST", "/v1/predict", b"nonsense")[0] == 400
        assert server.ask("GET", "/healthz") == (200, {"status": "ok"})
        # 300 kB go to a thread; the answer is the same
        text = "a warm and funny book " * 14_000
        assert server.ask("POST", "/v1/predict", {"text": text})[1]["label"] == clf.predict([text])[0]
        # reload
        before = answer_version(server)
        replace(folder, "reviews.linnet", "newer.linnet")
        server.process.send_signal(signal.SIGHUP)
        assert server.wait_for("reloaded", 1)[0]["changed"] == ["reviews"]
        assert answer_version(server) != before
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(20) == 0
    log = server.log.read_text()
    assert "warm" not in log
    assert server.events("stopped")
    assert not server.events("crash")


def test_a_folder_of_versions_is_followed(folder, tmp_path):
    workers = 2
    versions = tmp_path / "spam"
    versions.mkdir()
    shutil.copy(folder / "newer.linnet", versions / "1.linnet")
    with served(tmp_path, "spam", workers=workers) as server:
        first = answer_version(server)
        linnet.TextClassifier("nb").fit(["good", "bad"] * 4, ["a", "b"] * 4).save(versions / "2.linnet")
        server.wait_for("reloaded", workers)
        second = answer_version(server)
        assert second != first
        (versions / "latest").write_text("nothing of the kind")
        time.sleep(1.5)
        assert answer_version(server) == second
        (versions / "latest").write_text("1")
        server.wait_for("reloaded", 2 * workers)
        assert answer_version(server) == first


def answer_version(server) -> str:
    return server.ask("POST", "/v1/predict", {"text": "x"})[1]["version"]


def test_a_stop_answers_what_is_in_flight_and_ctrl_c_says_130(tmp_path):
    clf = linnet.TextClassifier("logistic", features="words:1")
    clf.fit(["a b", "c d", "a e", "c f"] * 3, ["x", "y", "x", "y"] * 3).save(tmp_path / "m.linnet")
    with served(tmp_path, "m.linnet") as server:
        connection = server.connect()
        connection.putrequest("POST", "/v1/predict")
        connection.putheader("content-type", "application/json")
        connection.putheader("content-length", "14")
        connection.endheaders()
        connection.send(b'{"text"')  # the rest comes after the stop
        time.sleep(0.3)
        server.process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        assert server.process.poll() is None
        connection.send(b':"a b"}')
        reply = connection.getresponse()
        assert (reply.status, json.loads(reply.read())["label"]) == (200, "x")
        connection.close()
        assert server.process.wait(20) == 130


@pytest.mark.slow
def test_a_head_that_never_ends_is_cut_off(folder):
    with served(folder, "reviews.linnet") as server:
        began = time.monotonic()
        answer = raw(server, b"POST /v1/predict HTTP/1.1\r\nhost: x\r\n", wait=30)
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == "too_slow"
        assert 5 < time.monotonic() - began < 25
        assert server.ask("GET", "/healthz")[0] == 200


def workers_of(server) -> list[int]:
    return [event["pid"] for event in server.events("started")]


@linux
@pytest.mark.slow
def test_workers_share_the_pages_of_the_model(folder):
    with served(folder, "reviews.linnet", workers=2) as server:
        for _ in range(20):
            assert server.ask("POST", "/v1/predict", {"text": "a warm and funny book"})[0] == 200
        for pid in workers_of(server):
            found = mapping(pid, ".linnet")  # the copy, unpacked
            size = (folder / "reviews.linnet").stat().st_size / 1024
            assert found["Rss"] > 0.9 * size  # it is in memory
            assert found["Pss"] < 0.6 * found["Rss"]  # and half of it is the other's
            assert found["Private_Dirty"] + found["Private_Clean"] == 0


def mapping(pid: int, name: str) -> dict[str, int]:
    """Return what /proc says about the mapping of a file, in kB."""
    found: dict[str, int] = {}
    inside = False
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        key, _, rest = line.partition(":")
        if "-" in key.split(" ")[0]:  # the head of a mapping
            inside = line.endswith(name)
        elif inside and rest.endswith("kB"):
            found[key] = found.get(key, 0) + int(rest.split()[0])
    return found


@pytest.mark.slow
def test_a_killed_worker_is_replaced_and_only_requests_in_flight_are_lost(folder):
    clients = 8
    with served(folder, "reviews.linnet", "--log", "problems", workers=2) as server, Load(server, clients) as load:
        time.sleep(1.0)
        for kill in range(2):
            victim = workers_of(server)[kill]
            before = len(load.lost)
            os.kill(victim, signal.SIGKILL)
            killed = time.monotonic()
            server.wait_for("started", 3 + kill)
            time.sleep(0.5)
            lost = load.lost[before:]
            assert len(lost) <= clients, lost  # at most the one that each client was waiting for
            assert all(when < killed + 1.0 for when, _ in lost), lost
        deaths = server.wait_for("worker died", 2)
        assert [death["signal"] for death in deaths] == ["SIGKILL"] * 2
        assert {status for _, status, _ in load.answers} == {200}
        during = [when for when, _, _ in load.answers if when > killed]
        assert len(during) > 50
        answered = len(load.answers)
        text = server.ask("GET", "/metrics")[1].decode()
        counted = next(line for line in text.splitlines() if 'endpoint="predict",status="200"' in line)
        assert float(counted.split()[-1]) >= answered - 2 * clients  # counters outlive a worker
        assert "linnet_worker_starts_total 4.0" in text
    assert server.process.returncode == 0


@pytest.mark.parametrize("workers", [1, 2])
def test_a_file_cut_under_a_running_server_harms_nobody(folder, tmp_path, workers):
    file = tmp_path / "m.linnet"
    shutil.copy(folder / "newer.linnet", file)
    with served(tmp_path, "m.linnet", workers=workers, TMPDIR=str(tmp_path)) as server:
        version = answer_version(server)
        os.truncate(file, 1000)
        for k in range(20):  # texts that were not asked before, so that other pages are read
            assert (
                server.ask("POST", "/v1/predict", {"text": f"a warm and funny book {k} {'plot ending page' * k}"})[0]
                == 200
            )
        server.process.send_signal(signal.SIGHUP)
        failed = server.wait_for("reload failed", workers)
        assert "m.linnet" in failed[0]["problem"]
        assert "truncated" in failed[0]["problem"]
        assert answer_version(server) == version
        file.write_bytes((folder / "reviews.linnet").read_bytes())  # written over, not renamed
        server.process.send_signal(signal.SIGHUP)
        server.wait_for("reloaded", workers)
        assert len(list(tmp_path.glob("linnet-*-*/*.linnet"))) == 1
        assert not server.events("worker died")
    assert not list(tmp_path.glob("linnet-*-*"))


def test_the_folder_of_a_killed_server_is_removed_by_the_next(folder, tmp_path):
    with served(tmp_path, str(folder / "newer.linnet"), TMPDIR=str(tmp_path)) as first:
        first.process.kill()
        first.process.wait()
    assert len(list(tmp_path.glob("linnet-*-*"))) == 1
    with served(tmp_path, str(folder / "newer.linnet"), TMPDIR=str(tmp_path)) as second:
        assert len(list(tmp_path.glob("linnet-*-*"))) == 1
        with served(tmp_path, str(folder / "newer.linnet"), TMPDIR=str(tmp_path)):
            assert len(list(tmp_path.glob("linnet-*-*"))) == 2  # that of a living server stays
        assert second.ask("GET", "/healthz")[0] == 200
    assert not list(tmp_path.glob("linnet-*-*"))


@pytest.mark.slow
def test_workers_that_cannot_start_wait_longer_and_longer(folder, tmp_path):
    shutil.copy(folder / "newer.linnet", tmp_path / "m.linnet")
    with served(tmp_path, "m.linnet", workers=2) as server:
        (tmp_path / "m.linnet").write_bytes(b"not a model")
        for pid in workers_of(server):
            os.kill(pid, signal.SIGKILL)
        deaths = server.wait_for("worker died", 8, 120)[:8]
        assert sorted(death["retry_in"] for death in deaths) == [0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 4.0, 4.0]
        problems = [event["problem"] for event in server.events("worker not started")]
        assert problems
        assert all("m.linnet" in problem and "\n" not in problem for problem in problems)
        assert "Traceback" not in server.log.read_text()
        shutil.copy(folder / "newer.linnet", tmp_path / "copy.tmp")
        (tmp_path / "copy.tmp").replace(tmp_path / "m.linnet")
        server.wait_for("started", 4, 60)
        assert server.ask("POST", "/v1/predict", {"text": "a"})[0] == 200


@pytest.mark.slow
def test_a_reload_under_load_loses_nothing(folder, tmp_path):
    for name in ("reviews.linnet", "newer.linnet"):
        shutil.copy(folder / name, tmp_path / f"_{name}")
    linnet.TextClassifier("nb").fit(whole("reviews")).save(tmp_path / "_newer.linnet")
    shutil.copy(folder / "reviews.linnet", tmp_path / "m.linnet")
    with (
        served(tmp_path, "m.linnet", "--allow-reload", "--log", "problems", workers=2) as server,
        Load(server, 8) as load,
    ):
        for k in range(6):
            time.sleep(0.4)
            replace(tmp_path, "m.linnet", "_newer.linnet" if k % 2 == 0 else "_reviews.linnet")
            if k < 3:
                server.process.send_signal(signal.SIGHUP)
            else:
                assert server.ask("POST", "/v1/models/reload")[0] == 200
        time.sleep(0.5)
    assert load.lost == []
    assert {status for _, status, _ in load.answers} == {200}
    assert len({version for _, _, version in load.answers}) == 2
    assert len(load.answers) > 200


@pytest.mark.slow
def test_workers_stop_when_their_supervisor_is_gone(folder):
    with served(folder, "reviews.linnet", workers=2) as server:
        pids = workers_of(server)
        server.process.kill()
        server.process.wait()
        end = time.monotonic() + 20
        while any(alive(pid) for pid in pids):
            assert time.monotonic() < end
            time.sleep(0.1)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.slow
def test_a_client_that_does_not_read_holds_up_nobody(folder):
    with served(folder, "reviews.linnet", "--timeout", "2") as server:
        host, port = server.address.split(":")
        body = json.dumps({"texts": ["a"] * 10_000, "probabilities": True}).encode()
        head = b"POST /v1/predict HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
        lazy = [socket.create_connection((host, int(port))) for _ in range(10)]
        for connection in lazy:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(head % len(body) + body)
        assert server.ask("POST", "/v1/predict", {"text": "a"})[0] == 200
        time.sleep(5)
        assert b"\nlinnet_in_flight 1.0\n" in server.ask("GET", "/metrics")[1]
        for connection in lazy:
            connection.close()


@pytest.mark.slow
@pytest.mark.parametrize("token", [None, "a-token"])
def test_schemathesis_finds_no_error_and_no_undocumented_status(folder, tmp_path, token):
    pytest.importorskip("schemathesis")
    limits = ("--max-text", "120", "--max-batch", "8", "--max-explain", "120", "--allow-reload")
    environment = {"LINNET_TOKEN": token} if token else {}
    models = (str(folder / "reviews.linnet"), f"second={folder / 'newer.linnet'}")
    with served(tmp_path, *models, *limits, **environment) as server:
        command = [
            sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/openapi.json", "--checks", "all",
            "--max-examples", "150", "--generation-deterministic", "--request-timeout", "20",
        ]  # fmt: skip
        if token:
            command += ["--header", f"Authorization: Bearer {token}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=400, cwd=tmp_path)
        assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
        assert "7 selected / 7 total" in done.stdout
        assert server.ask("GET", "/healthz")[0] == 200
        assert not server.events("crash")
        asked = server.events("request")
        assert len(asked) > 300
        assert not [line for line in asked if line["status"] >= 500]


@pytest.mark.slow
def test_the_page_works_in_a_browser_and_asks_nobody_else(folder):
    sync = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed")
    with served(folder, "reviews.linnet", LINNET_TOKEN="a-token") as server, sync.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 390, "height": 800})
        said: list[str] = []
        asked: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{server.url}/docs")
        page.fill("#token", "a-token")
        page.click("button:visible")
        # by a locator: the page's policy forbids eval, with which wait_for_function polls
        page.locator("pre:not([hidden])", has_text="probability").first.wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        if SHOTS:
            page.screenshot(path=f"{SHOTS}/serve-docs.png", full_page=True)
        injected = (
            "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.owned = 1'}))"
        )
        page.evaluate(injected)
        assert page.evaluate("window.owned") is None
        assert len(said) == 1, said
        assert "Content Security Policy" in said.pop()
        browser.close()
    assert said == []
    assert all(url.startswith(server.url) for url in asked)
    assert f"{server.url}/v1/predict" in asked
