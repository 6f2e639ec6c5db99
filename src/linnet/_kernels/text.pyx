"""The kernels of text: UTF-8 to tokens, to fingerprints, to columns, to scores and their explanation.

One module, because every Cython module carries 30,000 lines of C of its own: see docs/decisions.md. Each included file is
one kernel or one value that kernels share.
"""
include "scratch.pyx"
include "featurize.pyx"
include "names.pyx"
include "vocab.pyx"
include "counts.pyx"
include "score.pyx"
include "parts.pyx"
include "measure.pyx"
include "minhash.pyx"
include "varint.pyx"
