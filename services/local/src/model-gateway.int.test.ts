import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ModelServer, startModelServer } from '@uswarm/dev-servers';
import { developmentToken, startTestClient, type TestClient } from '@uswarm/testkit/test-client';
import { type RunningProgram, runLocalMode } from '../test/local.js';
import { loggedRuntimes } from '../test/processes.js';

const KEY = 'provider-key-of-this-test';
/** A process' environment is a file on Linux only. */
const onLinux = process.platform === 'linux' ? describe : describe.skip;
const USAGE = { prompt: 40, completion: 7 };

const PROVIDERS = [
  ['openai', 'OPENAI'],
  ['anthropic', 'ANTHROPIC'],
] as const;

describe.each(PROVIDERS)('local mode with the provider %s', (provider, prefix) => {
  let model: ModelServer;
  let local: RunningProgram;
  let client: TestClient;
  beforeAll(async () => {
    model = await startModelServer({ script: () => [{ text: 'An answer of the provider.' }, { usage: USAGE }] });
    local = await runLocalMode({
      [`${prefix}_BASE_URL`]: model.baseUrl,
      [`${prefix}_API_KEY`]: KEY,
      [`${prefix}_MODEL`]: 'scripted',
    });
    const token = await developmentToken(local.issuer, `${randomUUID()}@example.com`);
    client = await startTestClient({ restUrl: local.url, socketUrl: local.url, token });
  });
  afterAll(async () => {
    client?.close();
    await local?.stop();
    await model?.close();
  });

  it('answers a turn through the model gateway, which adds the key and counts the tokens', async () => {
    const { answer } = await client.ask('What do you say?');
    expect(answer).toMatchObject({ status: 'delivered', content: { text: 'An answer of the provider.' } });
    expect(model.requests.map(({ protocol, authorization }) => ({ protocol, authorization }))).toEqual([
      { protocol: provider, authorization: `Bearer ${KEY}` },
    ]);
    const usage = await client.api('GET', `/v1/workspaces/${client.workspaceId}/usage`);
    expect(usage.body).toMatchObject({ data: { tokens_used: USAGE.prompt + USAGE.completion, request_count: 1 } });
    const log = readFileSync(path.join(local.directory, 'uswarm.log'), 'utf8');
    expect(log).toContain('"msg":"model call"');
    for (const secret of [KEY, 'What do you say']) expect(log).not.toContain(secret);
  });

  onLinux('the environment of its runtimes', () => {
    it('has neither the key nor the address of the provider', () => {
      const environments = loggedRuntimes(local.directory).map((pid) => readFileSync(`/proc/${pid}/environ`, 'utf8'));
      expect(environments).toHaveLength(1);
      for (const environment of environments) {
        expect(environment).toContain('MODEL_GATEWAY_URL=http://127.0.0.1:');
        for (const secret of [KEY, model.baseUrl]) expect(environment).not.toContain(secret);
      }
    });
  });
});
