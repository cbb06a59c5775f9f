import { randomUUIDv7 } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ErrorBody, type ErrorCode, type OperationId, ROUTES } from '@uswarm/contract';
import { EXAMPLE } from '@uswarm/contract/documents';
import { sql } from 'kysely';
import {
  type Operation,
  operationsOf,
  readDocument,
  type SeenAnswer,
  sendExample,
  type Values,
} from '../../test/api-document.js';
import type { ApiClient } from '../../test/api-client.js';
import { type UserResources, createUserResources } from '../../test/resource-fixtures.js';
import { type ProviderServers, startProviderServers } from '../../test/integrations.js';
import { searchRows } from '../../test/database-rows.js';
import { startTestOrchestrator, type TestOrchestrator } from '../../test/test-orchestrator.js';

/** Operations that succeed only once. The owner calls them after all other callers were rejected. */
const ONCE = new Set<OperationId>([
  'logout',
  'logoutEverywhere',
  'deleteAccount',
  'revokeApiToken',
  'deleteWorkspace',
  'deleteConversation',
  'deleteAgentMemory',
  'deleteArtifact',
  'deleteMessage',
  'regenerateMessage',
  'stopMessage',
  'disconnectIntegration',
  'disconnectToolServer',
  'acceptServerTools',
  'deleteWebhook',
  'deleteTrigger',
]);

const OPERATIONS = ROUTES.filter(({ auth }) => auth !== 'public').map(({ operationId }) => operationId);

/** Ids in the examples that can belong to another user. */
const IDS = Object.values(EXAMPLE).filter((value) => /^[\da-f-]{36}$/.test(value) && value !== EXAMPLE.localId);

function subsets<Item>(items: readonly Item[]): Item[][] {
  const all = items.reduce<Item[][]>((sets, item) => [...sets, ...sets.map((set) => [...set, item])], [[]]);
  return all.filter((set) => set.length > 0);
}

/** The parts of a response that could reveal whether a resource exists. */
function visible({ status, headers, body }: SeenAnswer) {
  const { date: _, 'x-request-id': id, 'keep-alive': __, ...rest } = headers;
  return { status, headers: rest, body: JSON.stringify(body).replaceAll(String(id), 'request') };
}

function differences(answers: readonly SeenAnswer[], others: readonly SeenAnswer[]) {
  const pairs = answers.map((answer, n) => [visible(answer), visible(others[n]!)]);
  return pairs.filter(([answer, other]) => !isDeepStrictEqual(answer, other));
}

function changes(before: readonly string[], after: readonly string[]): string[] {
  return [...before.filter((row) => !after.includes(row)), ...after.filter((row) => !before.includes(row))];
}

const codeOf = ({ body }: SeenAnswer): string | undefined => (body as ErrorBody | undefined)?.code;

describe('authorisation', () => {
  let uswarm: TestOrchestrator;
  let server: ProviderServers;
  let operations: Map<string, Operation>;
  /** All this user's requests are rejected, so one user serves the tests for every operation. */
  let outsider: UserResources;
  /** Has deleted the account, and keeps a token from before the deletion. */
  let former: UserResources;
  let formerToken: Pick<ApiClient, 'headers'>;
  beforeAll(async () => {
    server = await startProviderServers();
    uswarm = await startTestOrchestrator({ environment: server.environment });
    const document = await readDocument(uswarm.url);
    operations = new Map(operationsOf(document).map((operation) => [operation.operationId, operation]));
    outsider = await own();
    former = await own();
    formerToken = await tokenOf(former);
    await former.user.delete('/v1/auth/delete', {}, 204);
  });
  afterAll(async () => {
    await uswarm.close();
    await server.close();
  });

  /** Sends all the operation's examples with these credentials and ids. */
  async function sendAll(operation: Operation, client: Pick<ApiClient, 'headers'>, values: Values) {
    const answers: SeenAnswer[] = [];
    for (const body of operation.bodies) {
      answers.push(await sendExample({ url: uswarm.url, client, operation, values, body }));
    }
    return answers;
  }

  const idsIn = ({ parameters, bodies }: Operation): string[] => {
    const text = JSON.stringify([parameters, bodies]);
    return IDS.filter((id) => text.includes(id));
  };
  const unknown = (ids: readonly string[]): Values => Object.fromEntries(ids.map((id) => [id, randomUUIDv7()]));
  const rowsOf = ({ user, values }: UserResources) =>
    searchRows(uswarm.database, [user.email, ...IDS.map((id) => values[id] ?? '')]);
  const own = (): Promise<UserResources> => createUserResources(uswarm, server);

  async function failures(operation: Operation, { user, values }: UserResources): Promise<SeenAnswer[]> {
    const answers = await sendAll(operation, user, values);
    return answers.filter(({ status }) => !operation.successes.includes(status));
  }

  /** Calls the operation on the owner's resources, and on resources that do not exist. */
  async function refusal(operation: Operation, client: Pick<ApiClient, 'headers'>, owner: UserResources) {
    const before = await rowsOf(owner);
    const answers = await sendAll(operation, client, owner.values);
    const missing = await sendAll(operation, client, { ...owner.values, ...unknown(IDS) });
    return {
      codes: [...new Set(answers.map(codeOf))],
      distinguishable: differences(answers, missing),
      written: changes(before, await rowsOf(owner)),
    };
  }
  /** All calls return the code, existing and missing resources are indistinguishable, and nothing is written. */
  const refusedAs = (code: ErrorCode) => ({ codes: [code], distinguishable: [], written: [] });

  const setBanned = ({ user }: UserResources, banned: boolean) =>
    uswarm.database.updateTable('users').set({ is_banned: banned }).where('email', '=', user.email).execute();
  const tokenOf = async ({ user: { email, name } }: UserResources, expiresInSeconds?: number) => {
    const token = await uswarm.issuer.issueToken({
      email,
      name,
      ...(expiresInSeconds === undefined ? {} : { expiresInSeconds }),
    });
    return { headers: { 'x-token': token } };
  };

  it('the API document and the contract have the same public routes', () => {
    const publicRoutes = [...operations.values()].filter(({ isPublic }) => isPublic).map((each) => each.operationId);
    expect(publicRoutes.toSorted()).toEqual(
      ROUTES.filter(({ auth }) => auth === 'public')
        .map(({ operationId }) => operationId)
        .toSorted(),
    );
  });

  describe.each(OPERATIONS)('%s', (operationId) => {
    const operation = (): Operation => operations.get(operationId)!;
    const once = ONCE.has(operationId);
    /** Rejected requests write nothing, so all tests of the operation share one owner. */
    let owner: UserResources;
    let ownersFailures: SeenAnswer[];
    beforeAll(async () => {
      owner = await own();
      if (!once) ownersFailures = await failures(operation(), owner);
    });
    // The tests read whole tables several times, so rows from earlier operations would slow down each of them.
    afterAll(async () => {
      const kept = [outsider.user.email, former.user.email];
      await uswarm.database.deleteFrom('users').where('email', 'not in', kept).execute();
      for (const table of ['audit_log', 'work'] as const) await uswarm.database.deleteFrom(table).execute();
      await sql`VACUUM`.execute(uswarm.database);
    });

    it('rejects a request without a token', async () => {
      expect(await refusal(operation(), uswarm.anonymous, owner)).toEqual(refusedAs('token_missing'));
    });

    it('rejects an expired token', async () => {
      expect(await refusal(operation(), await tokenOf(owner, -60), owner)).toEqual(refusedAs('token_expired'));
    });

    it('rejects a banned user, also for own resources', async () => {
      await setBanned(owner, true);
      try {
        expect(await refusal(operation(), owner.user, owner)).toEqual(refusedAs('user_banned'));
      } finally {
        await setBanned(owner, false);
      }
    });

    // A deleted user can sign up again: see below.
    if (operationId !== 'signUp') {
      it('rejects a deleted user, also for former resources', async () => {
        expect(await refusal(operation(), formerToken, former)).toEqual(refusedAs('user_deleted'));
      });
    }

    it('neither returns nor changes resources of another user, nor reveals that they exist', async () => {
      const ids = idsIn(operation());
      const before = await rowsOf(owner);
      const distinguishable = [];
      const allowed = [];
      for (const foreign of subsets(ids)) {
        const { existing, missing } = await callWithForeignIds(operation(), foreign, owner, outsider);
        allowed.push(...existing.filter(({ status }) => status < 400));
        distinguishable.push(...differences(existing, missing));
      }
      const answers = ids.length > 0 ? [] : await callForOwnResources(operation());
      const secrets = [owner.user.email, ...IDS.map((id) => owner.values[id] ?? '')];
      const shown = secrets.filter((text) => JSON.stringify(answers).includes(text));
      const written = changes(before, await rowsOf(owner));
      const nothing = { allowed: [], distinguishable: [], shown: [], written: [] };
      expect({ allowed, distinguishable, shown, written }).toEqual(nothing);
    });

    it('succeeds for the owner of the resources that others were refused', async () => {
      if (once) ownersFailures = await failures(operation(), owner);
      expect(ownersFailures).toEqual([]);
    });
  });

  /** An operation without ids can change the caller's own resources, so the caller is a new user. */
  async function callForOwnResources(operation: Operation): Promise<SeenAnswer[]> {
    const other = await own();
    return sendAll(operation, other.user, other.values);
  }

  /** Calls the operation as `other`, with some of the owner's ids, and again with random ids instead. */
  async function callWithForeignIds(
    operation: Operation,
    foreign: string[],
    owner: UserResources,
    other: UserResources,
  ) {
    const foreignIds = Object.fromEntries(foreign.map((id) => [id, owner.values[id] ?? '']));
    // A body without these ids concerns the caller's own resources.
    const bodies = operation.bodies.filter((body) =>
      foreign.some((id) => JSON.stringify([operation.parameters, body]).includes(id)),
    );
    const call = { ...operation, bodies };
    return {
      existing: await sendAll(call, other.user, { ...other.values, ...foreignIds }),
      missing: await sendAll(call, other.user, { ...other.values, ...unknown(foreign) }),
    };
  }

  it('a deleted user who signs up again is a different user with a different workspace', async () => {
    const owner = await own();
    const again = uswarm.anonymous.with((await tokenOf(owner)).headers);
    await owner.user.delete('/v1/auth/delete', {}, 204);
    await again.post('/v1/auth/sign-up', undefined, 204);
    expect((await uswarm.home(again)).workspaceId).not.toBe(owner.home.workspaceId);
  });

  it.each([
    ['getUpload', EXAMPLE.linkSignature],
    ['getExportArchive', EXAMPLE.exportSignature],
  ] as const)('a link of %s opens only its own file', async (operationId, signature) => {
    const [owner, other] = [await own(), await own()];
    const operation = operations.get(operationId)!;
    expect(await failures(operation, owner)).toEqual([]);
    const withOther = { ...owner.values, [signature]: other.values[signature] ?? '' };
    const seen = await refusal(operation, other.user, { ...owner, values: withOther });
    expect(seen).toEqual(refusedAs('upload_link_invalid'));
  });
});
