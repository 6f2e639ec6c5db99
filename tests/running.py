"""Run ``linnet ARGUMENTS`` as a process of its own with pipes, without paying half a second for its imports every time.

A process that has imported linnet waits here and forks for every command (as multiprocessing's fork server does). Arguments,
folder, environment, streams, signals and exit codes are those of a real process. What depends on how Python itself starts
(PYTHONIOENCODING, the processor NumPy thinks it has, what is imported when) is for subprocess.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path


def run(*arguments, stdin=b"", cwd=None, env=None, text=False, timeout=180, code=None):
    """Return what a command printed, as bytes or text, and its exit code, which may be asked for."""
    words = [str(a) for a in arguments]
    given = stdin.encode() if isinstance(stdin, str) else stdin or b""
    done = _forked(words, given, os.fspath(cwd or Path.cwd()), {**os.environ, **(env or {})}, timeout)
    if text:
        done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()
    if code is not None:
        assert done.returncode == code, done.stderr
    return done


def _forked(words, given, cwd, env, timeout):
    server = _server(os.getpid())
    pipes = [os.pipe() for _ in range(3)]
    theirs = [pipes[0][0], pipes[1][1], pipes[2][1]]
    request = json.dumps({"arguments": words, "cwd": cwd, "environment": env}, ensure_ascii=True).encode()
    socket.send_fds(server, [len(request).to_bytes(8, "little")], theirs)
    server.sendall(request)
    for end in theirs:
        os.close(end)
    pid = int.from_bytes(_read(server, 8), "little")
    found = [b"", b""]

    def read(k):
        with os.fdopen(pipes[k + 1][0], "rb") as stream:
            found[k] = stream.read()

    threads = [threading.Thread(target=read, args=[k], daemon=True) for k in (0, 1)]
    clock = threading.Timer(timeout, os.kill, (pid, signal.SIGKILL))
    for thread in (*threads, clock):
        thread.start()
    with contextlib.suppress(BrokenPipeError), os.fdopen(pipes[0][1], "wb") as stream:
        stream.write(given)
    status = int.from_bytes(_read(server, 8), "little")
    clock.cancel()
    for thread in threads:
        thread.join()
    return subprocess.CompletedProcess(["linnet", *words], os.waitstatus_to_exitcode(status), *found)


@functools.cache
def _server(owner):
    """Return the socket of the waiting process, one for each process that runs tests."""
    ours, its = socket.socketpair()
    pipes = dict.fromkeys(
        ("stdin", "stdout", "stderr"), subprocess.PIPE
    )  # so that Python opens its streams as on pipes
    subprocess.Popen([sys.executable, __file__, str(its.fileno())], pass_fds=[its.fileno()], **pipes)
    its.close()
    return ours


def _read(sock, n):
    data = b""
    while len(data) < n:
        piece = sock.recv(n - len(data))
        if not piece:
            raise EOFError("the process that runs commands is gone")
        data += piece
    return data


def _serve(sock):
    from linnet.cli import COMMANDS, main

    for module, _ in COMMANDS.values():
        importlib.import_module(module.split(":")[0])
    for module in (
        "linnet.classifier",
        "linnet.pipeline.fit",
        "linnet.data.readers",
        "pyarrow.compute",
        "pyarrow.csv",
        "rich.console",
    ):
        importlib.import_module(module)
    gc.freeze()
    while True:
        head, streams, _, _ = socket.recv_fds(sock, 8, 3)
        if not head:
            return
        request = json.loads(_read(sock, int.from_bytes(head, "little")))
        if child := os.fork():
            for stream in streams:
                os.close(stream)
            sock.sendall(child.to_bytes(8, "little"))
            sock.sendall(os.waitpid(child, 0)[1].to_bytes(8, "little"))
            continue
        sock.close()
        for k, stream in enumerate(streams):
            os.dup2(stream, k)
            os.close(stream)
        os.chdir(request["cwd"])
        os.environ.clear()
        os.environ.update(request["environment"])
        sys.path[0] = request["cwd"]
        sys.argv = ["linnet", *request["arguments"]]
        main()
        return


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
