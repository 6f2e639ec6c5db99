"""Run the command line as ``python -m linnet``."""

from linnet.cli import main

main()
