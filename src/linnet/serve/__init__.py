"""An HTTP server for models: ``linnet serve MODEL...``.

One request goes through these files, in this order: ``server`` (processes; bytes to a request, with limits on its head), ``asgi``
(token, size, time, log, counters; which function answers), ``service`` (all that a worker has), ``schema`` (is it what the published
schema says?), ``predictions`` (requests that are in flight together share one call; scores to an answer), ``asgi`` again. ``settings`` also
says what is refused, and what pages of other sites may do; ``catalogue`` holds the models, ``metrics`` the counters and the log.

Needs the extra ``serve``; ``settings`` and ``catalogue`` alone do not.
"""
