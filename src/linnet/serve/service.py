"""All that a worker holds: settings, models, tokens, counters, the log; and what its endpoints do, HTTP left out."""

from __future__ import annotations

import asyncio
import hmac
import os
import signal
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson

from linnet.errors import LinnetError
from linnet.serve.answering import explanation, question
from linnet.serve.batching import Batcher
from linnet.serve.catalogue import Catalogue
from linnet.serve.logs import Log
from linnet.serve.metrics import Metrics
from linnet.serve.problems import RequestError
from linnet.serve.schema import checked, requests
from linnet.serve.settings import Settings, tokens

__all__ = ["Service"]


class Service:
    """The server without HTTP."""

    def __init__(
        self, settings: Settings, *, log: Log | None = None, metrics: Metrics | None = None, supervised: bool = False
    ) -> None:
        self.settings = settings
        self.supervised = supervised  # another process passes a reload on to all workers
        self.log = log or Log(dump=orjson.dumps)
        self.metrics = metrics or Metrics([name for name, _ in settings.models])
        self.catalogue = Catalogue(settings.models, settings.threads)
        self.tokens = tokens(settings.token_file)
        self.PredictRequest, self.ExplainRequest = requests(settings)
        self.pool = ThreadPoolExecutor(max_workers=4, thread_name_prefix="linnet")
        self.batcher = Batcher(self.pool, self.metrics, gather=settings.gather, on_error=self.crashed)
        self.in_flight = 0
        self.held = 0  # bytes of bodies
        self.ready = True
        self._reloading = asyncio.Lock()

    def authorized(self, header: bytes | None) -> bool:
        """Say whether a header names a token; takes the same time for every wrong one of a length."""
        scheme, _, given = (header or b"").partition(b" ")
        given = given.strip()
        right = False
        for token in self.tokens:  # all of them, always
            right |= hmac.compare_digest(given, token)
        return right and scheme.lower() == b"bearer"

    def predict(self, body: bytes) -> tuple[asyncio.Future[bytes], dict[str, Any]]:
        """Return the answer to come, and what the log may know about the request."""
        asked: Any = checked(self.PredictRequest, body)
        served = self.catalogue.get(asked.model)
        what = question(served, asked)
        about: dict[str, Any] = {"model": served.name, "texts": len(what.texts)}
        if self.settings.log_texts:
            about["text"] = list(what.texts)
        return self.batcher.ask(what), about

    async def explain(self, body: bytes) -> tuple[bytes, dict[str, Any]]:
        """Explain one text, in a thread."""
        asked: Any = checked(self.ExplainRequest, body)
        served = self.catalogue.get(asked.model)
        self.metrics.texts(served.name, 1)
        about: dict[str, Any] = {"model": served.name, "texts": 1}
        if self.settings.log_texts:
            about["text"] = [asked.text]
        return await self._threaded(explanation, served, asked), about

    async def models(self) -> bytes:
        """List the models; counting their features the first time may take a while."""
        catalogue = self.catalogue

        def listed() -> bytes:
            found = [served.about for served in catalogue.models.values()]
            return orjson.dumps({"default": catalogue.default, "models": found})

        found: bytes = await self._threaded(listed)
        return found

    async def reload(self) -> bytes:
        """Read changed model files, and the tokens; where one cannot be read, everything stays as it was."""
        async with self._reloading:
            try:
                fresh = tokens(self.settings.token_file)
                changed = await self._threaded(self.catalogue.reload)
            except LinnetError as error:
                self.metrics.add("linnet_failed_reloads_total")
                self.log.event("reload failed", problem=str(error))
                raise RequestError("reload_failed", f"{error}; the models in use stay") from None
            self.tokens = fresh
        self.metrics.add("linnet_reloads_total", len(changed))
        versions = {name: served.version for name, served in self.catalogue.models.items()}
        self.log.event("reloaded", changed=changed, versions=versions)
        return orjson.dumps({"reloaded": changed, "versions": versions})

    async def reload_everywhere(self) -> bytes:
        """Reload here and, if that went well, in the other workers."""
        done = await self.reload()
        if self.supervised:
            os.kill(os.getppid(), signal.SIGHUP)
        return done

    def crashed(self, error: BaseException) -> None:
        """Log a bug: where it is, but not the words of the error, which may quote a text."""
        frames = [
            f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(error.__traceback__)
        ]
        fields: dict[str, Any] = {"error": type(error).__name__, "frames": frames[-12:]}
        if self.settings.log_texts:
            fields["message"] = str(error)
        self.log.event("crash", **fields)

    def close(self) -> None:
        """Let go of threads and write what is left of the log."""
        self.pool.shutdown(wait=False, cancel_futures=True)
        self.log.flush()

    async def _threaded(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self.pool, function, *arguments)
