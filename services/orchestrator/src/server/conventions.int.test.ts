import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { request } from 'undici';
import { startTestOrchestrator, type TestOrchestrator, type TestUser } from '../../test/test-orchestrator.js';

const SNAKE = /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/;
const ISO = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;
const IS_A_TIME = /_at$|^timestamp$|^date_of_birth$/;

function entries(value: unknown): [string, unknown][] {
  if (Array.isArray(value)) return value.flatMap(entries);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, part]) => [[key, part] as [string, unknown], ...entries(part)]);
}

describe('API conventions', () => {
  let uswarm: TestOrchestrator;
  let user: TestUser;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
    user = await uswarm.user();
  });
  afterAll(() => uswarm.close());

  async function bodies(): Promise<unknown[]> {
    const home = await uswarm.home(user);
    const agentId = home.agents[1]?.id;
    const mentions = [{ agent_id: agentId, agent_name: '', offset: 0, length: 2 }];
    const { body: sent } = await user.post(
      home.messages,
      { local_id: crypto.randomUUID(), content: { type: 'text', text: 'hi' }, mentions },
      201,
    );
    const { body: made } = await user.post(
      `${home.workspace}/conversations`,
      { type: 'agent', agent_id: agentId },
      201,
    );
    await user.patch('/v1/users', { date_of_birth: '2000-01-01' }, 204);
    const error = await user.raw({ method: 'GET', path: '/v1/nothing' });
    const paths = ['/v1/health', '/v1/models', '/v1/legal', '/v1/users/profile', '/v1/workspaces', home.workspace];
    paths.push(`${home.workspace}/agents`, `${home.workspace}/conversations`, home.conversation, home.messages);
    const got = [];
    for (const path of paths) got.push((await user.get(path)).body);
    return [sent, made, error.body, ...got];
  }

  it('CONV-001 paths outside of /v1/ return 404', async () => {
    for (const path of ['/health', '/models', '/users/profile', '/v2/health', '/']) {
      const { statusCode, body } = await request(`${uswarm.url}${path}`, { headers: user.headers });
      await body.dump();
      expect({ path, statusCode }).toEqual({ path, statusCode: 404 });
    }
  });

  it('CONV-002 every key is snake_case', async () => {
    const keys = entries(await bodies()).map(([key]) => key);
    expect(keys.filter((key) => !SNAKE.test(key))).toEqual([]);
  });

  it('CONV-002 a camelCase key in a request is ignored', async () => {
    const read = async () =>
      (await user.get<{ data: { country_code: string } }>('/v1/users/profile')).body.data.country_code;
    const before = await read();
    await user.patch('/v1/users', { countryCode: 'FR' }, 204);
    expect(await read()).toBe(before);
  });

  it('CONV-003 every timestamp is an ISO 8601 string', async () => {
    const times = entries(await bodies()).filter(([key, value]) => IS_A_TIME.test(key) && value !== null);
    expect(times.length).toBeGreaterThan(0);
    expect(times.filter(([, value]) => typeof value !== 'string' || !ISO.test(value))).toEqual([]);
  });

  it('CONV-004 a mutation without a result returns 204 without a body', async () => {
    const other = await uswarm.newIdentity();
    const answers = [
      await other.post('/v1/auth/sign-up', undefined, 204),
      await other.post('/v1/auth/sign-in', undefined, 204),
      await other.patch('/v1/users', {}, 204),
      await other.delete('/v1/auth/delete', {}, 204),
    ];
    for (const { body, headers } of answers) {
      expect({ body, contentType: headers['content-type'] }).toEqual({ body: undefined, contentType: undefined });
    }
  });

  it('responses have their result under data', async () => {
    const wrapped = (await bodies()).filter((body) => Object.hasOwn(body as object, 'data'));
    expect(wrapped.map((body) => Object.keys(body as object).filter((key) => key !== 'pagination'))).toEqual(
      wrapped.map(() => ['data']),
    );
    expect(wrapped).toHaveLength(12);
  });

  it('responses are JSON with headers against caching, sniffing and framing', async () => {
    const { headers } = await user.get('/v1/users/profile');
    expect(headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    });
    expect(headers).not.toHaveProperty('x-powered-by');
  });
});

it('sends Strict-Transport-Security with every response, including errors, only if HSTS_MAX_AGE_S is set', async () => {
  const startWith = (age: string): Promise<TestOrchestrator> =>
    startTestOrchestrator({ environment: { HSTS_MAX_AGE_S: age } });
  const answers = async (uswarm: TestOrchestrator): Promise<(string | null)[]> => {
    const paths = ['/v1/health', '/v1/workspaces', '/v1/nowhere', '/', '/v1/%E0%A4%A'];
    const all = await Promise.all(paths.map((path) => fetch(`${uswarm.url}${path}`)));
    return all.map(({ headers }) => headers.get('strict-transport-security'));
  };
  const [enabled, disabled] = await Promise.all([startWith('600'), startWith('0')]);
  try {
    expect(await answers(enabled)).toEqual(Array(5).fill('max-age=600'));
    expect(await answers(disabled)).toEqual(Array(5).fill(null));
  } finally {
    await Promise.all([enabled.close(), disabled.close()]);
  }
});
