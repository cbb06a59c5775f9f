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
