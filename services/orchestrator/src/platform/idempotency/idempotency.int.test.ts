import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ErrorBody } from '@uswarm/contract';
import { eventually } from '@uswarm/testkit/eventually';
import { sql } from 'kysely';
import type { Answer } from '../../../test/api-client.js';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../../test/test-orchestrator.js';
import { formOf, UPLOADS } from '../../../test/uploads.js';

type Made = Answer<{ data: { id: string } } & Partial<ErrorBody>>;

describe('Idempotency-Key', () => {
  let uswarm: TestOrchestrator;
  let user: TestUser;
  let home: Home;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({
      environment: { WORKSPACES_PER_USER: '2', UPKEEP_WORKERS: '1', UPLOADS_AT_ONCE_PER_USER: '10' },
    });
  });
  beforeEach(async () => {
    user = await uswarm.user();
    home = await uswarm.home(user);
  });
  afterAll(() => uswarm.close());

  const post = (path: string, body: unknown, key?: string): Promise<Made> =>
    user.raw({
      method: 'POST',
      path,
      headers: { 'content-type': 'application/json', ...(key === undefined ? {} : { 'idempotency-key': key }) },
      body: JSON.stringify(body),
    });
  const upload = async (content: string, key: string): Promise<Made> => {
    const form = await formOf({ content, name: 'a.txt' });
    return user.raw({ method: 'POST', path: UPLOADS, ...form, headers: { ...form.headers, 'idempotency-key': key } });
  };
  const conversation = (key: string, title = 'Plans') =>
    post(`${home.workspace}/conversations`, { type: 'swarm', title }, key);
  const workspace = (key: string, name = 'Second') => post('/v1/workspaces', { name }, key);

  const creations: [string, (key: string) => Promise<Made>, (key: string) => Promise<Made>, () => Promise<number>][] = [
    [
      'conversation',
      (key) => conversation(key),
      (key) => conversation(key, 'Other'),
      async () => (await user.get<{ data: unknown[] }>(`${home.workspace}/conversations`)).body.data.length - 1,
    ],
    [
      'workspace',
      (key) => workspace(key),
      (key) => workspace(key, 'Other'),
      async () => (await user.get<{ data: unknown[] }>('/v1/workspaces')).body.data.length - 1,
    ],
    [
      'upload',
      (key) => upload('tea', key),
      (key) => upload('coffee', key),
      async () => {
        const { rows } = await sql<{ count: number }>`
          SELECT count(*) FROM uploads u JOIN users p ON p.id = u.user_id WHERE p.email = ${user.email}`.execute(
          uswarm.database,
        );
        return rows[0]?.count ?? 0;
      },
    ],
  ];

  describe.each(creations)('of a new %s', (_what, create, other, count) => {
    it('returns the first result for the same request', async () => {
      const first = await create('key-1');
      const again = await create('key-1');
      expect({ first: first.status, again: again.status, id: again.body.data.id }).toEqual({
        first: 201,
        again: 201,
        id: first.body.data.id,
      });
      expect(await count()).toBe(1);
    });

    it('creates one object for concurrent requests', async () => {
      const answers = await Promise.all(Array.from({ length: 5 }, () => create('key-1')));
      expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201]);
      expect(new Set(answers.map(({ body }) => body.data.id)).size).toBe(1);
      expect(await count()).toBe(1);
    });

    it('is rejected for another request', async () => {
      await create('key-1');
      const refused = await other('key-1');
      expect({ status: refused.status, code: refused.body.code }).toEqual({
        status: 422,
        code: 'idempotency_key_reused',
      });
      expect(await count()).toBe(1);
    });
  });

  it('is separate per user and key', async () => {
    const first = await conversation('key-1');
    expect((await conversation('key-2')).body.data.id).not.toBe(first.body.data.id);
    user = await uswarm.user();
    home = await uswarm.home(user);
    expect((await conversation('key-1')).body.data.id).not.toBe(first.body.data.id);
  });

  it('is rejected for another operation', async () => {
    await conversation('key-1');
    expect((await workspace('key-1')).body.code).toBe('idempotency_key_reused');
    expect((await upload('tea', 'key-1')).body.code).toBe('idempotency_key_reused');
  });

  it('can be used again after its request was rejected', async () => {
    const path = `${home.workspace}/conversations`;
    const body = { type: 'agent', agent_id: crypto.randomUUID() };
    expect((await post(path, body, 'key-1')).body.code).toBe('agent_not_found');
    expect((await conversation('key-1')).status).toBe(201);
  });

  it('is rejected after its object was deleted, and creates no second object', async () => {
    const { id } = (await conversation('key-1')).body.data;
    await user.delete(`${home.workspace}/conversations/${id}`, undefined, 204);
    expect((await conversation('key-1')).body.code).toBe('idempotency_key_reused');
  });

  it('expires after 24 hours and is deleted by the maintenance job', async () => {
    const first = await conversation('key-1');
    const stored = async () => {
      const { rows } = await sql<{ count: number }>`
        SELECT count(*) FROM idempotency_keys k JOIN users u ON u.id = k.user_id WHERE u.email = ${user.email}`.execute(
        uswarm.database,
      );
      return rows[0]?.count;
    };
    expect(await stored()).toBe(1);
    const age = (interval: string) =>
      sql`UPDATE idempotency_keys SET created_at = now() - ${interval}::interval`.execute(uswarm.database);
    await age('23 hours 50 minutes');
    expect((await conversation('key-1')).body.data.id).toBe(first.body.data.id);
    await age('24 hours 1 minute');
    const second = await conversation('key-1');
    expect({ status: second.status, isSame: second.body.data.id === first.body.data.id }).toEqual({
      status: 201,
      isSame: false,
    });
    await age('24 hours 1 minute');
    await uswarm.database
      .updateTable('work')
      .set({ run_at: new Date(0), attempts: 0 })
      .where('kind', '=', 'idempotency-pruning')
      .execute();
    expect(await eventually(stored, { until: (count) => count === 0 })).toBe(0);
  });

  it.each(['', 'x'.repeat(256), 'ä'])('is rejected if it is %j', async (key) => {
    expect((await conversation(key)).body.code).toBe('validation_failed');
  });
});
