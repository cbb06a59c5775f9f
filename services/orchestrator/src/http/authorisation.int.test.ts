import { randomUUIDv7 } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ErrorBody, type ErrorCode, type OperationId, ROUTES } from '@uswarm/contract';
import { EXAMPLE } from '@uswarm/contract/documents';
import type { OAuthServer } from '@uswarm/dev-servers';
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
import { integrationEnvironment, startProviderServer } from '../../test/integrations.js';
import { searchRows } from '../../test/database-rows.js';
import { startTestOrchestrator, type TestOrchestrator } from '../../test/test-orchestrator.js';

/** Operations that succeed only once. The owner calls them after the other callers were rejected. */
const ONCE = new Set<OperationId>([
  'logout',
  'logoutEverywhere',
  'deleteAccount',
  'deleteWorkspace',
  'deleteConversation',
  'deleteAgentMemory',
  'deleteArtifact',
  'deleteMessage',
  'regenerateMessage',
  'stopMessage',
  'disconnectIntegration',
]);

const OPERATIONS = ROUTES.filter(({ auth }) => auth !== 'public').map(({ operationId }) => operationId);

/** Ids in the examples, which can belong to another user. */
const IDS = Object.values(EXAMPLE).filter((value) => /^[\da-f-]{36}$/.test(value) && value !== EXAMPLE.localId);

/** All subsets of a list except the empty one. */
function subsets<Item>(items: readonly Item[]): Item[][] {
  const all = items.reduce<Item[][]>((sets, item) => [...sets, ...sets.map((set) => [...set, item])], [[]]);
  return all.filter((set) => set.length > 0);
}

/** The parts of a response that could reveal whether a resource exists. */
function visible({ status, headers, body }: SeenAnswer) {
  const { date: _, 'x-request-id': id, 'keep-alive': __, ...rest } = headers;
  return { status, headers: rest, body: JSON.stringify(body).replaceAll(String(id), 'request') };
}

/** Pairs of responses that differ. */
function differences(answers: readonly SeenAnswer[], others: readonly SeenAnswer[]) {
  const pairs = answers.map((answer, n) => [visible(answer), visible(others[n]!)]);
  return pairs.filter(([answer, other]) => !isDeepStrictEqual(answer, other));
}

/** Rows that were inserted, updated or deleted. */
function changes(before: readonly string[], after: readonly string[]): string[] {
  return [...before.filter((row) => !after.includes(row)), ...after.filter((row) => !before.includes(row))];
}

const codeOf = ({ body }: SeenAnswer): string | undefined => (body as ErrorBody | undefined)?.code;

interface SuccessfulOwner {
  owner: UserResources;
  /** The responses that are not successful. */
  ownersFailures: SeenAnswer[];
}

describe('authorisation', () => {
  let uswarm: TestOrchestrator;
  let server: OAuthServer;
  let operations: Map<string, Operation>;
  beforeAll(async () => {
    server = await startProviderServer();
    uswarm = await startTestOrchestrator({ environment: integrationEnvironment(server) });
    const document = await readDocument(uswarm.url);
    operations = new Map(operationsOf(document).map((operation) => [operation.operationId, operation]));
  });
  afterAll(async () => {
    await uswarm.close();
    await server.close();
  });

  /** Sends all examples of the operation with these credentials and ids. */
  async function sendAll(operation: Operation, client: Pick<ApiClient, 'headers'>, values: Values) {
    const answers: SeenAnswer[] = [];
    for (const body of operation.bodies) {
      answers.push(await sendExample({ url: uswarm.url, client, operation, values, body }));
    }
    return answers;
  }

  /** The ids in the path and the bodies of the operation. */
  const idsIn = ({ parameters, bodies }: Operation): string[] => {
    const text = JSON.stringify([parameters, bodies]);
    return IDS.filter((id) => text.includes(id));
  };
  const unknown = (ids: readonly string[]): Values => Object.fromEntries(ids.map((id) => [id, randomUUIDv7()]));
  /** The rows of a user. */
  const rowsOf = ({ user, values }: UserResources) =>
    searchRows(uswarm.database, [user.email, ...IDS.map((id) => values[id] ?? '')]);
  const own = (): Promise<UserResources> => createUserResources(uswarm, server);

  /** The responses of the owner that are not successful. */
  async function failures(operation: Operation, { user, values }: UserResources): Promise<SeenAnswer[]> {
    const answers = await sendAll(operation, user, values);
    return answers.filter(({ status }) => !operation.successes.includes(status));
  }

  /** Calls the operation on resources of the owner, and on resources that do not exist. */
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
  const refusedAs = (code: ErrorCode) => ({ ownersFailures: [], codes: [code], distinguishable: [], written: [] });

  /** Runs the check after a successful call of the owner, or before it if the operation succeeds only once. */
  async function asOwner<Seen>(operation: Operation, owner: UserResources, check: () => Promise<Seen>) {
    const once = ONCE.has(operation.operationId as OperationId);
    const first = once ? [] : await failures(operation, owner);
    const seen = await check();
    return { ownersFailures: once ? await failures(operation, owner) : first, ...seen };
  }

  /** Creates an owner who then calls the operation. */
  async function successfulOwner(operation: Operation): Promise<SuccessfulOwner> {
    const owner = await own();
    return { owner, ownersFailures: await failures(operation, owner) };
  }

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
    // The tests read whole tables several times, so the rows of earlier operations would slow down each of them.
    afterAll(() => uswarm.database.deleteFrom('users').execute());

    let shared: Promise<SuccessfulOwner> | undefined;
    /** Rejections write nothing, so they share an owner unless the operation succeeds only once. */
    async function withOwner<Seen>(check: (owner: UserResources) => Promise<Seen>) {
      if (ONCE.has(operationId)) {
        const owner = await own();
        return asOwner(operation(), owner, () => check(owner));
      }
      shared ??= successfulOwner(operation());
      const { owner, ownersFailures } = await shared;
      return { ownersFailures, ...(await check(owner)) };
    }

    it('rejects a request without a token', async () => {
      const seen = await withOwner((owner) => refusal(operation(), uswarm.anonymous, owner));
      expect(seen).toEqual(refusedAs('token_missing'));
    });

    it('rejects an expired token', async () => {
      const seen = await withOwner(async (owner) => refusal(operation(), await tokenOf(owner, -60), owner));
      expect(seen).toEqual(refusedAs('token_expired'));
    });

    it('rejects a banned user, also for own resources', async () => {
      const seen = await withOwner(async (owner) => {
        await setBanned(owner, true);
        try {
          return await refusal(operation(), owner.user, owner);
        } finally {
          await setBanned(owner, false);
        }
      });
      expect(seen).toEqual(refusedAs('user_banned'));
    });

    it('rejects a deleted user, also for former resources', async () => {
      const owner = await own();
      // The owner cannot call the operation after the deletion, so another user shows that it succeeds.
      const ownersFailures = await failures(operation(), ONCE.has(operationId) ? await own() : owner);
      const later = await tokenOf(owner);
      await owner.user.delete('/v1/auth/delete', {}, 204);
      const signsUp = operationId === 'signUp';
      const seen = signsUp ? refusedAs('user_deleted') : await refusal(operation(), later, owner);
      expect({ ...seen, ownersFailures }).toEqual(refusedAs('user_deleted'));
      // Another sign-up creates a different user.
      const again = uswarm.anonymous.with(later.headers);
      await again.post('/v1/auth/sign-up', undefined, 204);
      expect((await uswarm.home(again)).workspaceId).not.toBe(owner.home.workspaceId);
    });

    it('neither returns nor changes resources of another user, nor reveals that they exist', async () => {
      const [owner, other] = [await own(), await own()];
      const seen = await asOwner(operation(), owner, async () => {
        const before = await rowsOf(owner);
        const distinguishable = [];
        const allowed = [];
        for (const foreign of subsets(idsIn(operation()))) {
          const { existing, missing } = await callWithForeignIds(operation(), foreign, owner, other);
          allowed.push(...existing.filter(({ status }) => status < 400));
          distinguishable.push(...differences(existing, missing));
        }
        // An operation without ids concerns resources of the caller.
        const answers = idsIn(operation()).length > 0 ? [] : await sendAll(operation(), other.user, other.values);
        const secrets = [owner.user.email, ...IDS.map((id) => owner.values[id] ?? '')];
        const shown = secrets.filter((text) => JSON.stringify(answers).includes(text));
        const written = changes(before, await rowsOf(owner));
        return { allowed, distinguishable, shown, written };
      });
      expect(seen).toEqual({ ownersFailures: [], allowed: [], distinguishable: [], shown: [], written: [] });
    });
  });

  /** Calls the operation as `other`, with some ids of the owner, and again with random ids instead. */
  async function callWithForeignIds(
    operation: Operation,
    foreign: string[],
    owner: UserResources,
    other: UserResources,
  ) {
    const foreignIds = Object.fromEntries(foreign.map((id) => [id, owner.values[id] ?? '']));
    // A body without these ids concerns resources of the caller.
    const bodies = operation.bodies.filter((body) =>
      foreign.some((id) => JSON.stringify([operation.parameters, body]).includes(id)),
    );
    const call = { ...operation, bodies };
    return {
      existing: await sendAll(call, other.user, { ...other.values, ...foreignIds }),
      missing: await sendAll(call, other.user, { ...other.values, ...unknown(foreign) }),
    };
  }

  it.each([
    ['getUpload', EXAMPLE.linkSignature],
    ['getExportArchive', EXAMPLE.exportSignature],
  ] as const)('a link of %s opens only its own file', async (operationId, signature) => {
    const [owner, other] = [await own(), await own()];
    const operation = operations.get(operationId)!;
    expect(await failures(operation, owner)).toEqual([]);
    const withOther = { ...owner.values, [signature]: other.values[signature] ?? '' };
    const seen = await refusal(operation, other.user, { ...owner, values: withOther });
    expect({ ownersFailures: [], ...seen }).toEqual(refusedAs('upload_link_invalid'));
  });
});
