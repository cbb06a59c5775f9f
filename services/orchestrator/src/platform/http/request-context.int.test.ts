import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type ErrorBody, INTERNAL_PATHS } from '@uswarm/contract';
import { eventually } from '@uswarm/testkit/eventually';
import { startTestOrchestrator, type TestOrchestrator, type TestUser } from '../../../test/test-orchestrator.js';
import { beginUpload } from '../../../test/uploads.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';

describe('createRequestContext', () => {
  const lines: string[] = [];
  let uswarm: TestOrchestrator;
  let user: TestUser;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({ logTo: lines });
    user = await uswarm.user();
  });
  afterEach(() => void (lines.length = 0));
  afterAll(() => uswarm.close());

  type Entry = Record<string, unknown>;
  const entries = (): Entry[] => lines.map((line) => JSON.parse(line) as Entry);
  async function logged(requestId: string): Promise<Entry | undefined> {
    const find = () => entries().find((entry) => entry['requestId'] === requestId && entry['msg'] === 'request');
    return eventually(find, { until: (entry) => entry !== undefined });
  }
  const named = (): { id: string; client: ReturnType<TestUser['with']> } => {
    const id = randomUUID();
    return { id, client: user.with({ 'x-request-id': id }) };
  };

  it('logs one line per request with user, route and status', async () => {
    const { id, client } = named();
    await client.get('/v1/users/profile');
    const { id: userId } = await uswarm.database.selectFrom('users').select('id').executeTakeFirstOrThrow();
    expect(await logged(id)).toEqual({
      level: 'info',
      time: expect.any(String),
      service: 'test',
      msg: 'request',
      requestId: id,
      method: 'GET',
      route: 'getProfile',
      status: 200,
      user: userId,
      source: expect.stringMatching(/^[\da-f]{16}$/),
      ms: expect.any(Number),
    });
    expect(entries().filter((entry) => entry['requestId'] === id)).toHaveLength(1);
  });

  it('logs the error code of a rejected request, but not its path', async () => {
    const refused = named();
    const key = `diary-${randomUUID()}`;
    await refused.client.refusal('DELETE', `/v1/agents/${randomUUID()}/memories/${key}`);
    expect(await logged(refused.id)).toMatchObject({
      route: 'deleteAgentMemory',
      status: 404,
      code: 'agent_not_found',
    });
    const nowhere = named();
    await nowhere.client.refusal('GET', `/v1/${key}`);
    expect(await logged(nowhere.id)).toMatchObject({ route: 'none', status: 404, code: 'route_not_found' });
    expect(lines.join('')).not.toContain(key);
  });

  it('logs probes at level debug', async () => {
    const { id, client } = named();
    await client.get('/v1/health');
    expect(await logged(id)).toMatchObject({ level: 'debug', route: 'getHealth', status: 200 });
  });

  it('logs status aborted when the client closes the connection', async () => {
    const { id, client } = named();
    const upload = await beginUpload(uswarm.url, client);
    upload.breakOff();
    expect(await logged(id)).toMatchObject({ route: 'createUpload', status: 'aborted' });
  });

  it('logs an internal error with the request id', async () => {
    const { id, client } = named();
    await uswarm.database.schema.alterTable('users').renameColumn('surname', 'renamed').execute();
    const { body } = await client.raw<ErrorBody>({ method: 'GET', path: '/v1/users/profile' });
    await uswarm.database.schema.alterTable('users').renameColumn('renamed', 'surname').execute();
    expect(body.extra?.request_id).toBe(id);
    await logged(id);
    expect(entries().filter((entry) => entry['requestId'] === id)).toMatchObject([
      { level: 'error', msg: 'a request failed', code: 'internal_error', err: { code: '42703' } },
      { level: 'info', msg: 'request', status: 500 },
    ]);
  });

  it.each([
    [`00-${TRACE}-00f067aa0ba902b7-01`, TRACE],
    [`00-${'0'.repeat(32)}-00f067aa0ba902b7-01`, undefined],
    ['00-nonsense', undefined],
    [`00-${TRACE}-00f067aa0ba902b7-01\tinjected`, undefined],
  ])('logs the trace of a client only as clientTraceId: %j', async (traceparent, traceId) => {
    const { id, client } = named();
    await client.with({ traceparent }).get('/v1/users/profile');
    const entry = await logged(id);
    expect({ clientTraceId: entry?.['clientTraceId'], traceId: entry?.['traceId'] }).toEqual({
      clientTraceId: traceId,
      traceId: undefined,
    });
  });

  it('continues the trace of another service on the internal API', async () => {
    const { id } = named();
    const traceparent = `00-${TRACE}-00f067aa0ba902b7-01`;
    const headers = { traceparent, 'x-request-id': id, 'content-type': 'application/json' };
    const response = await fetch(`${uswarm.internalUrl}${INTERNAL_PATHS.sessions}`, {
      method: 'POST',
      headers,
      body: '{}',
    });
    expect(response.status).toBe(401);
    expect(await logged(id)).toMatchObject({ traceId: TRACE });
  });

  it('observes durations by route, method and status class', async () => {
    const count = async (labels: Record<string, string>): Promise<number> => {
      const found = await uswarm.metrics.getSingleMetric('uswarm_http_request_duration_seconds')?.get();
      const value = found?.values.find(
        (each) =>
          (each as { metricName?: string }).metricName?.endsWith('_count') === true &&
          Object.entries(labels).every(([name, wanted]) => (each.labels as Record<string, unknown>)[name] === wanted),
      );
      return value?.value ?? 0;
    };
    const series = [
      { route: 'listWorkspaces', method: 'GET', status: '2xx' },
      { route: 'createWorkspace', method: 'POST', status: '4xx' },
      { route: 'none', method: 'any', status: '4xx' },
    ];
    const before = await Promise.all(series.map(count));
    await user.get('/v1/workspaces');
    await user.refusal('POST', '/v1/workspaces', { name: '' });
    await user.refusal('GET', '/v1/nothing');
    const grown = async () => (await Promise.all(series.map(count))).map((value, n) => value - (before[n] ?? 0));
    expect(await eventually(grown, { until: (all) => all.every((value) => value === 1) })).toEqual([1, 1, 1]);
  });
});
