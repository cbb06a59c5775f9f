import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ErrorBody, UserUsageSummary, WorkspaceUsage } from '@uswarm/contract';
import { sql } from 'kysely';
import { rowsContaining } from '../../../test/database-rows.js';
import {
  E2E_TOKEN,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../../test/test-orchestrator.js';
import { pruneDeletedIdentities } from './deleted-accounts.store.js';

const DELETE = '/v1/auth/delete';
const SIGN_UP = '/v1/auth/sign-up';
const DAY_MS = 86_400_000;

describe('a sign-up after the deletion of the account', () => {
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({ bypass: true });
  });
  afterAll(() => uswarm.close());

  const use = async (user: TestUser, tokens: number, at = 'now()') => {
    const { workspaceId } = await uswarm.home(user);
    await sql`
      INSERT INTO usage_entries (turn_id, step, user_id, workspace_id, provider, model, prompt_tokens, completion_tokens, created_at)
      SELECT ${crypto.randomUUID()}, 1, owner_id, id, 'p', 'm', ${tokens}, 1, ${sql.raw(at)}
      FROM workspaces WHERE id = ${workspaceId}`.execute(uswarm.database);
  };
  const used = async (user: TestUser) =>
    (await user.get<{ data: UserUsageSummary }>('/v1/users/usage/summary')).body.data.tokens_used;
  async function deleteAndSignUp(user: TestUser): Promise<void> {
    await user.delete(DELETE, {}, 204);
    await user.post(SIGN_UP, undefined, 204);
  }

  it('keeps the used tokens of the period, also after several deletions', async () => {
    const user = await uswarm.user();
    await use(user, 960);
    await deleteAndSignUp(user);
    expect(await used(user)).toBe(961);
    await use(user, 38);
    await deleteAndSignUp(user);
    expect(await used(user)).toBe(1_000);
  });

  it('does not count them for the new workspace, and keeps no usage of earlier periods', async () => {
    const user = await uswarm.user();
    await use(user, 1_000_000, "now() - interval '62 days'");
    await use(user, 9);
    await deleteAndSignUp(user);
    expect(await used(user)).toBe(10);
    const { workspace } = await uswarm.home(user);
    const { body } = await user.get<{ data: WorkspaceUsage }>(`${workspace}/usage`);
    expect(body.data.tokens_used).toBe(0);
  });

  it('is rejected with 429 and a retry time if it is the third within a day', async () => {
    const user = await uswarm.user();
    await deleteAndSignUp(user);
    await deleteAndSignUp(user);
    await user.delete(DELETE, {}, 204);
    const { status, headers, body } = await user.raw<ErrorBody>({ method: 'POST', path: SIGN_UP });
    expect({ status, code: body.code }).toEqual({ status: 429, code: 'sign_up_limit_reached' });
    const retryMs = body.extra?.retry_after_ms ?? 0;
    // The day starts at the first of the two sign-ups.
    expect(retryMs > DAY_MS - 600_000 && retryMs <= DAY_MS).toBe(true);
    expect(Number(headers['retry-after'])).toBe(Math.ceil(retryMs / 1000));
    expect(await rowsContaining(uswarm.database, [user.email])).toEqual([]);
  });

  it('is allowed again one day after the first of them', async () => {
    const user = await uswarm.user();
    await deleteAndSignUp(user);
    await deleteAndSignUp(user);
    await user.delete(DELETE, {}, 204);
    expect(await user.refusal('POST', SIGN_UP)).toBe('sign_up_limit_reached');
    await sql`
      UPDATE deleted_identities SET returns = ARRAY(SELECT at - interval '1 day' FROM unnest(returns) AS at)`.execute(
      uswarm.database,
    );
    await user.post(SIGN_UP, undefined, 204);
  });

  it('is counted once for ten concurrent requests', async () => {
    const user = await uswarm.user();
    await user.delete(DELETE, {}, 204);
    await Promise.all(Array.from({ length: 10 }, () => user.post(SIGN_UP, undefined, 204)));
    await deleteAndSignUp(user);
    await user.delete(DELETE, {}, 204);
    expect(await user.refusal('POST', SIGN_UP)).toBe('sign_up_limit_reached');
  });

  it('is not limited on the end-to-end bypass', async () => {
    const email = `${crypto.randomUUID()}@ci.example.com`;
    const robot = uswarm.anonymous.with({ 'x-e2e-token': E2E_TOKEN, 'x-e2e-uid': email, 'x-e2e-email': email });
    for (let n = 0; n < 4; n += 1) {
      await robot.post(SIGN_UP, undefined, 204);
      await robot.delete(DELETE, {}, 204);
    }
    expect((await robot.post(SIGN_UP, undefined, 204)).status).toBe(204);
  });

  it('does not restore tokens that were revoked before the deletion', async () => {
    const user = await uswarm.user();
    const old = await uswarm.issuer.issueToken({ ...user, claims: { jti: crypto.randomUUID() } });
    await user.post('/v1/auth/logout-all', undefined, 204);
    const fresh = uswarm.anonymous.with({ 'x-token': await tokenOfTheFuture(uswarm, user) });
    await fresh.delete(DELETE, {}, 204);
    await fresh.post(SIGN_UP, undefined, 204);
    expect(await uswarm.anonymous.with({ 'x-token': old }).refusal('GET', '/v1/users/profile')).toBe('token_revoked');
  });

  it('does not keep the usage of an earlier period', async () => {
    const user = await uswarm.user();
    await use(user, 5);
    await user.delete(DELETE, {}, 204);
    await pruneDeletedIdentities(uswarm.database, '2000-01');
    const kept = await uswarm.database.selectFrom('deleted_usage').select('period').execute();
    expect(kept.length).toBeGreaterThan(0);
    await pruneDeletedIdentities(uswarm.database, '9999-12');
    expect(await uswarm.database.selectFrom('deleted_usage').select('period').execute()).toEqual([]);
  });
});

/** The future issue time is later than all previous events in whole seconds. */
function tokenOfTheFuture({ issuer }: TestOrchestrator, { email, name }: TestUser): Promise<string> {
  return issuer.issueToken({ email, name, claims: { jti: crypto.randomUUID() }, issuedInSeconds: 2 });
}
