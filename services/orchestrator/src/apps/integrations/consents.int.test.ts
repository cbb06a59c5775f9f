import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { ErrorBody } from '@uswarm/contract';
import { type ChangeOfTokenAnswer, type OAuthServer } from '@uswarm/dev-servers';
import { eventually } from '@uswarm/testkit/eventually';
import { sql } from 'kysely';
import {
  authorized,
  CALLBACK,
  connect,
  enabledOf,
  integrationEnvironment,
  startProviderServer,
} from '../../../test/integrations.js';
import { startTestOrchestrator, type TestOrchestrator, type TestUser } from '../../../test/test-orchestrator.js';
import { REFRESH_JOB } from './token-refresh.js';

const CALENDAR = 'https://www.googleapis.com/auth/calendar';
const EMAIL = 'https://www.googleapis.com/auth/userinfo.email';

let server: OAuthServer;
let uswarm: TestOrchestrator;
const log: string[] = [];
beforeAll(async () => {
  server = await startProviderServer();
  const environment = integrationEnvironment(server);
  const providers = JSON.parse(environment['INTEGRATION_PROVIDERS'] ?? '') as Record<string, object>;
  // As in production. The server is asked for other scopes, because it knows only its own.
  const { google_calendar: calendar } = providers;
  const INTEGRATION_PROVIDERS = JSON.stringify({ ...providers, google_calendar: { ...calendar, scopes: [CALENDAR] } });
  uswarm = await startTestOrchestrator({
    environment: { ...environment, INTEGRATION_PROVIDERS, UPKEEP_WORKERS: '2' },
    logTo: log,
  });
});
afterEach(() => server.alterTokenAnswers(undefined));
afterAll(async () => {
  await uswarm.close();
  await server.close();
});

const granting =
  (scope: unknown): ChangeOfTokenAnswer =>
  ({ body }) => ({ body: { ...body, scope } });
const callback = async (user: TestUser, provider: 'gmail' | 'google_calendar') =>
  authorized(user, server, provider, ['openid', 'offline_access']);
/** Sends a callback that must be refused. */
const refused = async (user: TestUser, provider: 'gmail' | 'google_calendar'): Promise<ErrorBody> => {
  const { body } = await user.raw<ErrorBody>({
    method: 'POST',
    path: CALLBACK,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(await callback(user, provider)),
  });
  return body;
};

describe('a consent with fewer permissions than the tools need', () => {
  it.each([`openid ${EMAIL}`, ['openid', EMAIL], `openid,${EMAIL}`, `${CALENDAR}.readonly`])(
    'is an error with the missing permissions, and connects nothing: %j',
    async (scope) => {
      const user = await uswarm.user();
      server.alterTokenAnswers(granting(scope));
      expect(await refused(user, 'google_calendar')).toMatchObject({
        code: 'integration_permissions_missing',
        extra: { missing_permissions: [CALENDAR] },
      });
      expect(await enabledOf(user)).toEqual([]);
    },
  );

  it('is revoked at the provider', async () => {
    const user = await uswarm.user();
    let token = '';
    server.alterTokenAnswers(({ body }) => {
      token = String(body['access_token']);
      return { body: { ...body, scope: EMAIL } };
    });
    await refused(user, 'google_calendar');
    expect(await eventually(() => server.accepts(token), { until: (isValid) => !isValid })).toBe(false);
  });

  it.each([CALENDAR, `openid ${CALENDAR}.events`, [CALENDAR], null, '', undefined, 5])(
    'is not seen in an answer with the scope %j',
    async (scope) => {
      const user = await uswarm.user();
      server.alterTokenAnswers(granting(scope));
      await user.post(CALLBACK, await callback(user, 'google_calendar'), 204);
      expect(await enabledOf(user)).toEqual(['google_calendar']);
    },
  );

  it('disconnects the app when a renewal returns it', async () => {
    const user = await uswarm.user();
    server.alterTokenAnswers(granting(CALENDAR));
    await user.post(CALLBACK, await callback(user, 'google_calendar'), 204);
    server.alterTokenAnswers(granting(EMAIL));
    await sql`UPDATE integrations SET refresh_at = now()`.execute(uswarm.database);
    await sql`UPDATE work SET run_at = now() WHERE kind = ${REFRESH_JOB}`.execute(uswarm.database);
    expect(await eventually(() => enabledOf(user), { until: (enabled) => enabled.length === 0 })).toEqual([]);
  });
});

describe('an answer of a token endpoint', () => {
  it.each([
    ['Notion, without a refresh token', { refresh_token: null, expires_in: undefined, workspace_id: 'w', owner: {} }],
    ['a provider that sends the lifetime as text', { expires_in: '3600', token_type: null }],
    ['a provider that sends no usable lifetime', { expires_in: 0, refresh_token: '' }],
    ['a provider that sends other types', { refresh_token: 5, expires_in: 'never', scope: {}, error: null }],
  ])('connects if it has an access token, as that of %s', async (_provider, fields) => {
    const user = await uswarm.user();
    server.alterTokenAnswers(({ body }) => ({ body: { ...body, ...fields } }));
    await connect(user, server, 'gmail');
    expect(await enabledOf(user)).toEqual(['gmail']);
  });

  it.each([200, 302, 403, 407, 511])('is unavailable if it is a page with status %i', async (status) => {
    const user = await uswarm.user();
    server.alterTokenAnswers(() => ({ status, body: '<html>Sign in to the network</html>' }));
    expect((await refused(user, 'gmail')).code).toBe('integration_unavailable');
  });

  it('blames the credentials of the client only if the provider does', async () => {
    const user = await uswarm.user();
    const blamed = async (error: string) => {
      server.alterTokenAnswers(() => ({ status: 400, body: { error } }));
      const { code, message, extra } = await refused(user, 'gmail');
      return { code, blamed: message.includes('credentials'), error: extra?.['provider_error'] };
    };
    const code = 'integration_exchange_failed';
    expect(await blamed('invalid_scope')).toEqual({ code, blamed: false, error: 'invalid_scope' });
    expect(await blamed('unauthorized_client')).toEqual({ code, blamed: false, error: 'unauthorized_client' });
    expect(await blamed('invalid_client')).toEqual({ code, blamed: true, error: 'invalid_client' });
    const lines = log.filter((line) => line.includes('look at its settings'));
    expect(lines.map((line) => (JSON.parse(line) as { reason: string }).reason)).toEqual(['invalid_client']);
  });
});
