"""The systems that benchmarks/peers.py compares: one file here and one row of its SYSTEMS each."""
