"""Runs the schemathesis that was installed into a folder: launch.py <folder> <arguments>…"""

import sys

folder, *arguments = sys.argv[1:]
sys.path.insert(0, folder)
sys.argv = ["schemathesis", *arguments]

from schemathesis.cli import schemathesis  # noqa: E402

schemathesis()
