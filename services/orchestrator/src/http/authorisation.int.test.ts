import { randomUUIDv7 } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ErrorBody, type ErrorCode, type OperationId, ROUTES } from '@uswarm/contract';
import { EXAMPLE } from '@uswarm/contract/documents';
import type { OAuthServer } from '@uswarm/testkit';
import {
  type Operation,
  operationsOf,
  readDocument,
  type SeenAnswer,
  sendExample,
  type Values,
} from '../../test/api-document.js';
import type { ApiClient } from '../../test/api-client.js';
import { type Belongings, ownEverything } from '../../test/belongings.js';
import { integrationEnvironment, startProviderServer } from '../../test/integrations.js';
import { rowsNaming } from '../../test/stored.js';
import { startTestOrchestrator, type TestOrchestrator } from '../../test/test-orchestrator.js';

/** Succeed once: the owner tries them after everybody else was refused. */
const ONCE = new Set<OperationId>([
  'logout',
  'logoutEverywhere',
  'deleteAccount',
  'deleteWorkspace',
  'deleteConversation',
  'deleteAgentMemory',
  'deleteMessage',
  'regenerateMessage',
  'stopMessage',
  'disconnectIntegration',
]);

const OPERATIONS = ROUTES.filter(({ auth }) => auth !== 'public').map(({ operationId }) => operationId);

/** The ids among the examples: what can be somebody else's. */
const IDS = Object.values(EXAMPLE).filter((value) => /^[\da-f-]{36}$/.test(value) && value !== EXAMPLE.localId);

/** All of a list that there can be, but the empty one. */
function subsets<Item>(items: readonly Item[]): Item[][] {
  const all = items.reduce<Item[][]>((sets, item) => [...sets, ...sets.map((set) => [...set, item])], [[]]);
  return all.filter((set) => set.length > 0);
}

/** What of an answer could tell one request from another, besides the request itself. */
function visible({ status, headers, body }: SeenAnswer) {
  const { date: _, 'x-request-id': id, 'keep-alive': __, ...rest } = headers;
  return { status, headers: rest, body: JSON.stringify(body).replaceAll(String(id), 'request') };
}

/** The answers that differ from the others, in pairs. */
function differences(answers: readonly SeenAnswer[], others: readonly SeenAnswer[]) {
  const pairs = answers.map((answer, n) => [visible(answer), visible(others[n]!)]);
  return pairs.filter(([answer, other]) => !isDeepStrictEqual(answer, other));
}

/** Rows that came, went, or are others now. */
function changes(before: readonly string[], after: readonly string[]): string[] {
  return [...before.filter((row) => !after.includes(row)), ...after.filter((row) => !before.includes(row))];
}

const codeOf = ({ body }: SeenAnswer): string | undefined => (body as ErrorBody | undefined)?.code;

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

  /** Every example of the operation, sent by the client about the things named. */
  async function sendAll(operation: Operation, client: Pick<ApiClient, 'headers'>, values: Values) {
    const answers: SeenAnswer[] = [];
    for (const body of operation.bodies) {
      answers.push(await sendExample({ url: uswarm.url, client, operation, values, body }));
    }
    return answers;
  }

  /** The ids that stand in the path or in a body of the operation. */
  const idsIn = ({ parameters, bodies }: Operation): string[] => {
    const text = JSON.stringify([parameters, bodies]);
    return IDS.filter((id) => text.includes(id));
  };
  const unknown = (ids: readonly string[]): Values => Object.fromEntries(ids.map((id) => [id, randomUUIDv7()]));
  /** What the database holds about somebody. */
  const kept = ({ user, values }: Belongings) =>
    rowsNaming(uswarm.database, [user.email, ...IDS.map((id) => values[id] ?? '')]);
  const own = (): Promise<Belongings> => ownEverything(uswarm, server);

  /** What went wrong where a success was expected. */
  async function failures(operation: Operation, { user, values }: Belongings): Promise<SeenAnswer[]> {
    const answers = await sendAll(operation, user, values);
    return answers.filter(({ status }) => !operation.successes.includes(status));
  }

  /** How the owner's things are refused to a client. */
  async function refusal(operation: Operation, client: Pick<ApiClient, 'headers'>, owner: Belongings) {
    const before = await kept(owner);
    const answers = await sendAll(operation, client, owner.values);
    const blind = await sendAll(operation, client, { ...owner.values, ...unknown(IDS) });
    return {
      codes: [...new Set(answers.map(codeOf))],
      toldApart: differences(answers, blind),
      written: changes(before, await kept(owner)),
    };
  }
  /** With the code, in the same words whether what is named exists, and with nothing written. */
  const refusedAs = (code: ErrorCode) => ({ ownersFailures: [], codes: [code], toldApart: [], written: [] });

  /** The check, with the owner's success before it, or after it where there is but one. */
  async function asOwner<Seen>(operation: Operation, owner: Belongings, check: () => Promise<Seen>) {
    const once = ONCE.has(operation.operationId as OperationId);
    const first = once ? [] : await failures(operation, owner);
    const seen = await check();
    return { ownersFailures: once ? await failures(operation, owner) : first, ...seen };
  }

  const setBanned = ({ user }: Belongings, banned: boolean) =>
    uswarm.database.updateTable('users').set({ is_banned: banned }).where('email', '=', user.email).execute();
  const tokenOf = async ({ user: { email, name } }: Belongings, expiresInSeconds?: number) => {
    const token = await uswarm.issuer.issueToken({
      email,
      name,
      ...(expiresInSeconds === undefined ? {} : { expiresInSeconds }),
    });
    return { headers: { 'x-token': token } };
  };

  it('the public routes of the document are those of the contract', () => {
    const publicOnes = [...operations.values()].filter(({ isPublic }) => isPublic).map((each) => each.operationId);
    expect(publicOnes.toSorted()).toEqual(
      ROUTES.filter(({ auth }) => auth === 'public')
        .map(({ operationId }) => operationId)
        .toSorted(),
    );
  });

  describe.each(OPERATIONS)('%s', (operationId) => {
    const operation = (): Operation => operations.get(operationId)!;

    it('is refused without a token', async () => {
      const owner = await own();
      const seen = await asOwner(operation(), owner, () => refusal(operation(), uswarm.anonymous, owner));
      expect(seen).toEqual(refusedAs('token_missing'));
    });

    it('is refused with a token that has expired', async () => {
      const owner = await own();
      const expired = await tokenOf(owner, -60);
      const seen = await asOwner(operation(), owner, () => refusal(operation(), expired, owner));
      expect(seen).toEqual(refusedAs('token_expired'));
    });

    it('is refused to a user that is banned, about its own things', async () => {
      const owner = await own();
      const seen = await asOwner(operation(), owner, async () => {
        await setBanned(owner, true);
        const whileBanned = await refusal(operation(), owner.user, owner);
        await setBanned(owner, false);
        return whileBanned;
      });
      expect(seen).toEqual(refusedAs('user_banned'));
    });

    it('is refused to a user that was deleted, about what were its own things', async () => {
      const [owner, twin] = [await own(), await own()];
      // Nothing can be shown after a deletion, so what succeeds but once does for another one.
      const ownersFailures = await failures(operation(), ONCE.has(operationId) ? twin : owner);
      const later = await tokenOf(owner);
      await owner.user.delete('/v1/auth/delete', {}, 204);
      const signsUp = operationId === 'signUp';
      const seen = signsUp ? refusedAs('user_deleted') : await refusal(operation(), later, owner);
      expect({ ...seen, ownersFailures }).toEqual(refusedAs('user_deleted'));
      // Whoever signs up again is somebody else.
      const again = uswarm.anonymous.with(later.headers);
      await again.post('/v1/auth/sign-up', undefined, 204);
      expect((await uswarm.home(again)).workspaceId).not.toBe(owner.home.workspaceId);
    });

    it('shows and changes nothing of another user, nor tells what exists', async () => {
      const [owner, other] = [await own(), await own()];
      const seen = await asOwner(operation(), owner, async () => {
        const before = await kept(owner);
        const told = [];
        const letIn = [];
        for (const foreign of subsets(idsIn(operation()))) {
          const { named, blind } = await askAbout(operation(), foreign, owner, other);
          letIn.push(...named.filter(({ status }) => status < 400));
          told.push(...differences(named, blind));
        }
        // What names nobody's things is about the caller's own.
        const answers = idsIn(operation()).length > 0 ? [] : await sendAll(operation(), other.user, other.values);
        const secrets = [owner.user.email, ...IDS.map((id) => owner.values[id] ?? '')];
        const shown = secrets.filter((text) => JSON.stringify(answers).includes(text));
        const written = changes(before, await kept(owner));
        return { letIn, toldApart: told, shown, written };
      });
      expect(seen).toEqual({ ownersFailures: [], letIn: [], toldApart: [], shown: [], written: [] });
    });
  });

  /** Asks as the other one, with its own things but for some: the owner's, and then such as nobody has. */
  async function askAbout(operation: Operation, foreign: string[], owner: Belongings, other: Belongings) {
    const theirs = Object.fromEntries(foreign.map((id) => [id, owner.values[id] ?? '']));
    // A body that names none of them is about the caller's own things.
    const bodies = operation.bodies.filter((body) =>
      foreign.some((id) => JSON.stringify([operation.parameters, body]).includes(id)),
    );
    const about = { ...operation, bodies };
    return {
      named: await sendAll(about, other.user, { ...other.values, ...theirs }),
      blind: await sendAll(about, other.user, { ...other.values, ...unknown(foreign) }),
    };
  }

  it.each([
    ['getUpload', EXAMPLE.linkSignature],
    ['getExportArchive', EXAMPLE.exportSignature],
  ] as const)('a link of %s opens the one file that it was made for', async (operationId, signature) => {
    const [owner, other] = [await own(), await own()];
    const operation = operations.get(operationId)!;
    expect(await failures(operation, owner)).toEqual([]);
    const withOther = { ...owner.values, [signature]: other.values[signature] ?? '' };
    const seen = await refusal(operation, other.user, { ...owner, values: withOther });
    expect({ ownersFailures: [], ...seen }).toEqual(refusedAs('upload_link_invalid'));
  });
});
