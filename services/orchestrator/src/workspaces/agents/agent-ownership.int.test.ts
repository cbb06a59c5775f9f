import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { allRows } from '../../../test/database-rows.js';
import type { Method } from '../../../test/api-client.js';
import { first, startTestOrchestrator, type TestOrchestrator, type TestUser } from '../../../test/test-orchestrator.js';

const ROUTES: [Method, string, unknown][] = [
  ['GET', '', undefined],
  ['GET', '/details', undefined],
  ['PATCH', '', { name: 'Theirs' }],
  ['PATCH', '', {}],
  ['DELETE', '', undefined],
  ['GET', '/history', undefined],
  ['GET', '/settings', undefined],
  ['PATCH', '/settings', { model: 'opus' }],
  ['PATCH', '/settings', {}],
  ['GET', '/tools', undefined],
  ['PATCH', '/tools/memories', { enabled: false }],
  ['PATCH', '/tools/nothing', { enabled: false }],
  ['GET', '/memories', undefined],
  ['POST', '/memories', { key: 'tea', content: 'theirs' }],
  ['POST', '/memories', { key: 'tea', content: 'x'.repeat(9_000) }],
  ['DELETE', '/memories/tea', undefined],
  ['DELETE', '/memories/nothing', undefined],
  ['DELETE', '/memories/%00', undefined],
];

describe('an agent of another user', () => {
  let uswarm: TestOrchestrator;
  let other: TestUser;
  let id: string;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
    const owner = await uswarm.user();
    other = await uswarm.user();
    id = first((await uswarm.home(owner)).agents).id;
    await owner.post(`/v1/agents/${id}/memories`, { key: 'tea', content: 'green' }, 200);
    await owner.patch(`/v1/agents/${id}/tools/memories`, { enabled: true }, 200);
  });
  afterAll(() => uswarm.close());

  it.each(ROUTES)(
    '%s %s returns the same error as for an unknown agent, and changes nothing',
    async (method, rest, body) => {
      const before = await allRows(uswarm.database);
      const codes = [id, crypto.randomUUID(), 'no-id', id.toUpperCase()].map((named) =>
        other.refusal(method, `/v1/agents/${named}${rest}`, body),
      );
      expect(await Promise.all(codes)).toEqual(Array(4).fill('agent_not_found'));
      expect(await allRows(uswarm.database)).toEqual(before);
    },
  );
});
