import { mkdtemp, rm, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cacheFolder, startLlama } from '@uswarm/dev-servers';
import type { LlamaSettings } from '../settings.js';

/** Milliseconds. One core can take minutes for a prompt that it has not read before. */
const PATIENCE_MS = 300_000;

export interface LlamaProvider {
  /** Settings for local mode. */
  env: Record<string, string>;
  close(): Promise<void>;
}

/** Starts a model on this machine, after installing it if needed. @throws LocalError */
export async function startLlamaProvider(
  { model, threads, contextWindow, outputLimit }: LlamaSettings,
  onProgress: (line: string) => void,
): Promise<LlamaProvider> {
  const folder = await mkdtemp(join(tmpdir(), 'uswarm-evals-llama-'));
  const directory = join(cacheFolder(), 'llama');
  const logFile = join(folder, 'llama.log');
  const server = await startLlama({ model, threads, contextWindow, directory, logFile, onProgress }).catch(
    async (error: unknown) => {
      // A log stays: the error names it.
      await rmdir(folder).catch(() => undefined);
      throw error;
    },
  );
  return {
    env: {
      OPENAI_BASE_URL: `${server.endpoint}/v1`,
      OPENAI_MODEL: model,
      USWARM_MODEL_CONTEXT_WINDOW: String(contextWindow),
      USWARM_MODEL_OUTPUT_LIMIT: String(outputLimit),
      USWARM_MODEL_TIMEOUT_MS: String(PATIENCE_MS),
    },
    close: async () => {
      await server.close();
      await rm(folder, { recursive: true });
    },
  };
}
