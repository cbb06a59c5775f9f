"""Runs LiteLLM's proxy on a loopback port, and ends when the process that started it does.

Usage: python -I -S launch.py <folder of packages> <port> <configuration file>
"""

import os
import sys
import threading

packages, port, config = sys.argv[1:]
sys.path.insert(0, packages)


def end_with_parent() -> None:
    # The parent holds the other end of standard input, which closes however the parent ends.
    sys.stdin.buffer.read()
    os._exit(0)


threading.Thread(target=end_with_parent, daemon=True).start()

from litellm import run_server  # noqa: E402

sys.argv[1:] = ["--config", config, "--host", "127.0.0.1", "--port", port, "--telemetry", "False"]
run_server()
