"""An HTTP server for models: ``linnet serve MODEL...``.

One request goes through these files, in this order: ``connection`` (bytes to a request, with limits on its head), ``asgi``
(token, size, time, log, counters), ``endpoints`` (which function answers), ``schema`` (is it what the published schema says?),
``batching`` (requests that are in flight together share one call), ``predictions`` (scores to an answer), ``asgi`` again.
``browsers`` says what pages of other sites may do, ``catalogue`` holds the models, read from ``copies`` of their files, ``service``
all that a worker has, ``openapi`` writes the published schema, and ``server`` runs one process or several.

Needs the extra ``serve``; ``settings`` and ``catalogue`` alone do not.
"""
