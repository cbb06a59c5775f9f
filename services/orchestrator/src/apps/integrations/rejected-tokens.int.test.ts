import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type GoogleServer, type OAuthServer, startGoogleServer } from '@uswarm/dev-servers';
import { silentLogger, systemClock } from '@uswarm/service-kit';
import { DIRECT } from '@uswarm/service-kit/outgoing';
import { z } from 'zod';
import { connect, enabledOf, integrationEnvironment, startProviderServer } from '../../../test/integrations.js';
import { startTestOrchestrator, type TestOrchestrator, type TestUser } from '../../../test/test-orchestrator.js';
import { createWithTransaction } from '../../platform/database/transaction.js';
import { createJobQueue } from '../../platform/jobs/job-queue.js';
import { createProviderApi, type ProviderApi, type ProviderRequest } from '../connected-apps/provider-api.js';
import { createAccessTokens } from './access-tokens.js';
import { createTokenCipher, type TokenKey, TokenKeys } from './token-cipher.js';

const LIST = { method: 'GET', path: 'calendars/primary/events' } as const;
const EVENT = { start: { date: '2026-11-23' }, end: { date: '2026-11-24' } };

describe('a token that the API of a provider rejects', () => {
  let oauth: OAuthServer;
  let google: GoogleServer;
  let uswarm: TestOrchestrator;
  let api: ProviderApi;
  /** The user has revoked the next token that is sent. */
  let revokesNext = false;
  let revoked: Set<string>;
  let user: TestUser;
  let userId: string;
  beforeAll(async () => {
    oauth = await startProviderServer();
    const environment = integrationEnvironment(oauth);
    uswarm = await startTestOrchestrator({ environment: { ...environment, UPKEEP_WORKERS: '2' } });
    const { database } = uswarm;
    const tokens = createAccessTokens({
      withTransaction: createWithTransaction(database),
      database,
      jobs: createJobQueue(database),
      cipher: createTokenCipher(TokenKeys.parse(environment['INTEGRATION_TOKEN_KEYS']) as [TokenKey]),
      clock: systemClock,
      logger: silentLogger,
      waiting: { pollMs: 20, timeoutMs: 60_000 },
    });
    google = await startGoogleServer({
      accepts: async (token) => {
        if (revokesNext) revoked.add(token);
        revokesNext = false;
        return !revoked.has(token) && (await oauth.accepts(token));
      },
    });
    api = createProviderApi({
      proxy: DIRECT,
      baseUrl: `${google.url}/calendar/v3`,
      accessToken: (id, signal) => tokens.current(id, 'google_calendar', signal),
      replaceToken: (id, rejected, signal) => tokens.replacing(id, 'google_calendar', rejected, signal),
    });
  });
  beforeEach(async () => {
    revoked = new Set();
    user = await uswarm.user();
    userId = await uswarm.idOf(user);
  });
  afterEach(() => oauth.alterTokenAnswers(undefined));
  afterAll(async () => {
    await api.close();
    await google.close();
    await uswarm.close();
    await oauth.close();
  });

  const call = (request: ProviderRequest = LIST) => api.call(userId, request, z.unknown());
  const statusOf = (request?: ProviderRequest) =>
    call(request).then(
      () => 200,
      (error: { status?: number }) => error.status,
    );

  it('is renewed immediately, and the request is sent again', async () => {
    await connect(user, oauth, 'google_calendar');
    revokesNext = true;
    const { refreshes } = oauth.counts;
    expect(await statusOf()).toBe(200);
    expect({ renewals: oauth.counts.refreshes - refreshes, enabled: await enabledOf(user) }).toEqual({
      renewals: 1,
      enabled: ['google_calendar'],
    });
  });

  it('is renewed once for concurrent requests', async () => {
    await connect(user, oauth, 'google_calendar');
    const { refreshes } = oauth.counts;
    revokesNext = true;
    expect(await Promise.all([statusOf(), statusOf(), statusOf()])).toEqual([200, 200, 200]);
    expect(oauth.counts.refreshes - refreshes).toBe(1);
  });

  it('does not lead to a second change: the rejected request was not executed', async () => {
    await connect(user, oauth, 'google_calendar');
    const before = google.calendar.events.size;
    revokesNext = true;
    expect(await statusOf({ ...LIST, method: 'POST', body: EVENT })).toBe(200);
    expect(google.calendar.events.size).toBe(before + 1);
  });

  it.each([
    ['the grant is not valid any longer', 400, { error: 'invalid_grant' }],
    ['the provider refuses for another reason', 403, { error: 'access_denied' }],
    ['the provider refuses without a code', 400, { message: 'no' }],
  ])('disconnects the app if its renewal fails because %s', async (_why, status, body) => {
    await connect(user, oauth, 'google_calendar');
    oauth.alterTokenAnswers(() => ({ status, body }));
    revokesNext = true;
    expect(await statusOf()).toBe(401);
    expect(await enabledOf(user)).toEqual([]);
  });

  it('disconnects the app if there is no refresh token', async () => {
    oauth.alterTokenAnswers(({ body }) => ({ body: { ...body, refresh_token: null, expires_in: null } }));
    await connect(user, oauth, 'google_calendar');
    revokesNext = true;
    expect(await statusOf()).toBe(401);
    expect(await enabledOf(user)).toEqual([]);
  });

  it.each([
    ['a proxy answers instead of the provider', 200, '<html>Sign in</html>'],
    ['the provider rejects the client of the operator', 401, { error: 'invalid_client' }],
  ])('does not disconnect the app while %s', async (_why, status, body) => {
    await connect(user, oauth, 'google_calendar');
    const answered = Promise.withResolvers<void>();
    oauth.alterTokenAnswers(() => {
      answered.resolve();
      return { status, body };
    });
    revokesNext = true;
    const aborted = new AbortController();
    const outcome = statusOf({ ...LIST, signal: aborted.signal });
    await answered.promise;
    aborted.abort();
    expect(await outcome).toBe(0);
    expect(await enabledOf(user)).toEqual(['google_calendar']);
  });

  it('does not end a connection if the answer is the page of a proxy', async () => {
    await connect(user, oauth, 'google_calendar');
    google.failNext('calendar.events.list', { kind: 'page', status: 401 });
    expect(await statusOf()).toBe(200);
    expect(await enabledOf(user)).toEqual(['google_calendar']);
  });
});

describe('a token that has expired and cannot be renewed', () => {
  it('does not count as a connection', async () => {
    const oauth = await startProviderServer();
    const uswarm = await startTestOrchestrator({ environment: integrationEnvironment(oauth) });
    try {
      const user = await uswarm.user();
      oauth.alterTokenAnswers(({ body }) => ({ body: { ...body, refresh_token: undefined } }));
      await connect(user, oauth, 'gmail');
      await uswarm.database
        .updateTable('integrations')
        .set({ expires_at: new Date(0) })
        .execute();
      expect(await enabledOf(user)).toEqual([]);
    } finally {
      await uswarm.close();
      await oauth.close();
    }
  });
});
