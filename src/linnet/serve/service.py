"""All that a worker holds: settings, models, tokens, counters, the log; and what its endpoints do, without HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import os
import signal
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import orjson

from linnet.errors import LinnetError
from linnet.serve.catalogue import Catalogue
from linnet.serve.metrics import JsonLog, Metrics
from linnet.serve.predictions import Batcher, Query, explanation
from linnet.serve.schema import checked, requests
from linnet.serve.settings import RequestError, Settings, tokens

Found = TypeVar("Found")
FOLLOW_SECONDS = 1.0  # between two looks at a folder of versions


class Service:
    """The server without HTTP."""

    def __init__(self, settings: Settings, *, log: JsonLog | None = None) -> None:
        self.settings = settings
        self.log = log or JsonLog()
        self.metrics = Metrics(settings.workers)
        self.catalogue = Catalogue(settings.models, settings.folder, settings.threads, settings.trust)
        self.tokens = tokens(settings.token_file)
        self.PredictRequest, self.ExplainRequest = requests(settings)
        self.pool = ThreadPoolExecutor(max_workers=4, thread_name_prefix="linnet")
        self.batcher = Batcher(self.pool, self.metrics, settings.gather)
        self.in_flight = 0
        self.held = 0  # bytes of bodies
        self.ready = True
        self._reloading = asyncio.Lock()
        self.following: asyncio.Task[None] | None = None
        for name in self.catalogue.models:
            self.metrics.texts(name)  # counts from 0

    def authorized(self, header: bytes | None) -> bool:
        """Whether a header names a token; takes the same time for every wrong token of the same length."""
        scheme, _, given = (header or b"").partition(b" ")
        right = sum(hmac.compare_digest(given.strip(), token) for token in self.tokens)  # all of them, always
        return right > 0 and scheme.lower() == b"bearer"

    async def predict(self, body: bytes, details: dict[str, Any]) -> bytes:
        """Label texts; details are for the log."""
        asked: Any = checked(self.PredictRequest, body)
        query = Query.of(self.catalogue.get(asked.model), asked)
        self._note(details, query.served.name, query.texts)
        return await self.batcher.answer(query)

    async def explain(self, body: bytes, details: dict[str, Any]) -> bytes:
        """Explain one text, in a thread."""
        asked: Any = checked(self.ExplainRequest, body)
        served = self.catalogue.get(asked.model)
        self._note(details, served.name, [asked.text])
        self.metrics.texts(served.name).inc()
        return await self._threaded(explanation, served, asked)

    def _note(self, details: dict[str, Any], model: str, texts: Sequence[str]) -> None:
        details.update(model=model, texts=len(texts))
        if self.settings.log_texts:
            details["text"] = list(texts)

    async def models(self) -> bytes:
        """List the models; counting their features the first time may take a while."""
        return await self._threaded(lambda: orjson.dumps(self.catalogue.to_dict()))

    async def reload(self) -> bytes:
        """Read changed model files, and the tokens; where one cannot be read, everything stays as it was."""
        async with self._reloading:
            try:
                fresh = tokens(self.settings.token_file)
                changed = await self._threaded(self.catalogue.reload)
            except LinnetError as error:
                self.metrics.failed_reloads.inc()
                self.log.event("reload failed", problem=str(error))
                raise RequestError("reload_failed", f"{error}; the models in use stay") from None
            self.tokens = fresh
        self.metrics.reloads.inc(len(changed))
        versions = {name: served.version for name, served in self.catalogue.models.items()}
        self.log.event("reloaded", changed=changed, versions=versions)
        return orjson.dumps({"reloaded": changed, "versions": versions})

    async def reload_everywhere(self) -> bytes:
        """Reload here and, if that went well, in the other workers."""
        done = await self.reload()
        if self.settings.workers > 1:
            os.kill(os.getppid(), signal.SIGHUP)  # the process manager tells all workers
        return done

    def reload_soon(self) -> None:
        """Reload in a task; a failure is logged, and the old models stay."""
        self._reload_task = asyncio.get_running_loop().create_task(self.reload())
        self._reload_task.add_done_callback(lambda task: task.exception())

    async def follow_versions(self) -> None:
        """Reload when a folder of versions has another one in use."""
        while True:
            await asyncio.sleep(FOLLOW_SECONDS)
            if await self._threaded(self.catalogue.another_version):
                with contextlib.suppress(RequestError):  # logged; the old models stay
                    await self.reload()

    def crashed(self, error: BaseException) -> None:
        """Log a bug: where it is, but not the words of the error, which may quote a text."""
        last = traceback.extract_tb(error.__traceback__)[-12:]
        frames = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in last]
        fields: dict[str, Any] = {"error": type(error).__name__, "frames": frames}
        if self.settings.log_texts:
            fields["message"] = str(error)
        self.log.event("crash", **fields)

    def close(self) -> None:
        """End the threads."""
        self.pool.shutdown(wait=False, cancel_futures=True)

    async def _threaded(self, function: Callable[..., Found], *arguments: Any) -> Found:
        return await asyncio.get_running_loop().run_in_executor(self.pool, function, *arguments)
