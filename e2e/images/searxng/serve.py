"""Runs launch.py, which ends together with its standard input: in a container it never does."""

import os
import runpy
import signal
import sys

# The first process of a container ignores what it has no handler for.
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))

reading, _never_closed = os.pipe()
sys.stdin = os.fdopen(reading)
runpy.run_path(os.path.join(os.path.dirname(__file__), "launch.py"), run_name="__main__")
