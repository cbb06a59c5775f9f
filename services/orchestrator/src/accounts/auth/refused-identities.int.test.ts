import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { INTERNAL_PATHS } from '@uswarm/contract';
import { parseSigningKey, signInternalToken } from '@uswarm/service-kit';
import { request } from 'undici';
import { allRows } from '../../../test/database-rows.js';
import { E2E_TOKEN, startTestOrchestrator, type TestOrchestrator } from '../../../test/test-orchestrator.js';

/** Authentication headers. The bypass identifies a separate user. */
const WAYS = ['X-Token', 'Authorization', 'X-E2E-Token'] as const;

describe('a rejected identity', () => {
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({ bypass: true });
  });
  afterAll(() => uswarm.close());

  async function createIdentity(way: (typeof WAYS)[number]) {
    const email = `${crypto.randomUUID()}@example.com`;
    const token = await uswarm.issuer.issueToken({ email, name: 'P' });
    const bypass = { 'x-e2e-token': E2E_TOKEN, 'x-e2e-uid': email, 'x-e2e-email': email, 'x-e2e-name': 'P' };
    const signedUp = uswarm.anonymous.with(way === 'X-E2E-Token' ? bypass : { 'x-token': token });
    await signedUp.post('/v1/auth/sign-up', undefined, 204);
    const credentials = {
      'X-Token': { 'x-token': token },
      Authorization: { authorization: `Bearer ${token}` },
      'X-E2E-Token': bypass,
    };
    return { email, signedUp, headers: credentials[way] as Record<string, string> };
  }
  const ban = (email: string) =>
    uswarm.database.updateTable('users').set({ is_banned: true }).where('email', '=', email).execute();
  async function handshake(credentials: Record<string, string>): Promise<string> {
    const service = await signInternalToken(parseSigningKey(uswarm.internalKey), 'gateway');
    const answer = await request(`${uswarm.internalUrl}${INTERNAL_PATHS.authenticate}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${service}` },
      body: JSON.stringify({ credentials }),
    });
    const body = (await answer.body.json()) as { code?: string };
    return body.code ?? 'accepted';
  }

  it.each(WAYS)('is rejected on HTTP and at the handshake if the user is banned: %s', async (way) => {
    const { email, headers } = await createIdentity(way);
    expect(await handshake(headers)).toBe('accepted');
    await ban(email);
    const before = await allRows(uswarm.database);
    expect(await uswarm.anonymous.with(headers).refusal('GET', '/v1/users/profile')).toBe('user_banned');
    expect(await handshake(headers)).toBe('user_banned');
    expect(await allRows(uswarm.database)).toEqual(before);
  });

  it.each([
    ['POST', '/v1/auth/sign-in'],
    ['POST', '/v1/auth/sign-up'],
    ['POST', '/v1/auth/logout'],
    ['POST', '/v1/auth/logout-all'],
    ['DELETE', '/v1/auth/delete'],
  ] as const)('is rejected with the token and with the bypass if the user is banned: %s %s', async (method, path) => {
    for (const way of ['X-Token', 'X-E2E-Token'] as const) {
      const { email, headers } = await createIdentity(way);
      await ban(email);
      expect(await uswarm.anonymous.with(headers).refusal(method, path)).toBe('user_banned');
    }
  });

  it('is accepted again with the same token after the ban is lifted', async () => {
    const { email, headers } = await createIdentity('X-Token');
    await ban(email);
    await uswarm.database.updateTable('users').set({ is_banned: false }).where('email', '=', email).execute();
    expect((await uswarm.anonymous.with(headers).get('/v1/users/profile')).status).toBe(200);
  });

  it.each(['X-Token', 'Authorization'] as const)(
    'is rejected on HTTP and at the handshake if the user is deleted: %s',
    async (way) => {
      const { signedUp, headers } = await createIdentity(way);
      await signedUp.delete('/v1/auth/delete', {}, 204);
      const before = await allRows(uswarm.database);
      expect(await uswarm.anonymous.with(headers).refusal('GET', '/v1/users/profile')).toBe('user_deleted');
      expect(await handshake(headers)).toBe('user_deleted');
      expect(await allRows(uswarm.database)).toEqual(before);
    },
  );

  it('can sign up again after a deletion with the bypass, because test pipelines need it', async () => {
    const { signedUp, headers } = await createIdentity('X-E2E-Token');
    const { workspaceId } = await uswarm.home(signedUp);
    await signedUp.delete('/v1/auth/delete', {}, 204);
    expect((await uswarm.home(uswarm.anonymous.with(headers))).workspaceId).not.toBe(workspaceId);
  });
});
