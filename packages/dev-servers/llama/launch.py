"""Runs a llama.cpp server on a loopback port, and ends when the process that started it does.

Usage: python -I -S launch.py <folder of packages> <weights> <model name> <port> <context window in tokens> <threads>
"""

import os
import sys

packages, weights, name, port, window, threads = sys.argv[1:]
sys.path.insert(0, packages)

import xllamacpp  # noqa: E402

params = xllamacpp.CommonParams()
params.model.path = weights
params.model_alias = {name}
params.hostnames = ["127.0.0.1"]
params.port = int(port)
params.n_ctx = int(window)
params.n_parallel = 1
# Between batches, the server notices that a call was cancelled.
params.n_batch = 512
params.cpuparams.n_threads = int(threads)
params.cpuparams_batch.n_threads = int(threads)
# Prompts that begin alike are read once, also if another prompt came between them.
params.cache_prompt = True
params.cache_ram_mib = 2_048
# The template of the model writes the tools into the prompt.
params.use_jinja = True
# The same prompt gets the same answer.
params.sampling.temp = 0.0
params.sampling.seed = 1

server = xllamacpp.Server(params)
# The parent holds the other end of standard input, which closes however the parent ends.
sys.stdin.buffer.read()
os._exit(0)
