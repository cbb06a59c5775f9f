import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { cacheFolder, startLiteLlm, startLlama } from '@uswarm/dev-servers';
import type { ModelError } from '../../src/models/port.js';
import { collect, connectTo, stepOf } from './model-steps.js';

const NEVER = new AbortController().signal;
const KEY = 'sk-0123456789abcdef0123456789abcdef';
const WINDOW = 1_024;

const cleanup = new AsyncDisposableStack();
let endpoint: string;
beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'litellm-'));
  const llama = await startLlama({
    directory: join(cacheFolder(), 'llama'),
    contextWindow: WINDOW,
    logFile: join(folder, 'llama.log'),
  });
  cleanup.defer(() => llama.close());
  const server = await startLiteLlm({
    directory: join(cacheFolder(), 'litellm'),
    upstream: `${llama.endpoint}/v1`,
    model: 'smollm2',
    key: KEY,
    logFile: join(folder, 'litellm.log'),
  });
  cleanup.defer(() => server.close());
  ({ endpoint } = server);
});
afterAll(() => cleanup.disposeAsync());

describe.each(['openai', 'anthropic'] as const)('the provider %s with the proxy of LiteLLM', (provider) => {
  it('streams an answer, and reports its tokens', async () => {
    const port = connectTo(endpoint, provider, KEY);
    const { texts, usage, step, error } = await collect(port.step(stepOf('Say hello.', 100), { signal: NEVER }));
    expect(error).toBeUndefined();
    expect(texts.length).toBeGreaterThan(1);
    expect(step).toMatchObject({ finish: 'answered', text: texts.join(''), calls: [] });
    expect(usage).toMatchObject([{ estimated: false }]);
    expect(usage[0]?.completionTokens).toBeGreaterThan(1);
  });

  it('recognizes a prompt that exceeds the window', async () => {
    const long = connectTo(endpoint, provider, KEY).step(stepOf('word '.repeat(2 * WINDOW), 8), { signal: NEVER });
    expect(((await collect(long)).error as ModelError).contextOverflow).toBe(true);
  });

  it('recognizes a wrong key', async () => {
    const refused = connectTo(endpoint, provider, 'sk-wrong').step(stepOf('Say hello.', 8), { signal: NEVER });
    expect((await collect(refused)).error).toMatchObject({ code: 'model_rejected', contextOverflow: false });
  });
});
