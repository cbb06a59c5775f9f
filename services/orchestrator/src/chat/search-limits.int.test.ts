import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ErrorBody, MessagePage } from '@uswarm/contract';
import { eventually } from '@uswarm/testkit/eventually';
import { request } from 'undici';
import { blockSearches, searchesInPostgres } from '../../test/searches.js';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../test/test-orchestrator.js';

/** Longer than the test timeout, so that only another limit can end a search. */
const FOREVER_MS = '600000';

describe('the limits of a search', () => {
  let uswarm: TestOrchestrator;
  let user: TestUser;
  let home: Home;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({ environment: { SEARCH_TIMEOUT_MS: FOREVER_MS } });
  });
  beforeEach(async () => {
    user = await uswarm.user();
    home = await uswarm.home(user);
  });
  afterAll(() => uswarm.close());

  const pathOf = (q: string) => `${home.messages}/search?${new URLSearchParams({ q })}`;

  it('rejects more than eight different words and names the field and the rule', async () => {
    const words = ['1', '2', '3', '4', '5', '6', '7', '8'];
    await user.get<MessagePage>(pathOf([...words, ...words, ' 1'].join(' ')));
    const answer = await user.raw<ErrorBody>({ method: 'GET', path: pathOf([...words, '9'].join(' ')) });
    expect(answer).toMatchObject({
      status: 400,
      body: {
        code: 'validation_failed',
        extra: { fields: [{ path: 'q', message: 'must have at most 8 different words' }] },
      },
    });
  });

  it('limits 60 searches of one user to two connections while another user is served', async () => {
    const other = await uswarm.user();
    const release = await blockSearches(uswarm.database, await uswarm.idOf(user));
    const leave = new AbortController();
    const searches = Array.from({ length: 60 }, () =>
      request(`${uswarm.url}${pathOf('needle')}`, { headers: user.headers, signal: leave.signal }),
    );
    const ended = Promise.allSettled(searches);
    expect(
      await eventually(() => searchesInPostgres(uswarm.database), { until: (count) => count > 0 }),
    ).toBeLessThanOrEqual(2);
    for (let n = 0; n < 60; n += 1) {
      expect((await other.get('/v1/workspaces')).status).toBe(200);
      expect(await searchesInPostgres(uswarm.database)).toBeLessThanOrEqual(2);
    }
    leave.abort();
    await ended;
    await release();
  });

  it('cancels the statement in Postgres when the client closes the connection', async () => {
    const release = await blockSearches(uswarm.database, await uswarm.idOf(user));
    const leave = new AbortController();
    const search = request(`${uswarm.url}${pathOf('needle')}`, { headers: user.headers, signal: leave.signal });
    const ended = search.catch((error: unknown) => error);
    expect(await eventually(() => searchesInPostgres(uswarm.database), { until: (count) => count === 1 })).toBe(1);
    leave.abort();
    await ended;
    expect(await eventually(() => searchesInPostgres(uswarm.database), { until: (count) => count === 0 })).toBe(0);
    await release();
    expect((await user.get<MessagePage>(pathOf('needle'))).body.data).toEqual([]);
  });
});

describe('a search that takes too long', () => {
  let uswarm: TestOrchestrator;
  const log: string[] = [];
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({ environment: { SEARCH_TIMEOUT_MS: '100' }, logTo: log });
  });
  afterAll(() => uswarm.close());

  it('returns search_timeout, which is retryable, and logs no error', async () => {
    const user = await uswarm.user();
    const home = await uswarm.home(user);
    const { id } = await uswarm.database.selectFrom('users').select('id').executeTakeFirstOrThrow();
    const release = await blockSearches(uswarm.database, id);
    const answer = await user.raw<ErrorBody>({ method: 'GET', path: `${home.messages}/search?q=needle` });
    expect(answer).toMatchObject({
      status: 429,
      headers: { 'retry-after': '1' },
      body: { code: 'search_timeout', extra: { retry_after_ms: 1_000 } },
    });
    await release();
    expect((await user.get<MessagePage>(`${home.messages}/search?q=needle`)).body.data).toEqual([]);
    expect(log.filter((line) => line.includes('a request failed'))).toEqual([]);
  });
});

describe('the rate of searches', () => {
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({
      environment: { RATE_SEARCH_PER_S: String(1 / 64), RATE_SEARCH_BURST: '2' },
    });
  });
  afterAll(() => uswarm.close());

  it('is limited per user, separately from other requests', async () => {
    const [ada, bob] = [await uswarm.user(), await uswarm.user()];
    const path = `${(await uswarm.home(ada)).messages}/search?q=x`;
    const answers = await Promise.all(Array.from({ length: 5 }, () => ada.raw<ErrorBody>({ method: 'GET', path })));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 200, 429, 429, 429]);
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.body.extra).toMatchObject({ limit: 'search', retry_after_ms: expect.any(Number) });
    expect(refused?.headers['ratelimit-policy']).toContain('"search";q=2;w=128');
    expect((await ada.get('/v1/workspaces')).status).toBe(200);
    expect((await bob.get(`${(await uswarm.home(bob)).messages}/search?q=x`)).status).toBe(200);
  });
});
