"""An HTTP server for models: ``linnet serve MODEL...``.

One request goes through these files, in this order: ``accepting`` (a connection), ``connection`` (bytes to a request; slow
and endless heads are cut off), ``front`` (token, size, time, log, counters), ``schema`` (is it what the published schema
says?), ``batching`` (requests that are in flight together share one call), ``answering`` (scores to an answer), ``front``
again. ``catalogue`` holds the models, ``service`` all that a worker has, ``app`` is the FastAPI application that publishes the
schema and answers everything that need not be quick, ``worker`` is one process and ``supervisor`` keeps several alive.

Needs the extra ``serve``; ``settings``, ``metrics``, ``logs`` and ``supervisor`` alone do not.
"""
