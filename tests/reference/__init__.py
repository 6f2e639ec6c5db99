"""The kernels in plain Python: slow, short, and what the tests compare the compiled kernels with."""
