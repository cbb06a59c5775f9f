"""Runs pip, and ends when the process that started it does.

Usage: python run-pip.py <arguments of pip>
"""

import os
import runpy
import sys
import threading


def end_with_parent() -> None:
    # The parent holds the other end of standard input, which closes however the parent ends. sys.stdin would
    # block the regular end of pip.
    while os.read(0, 4096):
        pass
    os._exit(1)


threading.Thread(target=end_with_parent, daemon=True).start()

# The folder of this script, which `python -m pip` would not have.
del sys.path[0]
runpy.run_module("pip", run_name="__main__", alter_sys=True)
