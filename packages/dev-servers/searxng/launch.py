"""Runs SearXNG's core from a folder of packages, and ends when the process that started it does.

Usage: python -I -S launch.py <folder of packages>
"""

import os
import runpy
import sys
import threading
import types

packages = sys.argv.pop(1)
# The packages come first: among them is the real babel, of which the core carries a small stand-in.
sys.path[:0] = [packages, os.path.join(packages, "src", "searxng_core")]


def end_with_parent() -> None:
    # The parent holds the other end of standard input, which closes however the parent ends.
    sys.stdin.buffer.read()
    os._exit(0)


# Without this, SearXNG asks git for its version, in whatever repository it happens to be.
frozen = types.ModuleType("searx.version_frozen")
frozen.VERSION_STRING = frozen.VERSION_TAG = frozen.DOCKER_TAG = "1.0.0"
frozen.GIT_URL = frozen.GIT_BRANCH = "unknown"
sys.modules[frozen.__name__] = frozen

threading.Thread(target=end_with_parent, daemon=True).start()

from searx.sxng_locales import sxng_locales  # noqa: E402

# The distribution cut this list down to three columns of the five that the parser of queries
# unpacks, so that any word with a colon in front would end in an error.
sxng_locales[:] = [(tag, name, "", english, "") for tag, english, name in sxng_locales]

runpy.run_module("searx.webapp", run_name="__main__", alter_sys=True)
