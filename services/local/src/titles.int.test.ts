import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Conversation } from '@uswarm/contract';
import { type ModelServer, startModelServer } from '@uswarm/dev-servers';
import { eventually } from '@uswarm/testkit/eventually';
import { developmentToken, startTestClient } from '@uswarm/testkit/test-client';
import { type RunningProgram, runLocalMode } from '../test/local.js';

describe('the title of a conversation', () => {
  let model: ModelServer;
  let local: RunningProgram;
  beforeAll(async () => {
    model = await startModelServer({
      script: (request) => [
        { text: JSON.stringify(request).includes('capital of France') ? 'Capital of France' : 'Paris' },
      ],
    });
    local = await runLocalMode({
      OPENAI_BASE_URL: model.baseUrl,
      OPENAI_API_KEY: 'none',
      OPENAI_MODEL: 'model',
      SUMMARY_WORKERS: '1',
    });
  });
  afterAll(async () => {
    await local?.stop();
    await model?.close();
  });

  it('is written by the model through the runtime after the first answer', async () => {
    const token = await developmentToken(local.issuer, `${randomUUID()}@example.com`);
    const client = await startTestClient({ restUrl: local.url, socketUrl: local.url, token });
    try {
      await client.ask('Please tell me: what is the capital of France?');
      const path = `/v1/workspaces/${client.workspaceId}/conversations`;
      const titles = async () =>
        ((await client.api('GET', path)).body as { data: Conversation[] }).data.map(({ title }) => title);
      expect(await eventually(titles, { until: (found) => found.includes('Capital of France') })).toContain(
        'Capital of France',
      );
    } finally {
      client.close();
    }
  });
});
