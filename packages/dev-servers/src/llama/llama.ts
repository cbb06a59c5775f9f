import { join } from 'node:path';
import { type InstallOptions, installPythonProgram } from '../python/python-packages.js';
import { startPythonServer, withFreePort } from '../python/python-server.js';

/** The pinned requirements and the launcher; the path is the same from `src` and `dist`. */
const assets = join(import.meta.dirname, '..', '..', 'llama');

const LLAMA = {
  title: 'The llama.cpp server',
  name: 'llama',
  size: '150 MB',
  requirements: [join(assets, 'requirements.txt')],
};

export interface LlamaOptions extends InstallOptions {
  /** Tokens of prompt and output together; at most 8,192. */
  contextWindow: number;
  /** The server's output is appended to this file. */
  logFile: string;
}

export interface RunningLlama {
  /** The base URL without a path: the server speaks the protocols of OpenAI and of Anthropic below `/v1`. */
  endpoint: string;
  close(): Promise<void>;
}

/**
 * Starts a llama.cpp server with the model `smollm2` (135 million parameters) on a loopback port, after installing both if
 * needed. The same prompt gets the same answer. @throws LocalError if it cannot be installed or does not start
 */
export async function startLlama({ contextWindow, logFile, ...install }: LlamaOptions): Promise<RunningLlama> {
  const { python, packages } = await installPythonProgram(LLAMA, install);
  return withFreePort(async (port) => {
    const endpoint = `http://127.0.0.1:${port}`;
    const { close } = await startPythonServer({
      title: LLAMA.title,
      python,
      args: ['-I', '-S', join(assets, 'launch.py'), packages, String(port), String(contextWindow)],
      cwd: assets,
      logFile,
      healthUrl: `${endpoint}/health`,
    });
    return { endpoint, close };
  });
}
