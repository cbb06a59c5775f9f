import { createServer, type RequestListener } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { listen, parseSigningKey } from '@uswarm/service-kit';
import { TURN } from '../test/test-gateway.js';
import { createModelCallClient } from './model-call-client.js';

const CALL = {
  id: '0192d3a4-0000-7000-8000-000000000004',
  workspace_id: TURN.workspaceId,
  turn_id: TURN.turnId,
  agent_id: TURN.agentId,
  purpose: 'turn' as const,
  provider: 'openai' as const,
  model: 'gpt-default',
  requested_model: 'flash',
  estimated_prompt_tokens: 10,
  max_output_tokens: 100,
};

describe('the client of model calls', () => {
  it.each<[number, unknown, string[]]>([
    [200, {}, ['accepted']],
    [401, { extra: { service_token: 'expired' } }, ['expired']],
    [401, { extra: { service_token: 'invalid' } }, ['invalid']],
    [401, {}, ['invalid']],
    [404, { code: 'route_not_found' }, []],
    [503, {}, []],
  ])('reports what a response with status %d states about its token', async (status, body, expected) => {
    const server = await listen((_request, response) => void response.writeHead(status).end(JSON.stringify(body)), {
      host: '127.0.0.1',
      port: 0,
    });
    const verdicts: string[] = [];
    const client = createModelCallClient({
      url: server.url,
      key: parseSigningKey(`k1:${'s'.repeat(32)}`),
      onTokenVerdict: (verdict) => void verdicts.push(verdict),
    });
    await client.checkToken();
    await client.close();
    await server.close(0);
    expect(verdicts).toEqual(expected);
  });
});

describe('a reservation that fails', () => {
  /** Reserves a call at a server. @returns the error */
  async function failure(respond: RequestListener, isStopped = false): Promise<unknown> {
    const server = await listen(createServer(respond), { host: '127.0.0.1', port: 0 });
    if (isStopped) await server.close(0);
    const key = parseSigningKey(`k1:${'s'.repeat(32)}`);
    const client = createModelCallClient({ url: server.url, key, timeoutMs: 200 });
    try {
      return await client.reserve(CALL).catch((error: unknown) => error);
    } finally {
      await client.close();
      if (!isStopped) await server.close(0);
    }
  }

  it.each<[string, RequestListener]>([
    ['the orchestrator does not answer in time', () => undefined],
    ['the connection breaks', (_request, response) => void response.destroy()],
  ])('may be stored if %s', async (_why, respond) => {
    expect(await failure(respond)).toMatchObject({ code: 'orchestrator_unavailable', outcomeUnknown: true });
  });

  it('is not stored if the orchestrator reports an error or is not running', async () => {
    const expected = { code: 'orchestrator_unavailable', outcomeUnknown: false };
    expect(await failure((_request, response) => void response.writeHead(500).end())).toMatchObject(expected);
    expect(await failure(() => undefined, true)).toMatchObject(expected);
  });
});
