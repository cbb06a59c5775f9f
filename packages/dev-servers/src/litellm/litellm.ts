import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type InstallOptions, installPythonProgram } from '../python/python-packages.js';
import { startPythonServer, withFreePort } from '../python/python-server.js';

/** The pinned requirements and the launcher; the path is the same from `src` and `dist`. */
const assets = join(import.meta.dirname, '..', '..', 'litellm');

const LITELLM = {
  title: 'LiteLLM',
  name: 'litellm',
  size: '500 MB',
  requirements: [join(assets, 'requirements.txt')],
};

/** It imports all providers' clients. */
const START_MS = 180_000;

export interface LiteLlmOptions extends InstallOptions {
  /** The OpenAI-compatible server that runs the model, with `/v1`. */
  upstream: string;
  /** Model name, there and here. */
  model: string;
  /** The key for clients; starts with `sk-`. */
  key: string;
  /** The server's output is appended to this file. */
  logFile: string;
}

/**
 * Starts LiteLLM's proxy on a loopback port, after installing it if needed. It speaks the protocols of OpenAI and of
 * Anthropic below `/v1`. @throws LocalError if it cannot be installed or does not start
 */
export async function startLiteLlm({ upstream, model, key, logFile, ...install }: LiteLlmOptions) {
  const { python, packages } = await installPythonProgram(LITELLM, install);
  const folder = await mkdtemp(join(tmpdir(), 'uswarm-litellm-'));
  const config = join(folder, 'config.yaml');
  const parameters = { model: `openai/${model}`, api_base: upstream, api_key: 'none' };
  // JSON is valid YAML.
  await writeFile(config, JSON.stringify({ model_list: [{ model_name: model, litellm_params: parameters }] }));
  return withFreePort(async (port) => {
    const endpoint = `http://127.0.0.1:${port}`;
    const server = await startPythonServer({
      title: LITELLM.title,
      python,
      args: ['-I', '-S', join(assets, 'launch.py'), packages, String(port), config],
      cwd: folder,
      environment: { LITELLM_MASTER_KEY: key, LITELLM_LOCAL_MODEL_COST_MAP: 'True', DISABLE_ADMIN_UI: 'True' },
      logFile,
      healthUrl: `${endpoint}/health/liveliness`,
      startMs: START_MS,
    });
    const close = async (): Promise<void> => {
      await server.close();
      await rm(folder, { recursive: true, force: true });
    };
    return { endpoint, close };
  });
}
