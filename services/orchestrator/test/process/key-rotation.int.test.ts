import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  INTERNAL_PATHS,
  MODEL_CALLS_PATH,
  type Receipt,
  type ReceiptKeySet,
  type ReceiptPage,
  type UserUsageSummary,
} from '@uswarm/contract';
import {
  generateCallKeys,
  parseSigningKey,
  signAdminToken,
  signInternalToken,
  signModelCallsToken,
  systemClock,
  verifyReceiptSignature,
} from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { decodeJwt } from 'jose';
import { sql } from 'kysely';
import { request } from 'undici';
import { createTestAdmin } from '../admin-client.js';
import { startTestOrchestrator, type TestOrchestrator, type TestUser } from '../test-orchestrator.js';
import { storeReceipt } from '../receipts.js';
import { download, formOf, PNG, UPLOADS } from '../uploads.js';
import { sign } from '../../src/accounts/auth/signature.js';
import { createCursorCodec } from '../../src/records/cursor.js';
import { createUploadLinks } from '../../src/workspaces/uploads/upload-links.js';

const secret = (generation: string, what: string): string => `${what}-of-the-${generation}-generation-0123456789`;
interface Keys {
  signature: string;
  internal: string;
  modelCalls: string;
  admin: string;
  cursor: string;
  identity: string;
}
const keysOf = (generation: string): Keys => ({
  signature: secret(generation, 'signature'),
  internal: `${generation}:${secret(generation, 'internal')}`,
  modelCalls: `${generation}:${secret(generation, 'model calls')}`,
  admin: `${generation}:${secret(generation, 'admin')}`,
  cursor: secret(generation, 'cursor'),
  identity: secret(generation, 'identity'),
});
const OLD = keysOf('old');
const NEW = keysOf('new');
const OTHER = keysOf('other');

const settings = (keys: Keys): Record<string, string> => ({
  SIGNATURE_MODE: 'required',
  SIGNATURE_SECRET: keys.signature,
  INTERNAL_API_KEY: keys.internal,
  MODEL_CALLS_KEY: keys.modelCalls,
  ADMIN_API_KEY: keys.admin,
  CURSOR_KEY: keys.cursor,
  IDENTITY_HASH_KEY: keys.identity,
});
const previous = (keys: Keys): Record<string, string> =>
  Object.fromEntries(Object.entries(settings(keys)).flatMap(([name, value]) => [[`${name}_PREVIOUS`, value]]));

/** An orchestrator with a signed-up user, and requests from clients that have the old or the new keys. */
async function startFixture(environment: Record<string, string>, current: Keys) {
  const uswarm: TestOrchestrator = await startTestOrchestrator({ environment });
  const signed = (identity: TestUser, keys: Keys) => {
    const timestamp = new Date().toISOString();
    const signature = sign(keys.signature, identity.token, timestamp);
    return identity.with({ 'x-timestamp': timestamp, 'x-signature': signature });
  };
  const user = await uswarm.newIdentity();
  await signed(user, current).post('/v1/auth/sign-up', undefined, 204);
  const { id: userId } = await uswarm.database.selectFrom('users').select('id').executeTakeFirstOrThrow();
  const home = await uswarm.home(signed(user, current));
  const form = await formOf({ content: PNG, name: 'photo.png' });
  const uploaded = await signed(user, current).raw<{ data: { id: string } }>({
    method: 'POST',
    path: UPLOADS,
    ...form,
  });

  return {
    close: () => uswarm.close(),
    /** Status for a request that an app signed. */
    app: async (keys: Keys) => (await signed(user, keys).raw({ method: 'GET', path: '/v1/workspaces' })).status,
    /** Status for a gateway's request. */
    gateway: async (keys: Keys) => {
      const token = await signInternalToken(parseSigningKey(keys.internal), userId);
      const answer = await request(`${uswarm.internalUrl}${INTERNAL_PATHS.subscriptions}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify({ workspace_ids: [home.workspaceId] }),
      });
      await answer.body.dump();
      return answer.statusCode;
    },
    /** Status for a model gateway's request with an invalid body. */
    modelGateway: async (keys: Keys) => {
      const token = await signModelCallsToken(parseSigningKey(keys.modelCalls), 'model-gateway');
      const answer = await request(`${uswarm.internalUrl}${MODEL_CALLS_PATH}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: '{}',
      });
      await answer.body.dump();
      return answer.statusCode;
    },
    /** Error code for an operator's request with an invalid body. */
    operator: async (keys: Keys) => {
      const token = await signAdminToken(parseSigningKey(keys.admin), 'olivia');
      // The token is checked before the body.
      return createTestAdmin(uswarm).refusal('user.show', {}, token);
    },
    /** Status for a request with a cursor. */
    page: async (keys: Keys) => {
      const scope = { userId, conversationId: home.conversationId, direction: 'backward' as const };
      const cursor = createCursorCodec(keys.cursor).encode({ seq: 1, before_seq: null, pageDirection: 'older' }, scope);
      const path = `${home.messages}?scrollId=${cursor}`;
      return (await signed(user, current).raw({ method: 'GET', path })).status;
    },
    /** Status for a download by a link. */
    link: async (keys: Keys) => {
      const links = createUploadLinks({ secret: keys.cursor, baseUrl: '', clock: systemClock });
      return (await download(uswarm.url, links.url(uploaded.body.data.id))).status;
    },
    /** A new account's usage and the stored hashes, after its predecessor was deleted under these keys. */
    returned: async (keys: Keys) => {
      const identity = await uswarm.newIdentity();
      const hashOf = (each: Keys) =>
        createHmac('sha256', each.identity)
          .update(`test\n${decodeJwt(identity.token).sub}`)
          .digest();
      const period = new Date().toISOString().slice(0, 7);
      await sql`INSERT INTO deleted_identities (identity_hash) VALUES (${hashOf(keys)})`.execute(uswarm.database);
      await sql`
        INSERT INTO deleted_usage (identity_hash, period, prompt_tokens, completion_tokens, requests)
        VALUES (${hashOf(keys)}, ${period}, 900, 61, 3)`.execute(uswarm.database);
      await signed(identity, current).post('/v1/auth/sign-up', undefined, 204);
      const { body } = await signed(identity, current).get<{ data: UserUsageSummary }>('/v1/users/usage/summary');
      const hashes = await uswarm.database.selectFrom('deleted_identities').select('identity_hash').execute();
      const isLeft = (each: Keys) => hashes.some(({ identity_hash }) => identity_hash.equals(hashOf(each)));
      return { used: body.data.tokens_used, left: [OLD, NEW].filter(isLeft).map((each) => each.identity) };
    },
    /** Error code for a sign-in whose account was deleted under these keys. */
    deleted: async (keys: Keys) => {
      const identity = await uswarm.newIdentity();
      const hash = createHmac('sha256', keys.identity)
        .update(`test\n${decodeJwt(identity.token).sub}`)
        .digest();
      await uswarm.database.insertInto('deleted_identities').values({ identity_hash: hash }).execute();
      return signed(identity, current).refusal('POST', '/v1/auth/sign-in');
    },
  };
}
type Fixture = Awaited<ReturnType<typeof startFixture>>;

const CASES = [
  ['SIGNATURE_SECRET', 'app', 200, 401],
  ['INTERNAL_API_KEY', 'gateway', 200, 401],
  ['MODEL_CALLS_KEY', 'modelGateway', 400, 401],
  ['ADMIN_API_KEY', 'operator', 'validation_failed', 'token_invalid'],
  ['CURSOR_KEY, for pages', 'page', 200, 400],
  ['CURSOR_KEY, for links to files', 'link', 200, 403],
  ['IDENTITY_HASH_KEY', 'deleted', 'user_deleted', 'user_not_found'],
] as const;

describe('rotating keys', () => {
  let introduced: Fixture;
  let switched: Fixture;
  let retired: Fixture;
  beforeAll(async () => {
    [introduced, switched, retired] = await Promise.all([
      startFixture({ ...settings(OLD), ...previous(NEW) }, OLD),
      startFixture({ ...settings(NEW), ...previous(OLD) }, NEW),
      startFixture(settings(NEW), NEW),
    ]);
  });
  afterAll(() => Promise.all([introduced, switched, retired].map((fixture) => fixture?.close())));

  it.each(CASES)('the old and the new %s are accepted during the rotation, and no other key', async (...row) => {
    const [, call, accepted, refused] = row;
    for (const fixture of [introduced, switched]) {
      const results = {
        old: await fixture[call](OLD),
        new: await fixture[call](NEW),
        other: await fixture[call](OTHER),
      };
      expect(results).toEqual({ old: accepted, new: accepted, other: refused });
    }
  });

  it.each(CASES)('only the new %s is accepted after the old one is removed', async (...row) => {
    const [, call, accepted, refused] = row;
    const results = { old: await retired[call](OLD), new: await retired[call](NEW) };
    expect(results).toEqual({ old: refused, new: accepted });
  });

  it('the usage of an account that was deleted under the old IDENTITY_HASH_KEY counts for the next account', async () => {
    expect(await switched.returned(OLD)).toEqual({ used: 961, left: [NEW.identity] });
    expect(await retired.returned(NEW)).toEqual({ used: 961, left: [NEW.identity] });
  });

  it('SIGNATURE_SECRET_PREVIOUS accepts one secret per version of the app', async () => {
    const environment = { ...settings(NEW), SIGNATURE_SECRET_PREVIOUS: `${OLD.signature},\n${OTHER.signature}\n` };
    const fixture = await startFixture(environment, NEW);
    try {
      const statuses = { old: await fixture.app(OLD), new: await fixture.app(NEW), other: await fixture.app(OTHER) };
      expect(statuses).toEqual({ old: 200, new: 200, other: 200 });
    } finally {
      await fixture.close();
    }
  });

  it('receipts verify with the published keys although CALL_PRIVATE_KEY was replaced, and new ones have a new key', async () => {
    const [before, after] = [generateCallKeys().privateKey, generateCallKeys().privateKey];
    // Without maintenance jobs: the orchestrators below sign.
    const reader = await startTestOrchestrator();
    try {
      const user = await reader.user();
      const home = await reader.home(user);
      const signWith = async (environment: Record<string, string>): Promise<Receipt> => {
        const id = await storeReceipt(reader, home, { status: 'sent' });
        await sql`UPDATE work SET run_at = now() WHERE kind = 'receipt-settling'`.execute(reader.database);
        const replica = await startTestOrchestrator({
          reachDatabaseBy: () => reader.databaseUrl,
          environment: { UPKEEP_WORKERS: '1', ...environment },
        });
        try {
          const receipt = async () => (await user.get<{ data: Receipt }>(`/v1/receipts/${id}`)).body.data;
          return await eventually(receipt, { until: ({ jws }) => jws !== null });
        } finally {
          await replica.close();
        }
      };
      const old = await signWith({ CALL_PRIVATE_KEY: before });
      const current = await signWith({ CALL_PRIVATE_KEY: after, CALL_PRIVATE_KEY_PREVIOUS: before });
      const { keys } = (await reader.anonymous.get<ReceiptKeySet>('/v1/receipt-keys')).body;
      const [oldSignature, newSignature] = [
        await verifyReceiptSignature(old.jws ?? '', keys),
        await verifyReceiptSignature(current.jws ?? '', keys),
      ];
      expect(oldSignature.kid).not.toBe(newSignature.kid);
      expect([oldSignature.payload, newSignature.payload]).toMatchObject([{ id: old.id }, { id: current.id }]);
      expect((await user.get<ReceiptPage>('/v1/receipts')).body.data).toEqual([current, old]);
    } finally {
      await reader.close();
    }
  });
});
