import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { startModelServer } from '@uswarm/dev-servers';
import { developmentToken, startTestClient } from '@uswarm/testkit/test-client';
import { runLocalMode } from '../test/local.js';
import { modelLines } from '../test/models-page.js';

const page = readFileSync(path.resolve(import.meta.dirname, '../../../docs/models.md'), 'utf8');
/** One line per protocol, with a base URL and a placeholder key, which the test replaces. */
const protocols = ['OPENAI', 'ANTHROPIC'].map((name) => {
  const [found] = modelLines(page).filter(({ environment }) => `${name}_BASE_URL` in environment);
  return {
    protocol: name.toLowerCase(),
    baseUrl: `${name}_BASE_URL`,
    key: `${name}_API_KEY`,
    environment: found!.environment,
  };
});

describe('local mode with a line of docs/models.md', () => {
  let cleanup = new AsyncDisposableStack();
  afterEach(async () => {
    await cleanup.disposeAsync();
    cleanup = new AsyncDisposableStack();
  });

  it.each(protocols)(
    'answers with a server of the protocol of $protocol',
    async ({ protocol, baseUrl, key, environment }) => {
      const model = await startModelServer({ script: () => [{ text: `An answer over ${protocol}.` }] });
      cleanup.defer(() => model.close());
      const local = await runLocalMode({ ...environment, [baseUrl]: model.baseUrl, [key]: 'key-of-this-test' });
      cleanup.defer(async () => void (await local.stop()));
      const token = await developmentToken(local.issuer, `${randomUUID()}@example.com`);
      const client = await startTestClient({ restUrl: local.url, socketUrl: local.url, token });
      cleanup.defer(() => client.close());
      const { answer } = await client.ask('What do you say?');
      expect(answer).toMatchObject({ status: 'delivered', content: { text: `An answer over ${protocol}.` } });
      const [asked] = model.requests;
      expect(asked?.protocol).toBe(protocol);
      expect(Object.values(environment)).toContain(asked?.body.model);
    },
  );
});
