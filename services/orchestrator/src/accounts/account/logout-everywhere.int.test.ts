import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { INTERNAL_PATHS, type SessionEnd, SessionsAnswer } from '@uswarm/contract';
import { parseSigningKey, signInternalToken } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { request } from 'undici';
import {
  E2E_TOKEN,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../../test/test-orchestrator.js';

const LOGOUT_ALL = '/v1/auth/logout-all';
const PROFILE = '/v1/users/profile';

describe('logout from all devices', () => {
  let uswarm: TestOrchestrator;
  const ended: SessionEnd[] = [];
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({ bypass: true });
    await uswarm.bus.onSessionEnd((end) => void ended.push(end));
  });
  afterAll(() => uswarm.close());

  const anotherToken = ({ email, name }: TestUser, more: { issuedInSeconds?: number; claims?: object } = {}) =>
    uswarm.issuer.issueToken({ email, name, ...more, claims: { jti: crypto.randomUUID(), ...more.claims } });
  const by = (token: string) => uswarm.anonymous.with({ 'x-token': token });
  const endOf = (userId: string) =>
    eventually(() => ended.filter(({ user_id }) => user_id === userId), { until: (found) => found.length > 0 });

  it('returns 204 and revokes all tokens issued until then, including the presented one', async () => {
    const user = await uswarm.user();
    const other = by(await anotherToken(user));
    expect((await user.post(LOGOUT_ALL, undefined, 204)).body).toBeUndefined();
    expect(await user.refusal('GET', PROFILE)).toBe('token_revoked');
    expect(await other.refusal('GET', PROFILE)).toBe('token_revoked');
    expect(await other.refusal('POST', '/v1/auth/sign-in')).toBe('token_revoked');
  });

  it('revokes a token of the same second and not one of a later second', async () => {
    const user = await uswarm.user();
    await user.post(LOGOUT_ALL, undefined, 204);
    const { sessions_valid_after: at } = await uswarm.database
      .selectFrom('users')
      .select('sessions_valid_after')
      .where('email', '=', user.email)
      .executeTakeFirstOrThrow();
    const second = Math.floor((at?.getTime() ?? 0) / 1000);
    expect(await by(await anotherToken(user, { claims: { iat: second } })).refusal('GET', PROFILE)).toBe(
      'token_revoked',
    );
    const later = by(await anotherToken(user, { claims: { iat: second + 1 } }));
    expect((await later.get(PROFILE)).status).toBe(200);
  });

  it('revokes tokens without an issue time', async () => {
    const user = await uswarm.user();
    const timeless = by(await anotherToken(user, { claims: { iat: undefined } }));
    expect((await timeless.get(PROFILE)).status).toBe(200);
    await user.post(LOGOUT_ALL, undefined, 204);
    expect(await timeless.refusal('GET', PROFILE)).toBe('token_revoked');
  });

  it('revokes the presented token and earlier ones if the clock of the issuer is ahead', async () => {
    const user = await uswarm.user();
    const [before, presented] = [
      by(await anotherToken(user, { issuedInSeconds: 3 })),
      by(await anotherToken(user, { issuedInSeconds: 4 })),
    ];
    await presented.post(LOGOUT_ALL, undefined, 204);
    expect({
      before: await before.refusal('GET', PROFILE),
      presented: await presented.refusal('GET', PROFILE),
    }).toEqual({ before: 'token_revoked', presented: 'token_revoked' });
  });

  it('does not affect other users', async () => {
    const [user, other] = [await uswarm.user(), await uswarm.user()];
    await user.post(LOGOUT_ALL, undefined, 204);
    expect((await other.get(PROFILE)).status).toBe(200);
  });

  it('notifies the gateways, which close all sockets of the user', async () => {
    const user = await uswarm.user();
    const userId = await uswarm.idOf(user);
    await user.post(LOGOUT_ALL, undefined, 204);
    expect(await endOf(userId)).toEqual([
      { v: 1, user_id: userId, token_hash: null, code: 'logged_out', except_api_tokens: true },
    ]);
  });

  it('is visible to gateways that check the issue time of the token of a socket', async () => {
    const user = await uswarm.user();
    const userId = await uswarm.idOf(user);
    await user.post(LOGOUT_ALL, undefined, 204);
    const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();
    const hash = 'ab'.repeat(32);
    const sessions = [inSeconds(-60), inSeconds(60), null].map((issued_at) => ({
      user_id: userId,
      token_hash: hash,
      issued_at,
    }));
    const answer = await request(`${uswarm.internalUrl}${INTERNAL_PATHS.sessions}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${await signInternalToken(parseSigningKey(uswarm.internalKey), 'gateway')}`,
      },
      body: JSON.stringify({ sessions: [...sessions, { user_id: userId, token_hash: hash }] }),
    });
    expect(SessionsAnswer.parse(await answer.body.json())).toEqual({ ended: [0] });
  });

  it('removes the push tokens of all devices', async () => {
    const user = await uswarm.user();
    for (const device of ['phone', 'tablet']) {
      const token = { push_token: crypto.randomUUID() };
      await user.with({ 'x-device-id': device }).post('/v1/push-token', token, 200);
    }
    await user.post(LOGOUT_ALL, undefined, 204);
    const rows = await uswarm.database
      .selectFrom('devices')
      .select(['device_id', 'push_token'])
      .where('user_id', '=', await uswarm.idOf(user))
      .where('device_id', 'in', ['phone', 'tablet'])
      .orderBy('device_id')
      .execute();
    expect(rows).toEqual([
      { device_id: 'phone', push_token: null },
      { device_id: 'tablet', push_token: null },
    ]);
  });

  it('closes all sockets of the user and does not revoke the shared token of the bypass', async () => {
    const email = `${crypto.randomUUID()}@ci.example.com`;
    const robot = uswarm.anonymous.with({ 'x-e2e-token': E2E_TOKEN, 'x-e2e-uid': email, 'x-e2e-email': email });
    await robot.post(LOGOUT_ALL, undefined, 204);
    const userId = await uswarm.idOf({ email });
    expect(await endOf(userId)).toEqual([
      { v: 1, user_id: userId, token_hash: null, code: 'logged_out', except_api_tokens: true },
    ]);
    expect((await robot.get(PROFILE)).status).toBe(200);
  });

  it('is rejected without an account and with a bearer token, like other account routes', async () => {
    expect(await (await uswarm.newIdentity()).refusal('POST', LOGOUT_ALL)).toBe('user_not_found');
    const user = await uswarm.user();
    const bearer = uswarm.anonymous.with({ authorization: `Bearer ${user.token}` });
    expect(await bearer.refusal('POST', LOGOUT_ALL)).toBe('token_header_required');
  });
});
