import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { INTERNAL_PATHS, type SessionEnd } from '@uswarm/contract';
import { parseSigningKey, signInternalToken, tokenHash } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { sql } from 'kysely';
import { request } from 'undici';
import { allRows } from '../../../test/database-rows.js';
import { E2E_TOKEN, startTestOrchestrator, type TestOrchestrator } from '../../../test/test-orchestrator.js';

const LOGOUT = '/v1/auth/logout';
const PROFILE = '/v1/users/profile';

describe('logout', () => {
  let uswarm: TestOrchestrator;
  const ended: SessionEnd[] = [];
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({ bypass: true });
    await uswarm.bus.onSessionEnd((end) => void ended.push(end));
  });
  afterAll(() => uswarm.close());

  const endsOf = (userId: string) => ended.filter(({ user_id }) => user_id === userId);
  const pushTokens = async (userId: string) => {
    const rows = await uswarm.database
      .selectFrom('devices')
      .select(['device_id', 'push_token'])
      .where('user_id', '=', userId)
      .orderBy('device_id')
      .execute();
    return rows.map(({ device_id, push_token }) => [device_id, push_token]);
  };

  it('REST-008 POST /v1/auth/logout returns 204 and revokes the token', async () => {
    const user = await uswarm.user();
    expect((await user.post(LOGOUT, undefined, 204)).body).toBeUndefined();
    expect(await user.refusal('GET', PROFILE)).toBe('token_revoked');
  });

  it.each([
    ['POST', '/v1/auth/sign-in'],
    ['POST', '/v1/auth/sign-up'],
    ['POST', LOGOUT],
    ['DELETE', '/v1/auth/delete'],
    ['GET', '/v1/workspaces'],
  ] as const)('makes %s %s reject the token, and nothing is stored', async (method, path) => {
    const user = await uswarm.user();
    await user.post(LOGOUT, undefined, 204);
    const before = await allRows(uswarm.database);
    expect(await user.refusal(method, path)).toBe('token_revoked');
    expect(await allRows(uswarm.database)).toEqual(before);
  });

  it('revokes the token as a bearer token and for socket handshakes too', async () => {
    const user = await uswarm.user();
    await user.post(LOGOUT, undefined, 204);
    const bearer = uswarm.anonymous.with({ authorization: `Bearer ${user.token}` });
    expect(await bearer.refusal('GET', PROFILE)).toBe('token_revoked');
    const service = await signInternalToken(parseSigningKey(uswarm.internalKey), 'gateway');
    const answer = await request(`${uswarm.internalUrl}${INTERNAL_PATHS.authenticate}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${service}` },
      body: JSON.stringify({ credentials: { 'x-token': user.token } }),
    });
    expect(await answer.body.json()).toMatchObject({ code: 'token_revoked' });
  });

  it('revokes only this token of the user', async () => {
    const user = await uswarm.user();
    const again = await uswarm.issuer.issueToken({ ...user, expiresInSeconds: 600 });
    await user.post(LOGOUT, undefined, 204);
    expect((await uswarm.anonymous.with({ 'x-token': again }).get(PROFILE)).status).toBe(200);
  });

  it('stores a hash of the token and its expiry', async () => {
    const user = await uswarm.user();
    await user.post(LOGOUT, undefined, 204);
    const claims = JSON.parse(Buffer.from(user.token.split('.')[1] ?? '', 'base64url').toString()) as { exp: number };
    const row = await uswarm.database
      .selectFrom('revoked_tokens')
      .selectAll()
      .where('token_hash', '=', tokenHash(user.token))
      .executeTakeFirstOrThrow();
    expect(row.expires_at.getTime()).toBe(claims.exp * 1000);
  });

  it('deletes expired revoked tokens, and only those', async () => {
    const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);
    const [old, late] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
    await uswarm.database
      .insertInto('revoked_tokens')
      .values([
        { token_hash: old, expires_at: minutesAgo(11) },
        { token_hash: late, expires_at: minutesAgo(9) },
      ])
      .execute();
    await (await uswarm.user()).post(LOGOUT, undefined, 204);
    const kept = await uswarm.database.selectFrom('revoked_tokens').select('token_hash').execute();
    const hashes = kept.map(({ token_hash }) => token_hash.toString('hex'));
    expect({ old: hashes.includes(old.toString('hex')), late: hashes.includes(late.toString('hex')) }).toEqual({
      old: false,
      late: true,
    });
  });

  it('notifies the gateways, which close the sockets of this token', async () => {
    const user = await uswarm.user();
    const userId = await uswarm.idOf(user);
    await user.post(LOGOUT, undefined, 204);
    const ends = await eventually(() => endsOf(userId), { until: (found) => found.length > 0 });
    const token_hash = tokenHash(user.token).toString('hex');
    expect(ends).toEqual([{ v: 1, user_id: userId, token_hash, code: 'logged_out' }]);
  });

  it('removes the push token of this device only', async () => {
    const user = await uswarm.user();
    const [phone, tablet] = [user.with({ 'x-device-id': 'phone' }), user.with({ 'x-device-id': 'tablet' })];
    const [one, other] = [crypto.randomUUID(), crypto.randomUUID()];
    await phone.post('/v1/push-token', { push_token: one }, 200);
    await tablet.post('/v1/push-token', { push_token: other }, 200);
    await phone.post(LOGOUT, undefined, 204);
    expect(await pushTokens(await uswarm.idOf(user))).toEqual([
      ['phone', null],
      ['tablet', other],
    ]);
  });

  it('either succeeds or is rejected with token_revoked for each of ten concurrent requests', async () => {
    const user = await uswarm.user();
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => user.raw<{ code?: string }>({ method: 'POST', path: LOGOUT })),
    );
    const outcomes = new Set(answers.map(({ status, body }) => body?.code ?? status));
    expect(outcomes.has(204)).toBe(true);
    expect([...outcomes].filter((outcome) => outcome !== 204 && outcome !== 'token_revoked')).toEqual([]);
    expect(await user.refusal('GET', PROFILE)).toBe('token_revoked');
  });

  it('closes all sockets of the user and does not revoke the shared token of the bypass', async () => {
    const email = `${crypto.randomUUID()}@ci.example.com`;
    const robot = uswarm.anonymous.with({ 'x-e2e-token': E2E_TOKEN, 'x-e2e-uid': email, 'x-e2e-email': email });
    const [before] = [await allRows(uswarm.database)];
    await robot.post(LOGOUT, undefined, 204);
    const userId = await uswarm.idOf({ email });
    const ends = await eventually(() => endsOf(userId), { until: (found) => found.length > 0 });
    expect(ends).toEqual([{ v: 1, user_id: userId, token_hash: null, code: 'logged_out' }]);
    expect((await allRows(uswarm.database))['revoked_tokens']).toEqual(before['revoked_tokens']);
    expect((await robot.get(PROFILE)).status).toBe(200);
  });

  it('returns user_not_found for an identity that never signed up', async () => {
    expect(await (await uswarm.newIdentity()).refusal('POST', LOGOUT)).toBe('user_not_found');
  });

  it('is rejected for a banned user', async () => {
    const user = await uswarm.user();
    await uswarm.database.updateTable('users').set({ is_banned: true }).where('email', '=', user.email).execute();
    expect(await user.refusal('POST', LOGOUT)).toBe('user_banned');
  });

  it('is rejected after an account deletion, which closed all sockets', async () => {
    const user = await uswarm.user();
    const userId = await uswarm.idOf(user);
    await user.delete('/v1/auth/delete', {}, 204);
    expect(await user.refusal('POST', LOGOUT)).toBe('user_deleted');
    const ends = await eventually(() => endsOf(userId), { until: (found) => found.length > 0 });
    expect(ends).toEqual([{ v: 1, user_id: userId, token_hash: null, code: 'user_deleted' }]);
  });

  it('happens on all sockets with an account deletion whose feedback cannot be stored', async () => {
    await sql`ALTER TABLE deletion_feedback ADD CONSTRAINT refused CHECK (reason <> 'refused')`.execute(
      uswarm.database,
    );
    const user = await uswarm.user();
    const userId = await uswarm.idOf(user);
    expect(await user.refusal('DELETE', '/v1/auth/delete', { reason: 'refused' })).toBe('internal_error');
    expect(await user.refusal('POST', LOGOUT)).toBe('user_deleted');
    const ends = await eventually(() => endsOf(userId), { until: (found) => found.length > 0 });
    expect(ends).toEqual([{ v: 1, user_id: userId, token_hash: null, code: 'user_deleted' }]);
  });
});
