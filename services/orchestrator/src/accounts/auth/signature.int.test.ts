import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { NewApiToken } from '@uswarm/contract';
import { allRows } from '../../../test/database-rows.js';
import {
  E2E_TOKEN,
  SIGNATURE_SECRET,
  startTestOrchestrator,
  type TestOrchestrator,
} from '../../../test/test-orchestrator.js';

const PROFILE = '/v1/users/profile';
const MINUTE = 60_000;

/** Signs like a client. Written from the specification, independent of the product code. */
function signed(token: string, timestamp: string, secret = SIGNATURE_SECRET): Record<string, string> {
  return {
    'x-timestamp': timestamp,
    'x-signature': createHmac('sha256', secret).update(`${token}:${timestamp}`).digest('hex'),
  };
}

describe('X-Signature', () => {
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    const environment = { SIGNATURE_MODE: 'required', SIGNATURE_SECRET };
    uswarm = await startTestOrchestrator({ environment, bypass: true });
  });
  afterAll(() => uswarm.close());

  async function signedUp() {
    const identity = await uswarm.newIdentity();
    await identity.with(signed(identity.token, String(Date.now()))).post('/v1/auth/sign-up', undefined, 204);
    return identity;
  }

  it.each([
    ['Unix seconds', () => String(Math.floor(Date.now() / 1000))],
    ['Unix milliseconds', () => String(Date.now())],
    ['ISO 8601', () => new Date().toISOString()],
    ['four minutes ago', () => new Date(Date.now() - 4 * MINUTE).toISOString()],
    ['in four minutes', () => new Date(Date.now() + 4 * MINUTE).toISOString()],
  ])('AUTH-004 is accepted over token and timestamp with the timestamp format %s', async (_form, timestamp) => {
    const identity = await signedUp();
    expect((await identity.with(signed(identity.token, timestamp())).get(PROFILE)).status).toBe(200);
  });

  it('AUTH-004 covers the token that authenticates, in Authorization too', async () => {
    const { token } = await signedUp();
    const bearer = uswarm.anonymous.with({ authorization: `Bearer ${token}`, ...signed(token, String(Date.now())) });
    expect((await bearer.get(PROFILE)).status).toBe(200);
  });

  it('is not required of programs with an API token, because only the app can make it', async () => {
    const { token } = await signedUp();
    const app = uswarm.anonymous.with({ 'x-token': token, ...signed(token, String(Date.now())) });
    const { body } = await app.post<{ data: NewApiToken }>('/v1/api-tokens', { name: 'CI', scopes: ['read'] }, 201);
    expect((await uswarm.anonymous.with({ 'x-token': body.data.token }).get(PROFILE)).status).toBe(200);
  });

  it('AUTH-004 covers the end-to-end token on the bypass', async () => {
    const headers = { 'x-e2e-token': E2E_TOKEN, 'x-e2e-uid': 'signer', ...signed(E2E_TOKEN, String(Date.now())) };
    expect((await uswarm.anonymous.with(headers).get(PROFILE)).status).toBe(200);
  });

  it.each([
    ['signature_missing', 'no signature headers', () => ({})],
    ['signature_missing', 'only a timestamp', () => ({ 'x-timestamp': String(Date.now()) })],
    ['signature_missing', 'only a signature', () => ({ 'x-signature': 'ab'.repeat(32) })],
    [
      'signature_invalid',
      'another secret',
      (token: string) => signed(token, String(Date.now()), 'another secret here'),
    ],
    ['signature_invalid', 'another token', () => signed('another', String(Date.now()))],
    [
      'signature_invalid',
      'another timestamp',
      (token: string) => ({ ...signed(token, String(Date.now())), 'x-timestamp': String(Date.now() + 1) }),
    ],
    ['timestamp_invalid', 'a malformed timestamp', (token: string) => signed(token, 'now')],
    [
      'timestamp_out_of_window',
      'a timestamp of six minutes ago',
      (token: string) => signed(token, String(Date.now() - 6 * MINUTE)),
    ],
    [
      'timestamp_out_of_window',
      'a timestamp in six minutes',
      (token: string) => signed(token, String(Date.now() + 6 * MINUTE)),
    ],
  ] as const)('AUTH-004 is rejected with %s for %s, and nothing is stored', async (code, _what, headers) => {
    const identity = await uswarm.newIdentity();
    const before = await allRows(uswarm.database);
    expect(await identity.with(headers(identity.token)).refusal('POST', '/v1/auth/sign-up')).toBe(code);
    expect(await allRows(uswarm.database)).toEqual(before);
  });

  it('does not authenticate without a token', async () => {
    expect(await uswarm.anonymous.with(signed('', String(Date.now()))).refusal('GET', PROFILE)).toBe('token_missing');
  });

  it('is not required on public routes', async () => {
    expect((await uswarm.anonymous.get('/v1/health')).status).toBe(200);
  });
});
