import { randomUUID, randomUUIDv7 } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Conversation, Export, MessageData, NewApiToken } from '@uswarm/contract';
import { EXAMPLE } from '@uswarm/contract/documents';
import type { OAuthServer } from '@uswarm/dev-servers';
import { sql } from 'kysely';
import { createFileObjects } from '../src/workspaces/uploads/file-objects.js';
import { createStores } from './stores.js';
import type { Operation, Values } from './api-document.js';
import { storeArtifact } from './artifacts.js';
import { storeReceipt } from './receipts.js';
import { createSchedule } from './schedules.js';
import { createTrigger } from './triggers.js';
import { authorized, authorizedServer, CALLBACK, connectServer, type ProviderServers } from './integrations.js';
import type { Home, TestOrchestrator, TestUser } from './test-orchestrator.js';
import { upload } from './uploads.js';
import { createWebhook } from './webhooks.js';
import { storeWorkflow } from './workflows.js';
import { withoutAfterCommit } from './transaction.js';
import { startTurn, finishTurn } from '../src/records/turn-rows.js';

/** A user's resources, one for each id in the API document's examples. */
export interface UserResources {
  user: TestUser;
  home: Home;
  /** Real values by the placeholder that the examples use. */
  values: Values;
}

/** Creates a user with one resource of every type that has an example in the API document. */
export async function createUserResources(
  uswarm: TestOrchestrator,
  server: OAuthServer & Partial<Pick<ProviderServers, 'accounts' | 'wiki'>>,
  { connected }: { connected: boolean } = { connected: true },
): Promise<UserResources> {
  const user = await uswarm.user();
  const home = await uswarm.home(user);
  const agent = home.agents.find(({ slug }) => slug === 'researcher');
  if (agent === undefined) throw new Error('the workspace has no researcher');
  const file = await upload(user, { content: 'tea, bread, marmalade\n', name: 'groceries.txt', type: 'text/plain' });
  const cardId = await storeCard(uswarm, home, agent.id);
  const text = '@Researcher what is on my list?';
  const mentions = [{ agent_id: agent.id, agent_name: agent.name, offset: 0, length: 11 }];
  const { body: sent } = await user.post<{ data: MessageData }>(
    home.messages,
    { content: { type: 'text', text }, mentions },
    201,
  );
  const turn = await uswarm.database
    .selectFrom('turns')
    .select('id')
    .where('user_message_id', '=', sent.data.id)
    .executeTakeFirstOrThrow();
  const answerId = await storeReply(uswarm, user, home);
  const memory = { key: 'favourite tea', content: 'Darjeeling, second flush.' };
  await user.post(`/v1/agents/${agent.id}/memories`, memory, 200);
  const artifactId = await storeArtifact(uswarm, home, 'Groceries', ['- tea\n', '- tea\n- bread\n']);
  const workflowId = await storeWorkflow(uswarm, home, { messageId: cardId });
  const receiptId = await storeReceipt(uswarm, home);
  const webhook = server.accounts === undefined ? undefined : await createWebhook(uswarm, user, home);
  const schedule = await createSchedule(user, home);
  const trigger = await createTrigger(user, home);
  const exported = await createExport(uswarm, user);
  const apiToken = await user.post<{ data: NewApiToken }>('/v1/api-tokens', { name: 'CI', scopes: ['read'] }, 201);
  const callback = await authorized(user, server, 'gmail');
  if (connected) await user.post(CALLBACK, await authorized(user, server, 'gmail'), 204);
  const { accounts } = server;
  const serverCallback = accounts === undefined ? undefined : await authorizedServer(user, accounts);
  if (connected && accounts !== undefined)
    await connectServer(user, accounts, { database: uswarm.database, userId: await uswarm.idOf(user) });
  return {
    user,
    home,
    values: {
      [EXAMPLE.workspaceId]: home.workspaceId,
      [EXAMPLE.agentId]: agent.id,
      [EXAMPLE.conversationId]: home.conversationId,
      [EXAMPLE.messageId]: sent.data.id,
      // Its turn is queued.
      [EXAMPLE.replyId]: sent.data.id,
      [EXAMPLE.turnId]: turn.id,
      [EXAMPLE.cardId]: cardId,
      [EXAMPLE.answerId]: answerId,
      [EXAMPLE.uploadId]: file.id,
      [EXAMPLE.artifactId]: artifactId,
      [EXAMPLE.workflowId]: workflowId,
      [EXAMPLE.receiptId]: receiptId,
      ...(webhook && { [EXAMPLE.webhookId]: webhook.id, [EXAMPLE.webhookDeliveryId]: webhook.deliveryId }),
      [EXAMPLE.scheduleId]: schedule.id,
      [EXAMPLE.triggerId]: trigger.id,
      [EXAMPLE.apiTokenId]: apiToken.body.data.id,
      [EXAMPLE.exportId]: exported.id,
      [EXAMPLE.importId]: await storeImport(uswarm, user, home),
      [EXAMPLE.exportSignature]: signatureOf(uswarm, exported.url),
      [EXAMPLE.localId]: randomUUID(),
      [EXAMPLE.linkSignature]: signatureOf(uswarm, file.url),
      [EXAMPLE.authorizationCode]: callback.authorization_code,
      [EXAMPLE.codeVerifier]: callback.code_verifier,
      [EXAMPLE.redirectUrl]: callback.redirect_url,
      ...(server.wiki === undefined ? {} : { [EXAMPLE.userServerUrl]: server.wiki.url }),
      ...(serverCallback === undefined
        ? {}
        : {
            [EXAMPLE.serverCode]: serverCallback.authorization_code,
            [EXAMPLE.serverVerifier]: serverCallback.code_verifier,
            [EXAMPLE.serverRedirectUrl]: serverCallback.redirect_url,
          }),
    },
  };
}

/** Returns the resources for one operation. Operations that only read share one user's resources. */
export function createResourcePool(uswarm: TestOrchestrator, server: ProviderServers) {
  let shared: Promise<UserResources> | undefined;
  return ({ method }: Pick<Operation, 'method'>): Promise<UserResources> => {
    if (method !== 'GET') return createUserResources(uswarm, server);
    shared ??= createUserResources(uswarm, server);
    return shared;
  };
}

const signatureOf = (uswarm: TestOrchestrator, url: string | null): string =>
  new URL(url ?? '', uswarm.url).searchParams.get('sig') ?? '';

/** Creates a completed export that is old enough for another one. */
async function createExport(uswarm: TestOrchestrator, user: TestUser): Promise<Export> {
  const { id } = (await user.post<{ data: Export }>('/v1/users/export', undefined, 202)).body.data;
  const objectId = randomUUID();
  await createFileObjects(uswarm.objectDirectory).put(objectId, Readable.from([Buffer.from('an archive')]));
  await sql`
    WITH built AS (DELETE FROM work WHERE kind = 'export' AND subject_id = ${id})
    UPDATE exports SET status = 'ready', object_id = ${objectId}, size = 10,
      created_at = now() - interval '2 hours', expires_at = now() + interval '7 days'
    WHERE id = ${id}`.execute(uswarm.database);
  return (await user.get<{ data: Export }>(`/v1/users/exports/${id}`)).body.data;
}

/** As if the workspace had been imported, long enough ago for another import. */
async function storeImport(uswarm: TestOrchestrator, user: TestUser, { workspaceId }: Home): Promise<string> {
  const id = randomUUIDv7();
  await sql`
    INSERT INTO imports (id, user_id, status, workspace_id, created_at, expires_at)
    VALUES (${id}, ${await uswarm.idOf(user)}, 'done', ${workspaceId}, now() - interval '2 hours', now() + interval '7 days')`.execute(
    uswarm.database,
  );
  return id;
}

/** Stores a completed reply in a separate conversation and removes its turn's job. */
async function storeReply({ database }: TestOrchestrator, user: TestUser, home: Home): Promise<string> {
  const path = `${home.workspace}/conversations`;
  const { body: made } = await user.post<{ data: Conversation }>(path, { type: 'swarm' }, 201);
  const conversationId = made.data.id;
  const content = { type: 'text', text: 'Is there any tea?' };
  const { body } = await user.post<{ data: MessageData }>(`${path}/${conversationId}/messages`, { content }, 201);
  const stores = createStores(database);
  const id = randomUUIDv7();
  const turn = await database
    .selectFrom('turns')
    .selectAll()
    .where('user_message_id', '=', body.data.id)
    .executeTakeFirstOrThrow();
  await database.transaction().execute(async (tx) => {
    await stores.jobs.remove('turn', [turn.id], tx);
    const place = { workspaceId: home.workspaceId, conversationId, agentId: turn.agent_id };
    const answer = { type: 'text', text: 'There is.' } as const;
    const reply = { id, ...place, role: 'agent', content: answer, status: 'delivered' } as const;
    await stores.events.addMessage(reply, withoutAfterCommit(tx));
    await startTurn(tx, turn.id, { replyId: id, budget: null });
    await finishTurn(tx, turn.id, { status: 'done', errorCode: null });
  });
  return id;
}

/** Stores an agent's action card without a chosen action. */
/** A card that waits until a later message of the user. */
export async function storeCard({ database }: TestOrchestrator, home: Home, agentId: string): Promise<string> {
  const stores = createStores(database);
  const id = randomUUIDv7();
  const { workspaceId, conversationId } = home;
  await database.transaction().execute(async (tx) => {
    await stores.events.addMessage(
      {
        id,
        workspaceId,
        conversationId,
        role: 'agent',
        agentId,
        status: 'delivered',
        content: {
          type: 'action_card',
          title: 'Book the table?',
          description: 'Tonight at eight, for two.',
          actions: [
            { id: 'yes', label: 'Yes', style: 'primary' },
            { id: 'no', label: 'No', style: 'secondary' },
          ],
        },
      },
      withoutAfterCommit(tx),
    );
    // As a turn's card would have.
    await tx.updateTable('messages').set({ answer_turn_id: id, in_reply_to: id }).where('id', '=', id).execute();
  });
  return id;
}
