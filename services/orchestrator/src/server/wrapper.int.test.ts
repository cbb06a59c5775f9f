import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Export, type MessageData, type OperationId, ROUTES, type RouteDefinition } from '@uswarm/contract';
import { z } from 'zod';
import { storeArtifact } from '../../test/artifacts.js';
import { storeReceipt } from '../../test/receipts.js';
import { connectServer, type ProviderServers, startProviderServers } from '../../test/integrations.js';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../test/test-orchestrator.js';
import { END } from '../../test/message-client.js';
import { createTestTurnWorker } from '../../test/turn-fixture.js';
import { createSchedule, schedulesOf, WEEKDAYS } from '../../test/schedules.js';
import { createTrigger, ISSUES, triggersOf } from '../../test/triggers.js';
import { createWebhook } from '../../test/webhooks.js';
import { beginImport, IMPORTS } from '../../test/swarm-files.js';
import { storeWorkflow } from '../../test/workflows.js';
import { formOf, UPLOADS } from '../../test/uploads.js';

/** The exceptions: CONV-005. */
const UNWRAPPED: string[] = ['connectIntegration', 'setPushToken'];
/** Files and documents have no wrapper. */
const DOWNLOADS: string[] = [
  'getUpload',
  'getExportArchive',
  'getArtifactFile',
  'getOpenApi',
  'getAsyncApi',
  'getAsset',
  'listReceiptKeys',
];

const routes: readonly RouteDefinition[] = ROUTES;

const answering = routes.filter(
  ({ operationId, responses }) =>
    !DOWNLOADS.includes(operationId) && Object.values(responses).some(({ schema }) => schema !== null),
);

describe('the body of a successful response', () => {
  let server: ProviderServers;
  let uswarm: TestOrchestrator;
  let user: TestUser;
  let home: Home;
  let agent: string;
  beforeAll(async () => {
    server = await startProviderServers();
    uswarm = await startTestOrchestrator({ environment: server.environment });
    user = await uswarm.user();
    home = await uswarm.home(user);
    agent = `/v1/agents/${home.agents[1]?.id}`;
  });
  afterAll(async () => {
    await uswarm.close();
    await server.close();
  });

  const say = () => user.post<{ data: MessageData }>(home.messages, { content: { type: 'text', text: 'hi' } }, 201);
  const said = async (): Promise<string> => `${home.workspace}/messages/${(await say()).body.data.id}`;
  /** Empties the queue, so that the next queued turn is claimed next. */
  const clearQueue = () => uswarm.database.deleteFrom('work').where('kind', '=', 'turn').execute();
  /** Completes another user's turn and regenerates its reply. */
  async function regenerated() {
    await clearQueue();
    const other = await uswarm.user();
    const { messages, workspace } = await uswarm.home(other);
    await other.post(messages, { content: { type: 'text', text: 'why?' } }, 201);
    const turnWorker = createTestTurnWorker(uswarm.database);
    const writer = await turnWorker.writerOf(await turnWorker.claim());
    const { replyId } = await writer.begin();
    await writer.finish(END);
    return other.post(`${workspace}/messages/${replyId}/regenerate`, undefined, 200);
  }
  async function chosen() {
    await clearQueue();
    await say();
    const writer = await createTestTurnWorker(uswarm.database).writerOf(
      await createTestTurnWorker(uswarm.database).claim(),
    );
    await writer.begin();
    const actions = [{ id: 'a', label: 'A', style: 'primary' as const }];
    await writer.offer('k', { type: 'action_card', title: 't', description: '', actions });
    const { id } = await uswarm.database
      .selectFrom('messages')
      .select('id')
      .where('turn_key', '=', 'message:k')
      .executeTakeFirstOrThrow();
    return user.post(`${home.workspace}/messages/${id}/action`, { action_id: 'a' }, 200);
  }

  async function steps() {
    const { id } = (await say()).body.data;
    const turn = await uswarm.database
      .selectFrom('turns')
      .select('id')
      .where('user_message_id', '=', id)
      .executeTakeFirstOrThrow();
    return user.get(`/v1/conversations/${home.conversationId}/turns/${turn.id}/steps`);
  }

  async function schedulePath(): Promise<string> {
    return `${schedulesOf(home)}/${(await createSchedule(user, home)).id}`;
  }

  async function triggerPath(): Promise<string> {
    return `${triggersOf(home)}/${(await createTrigger(user, home)).id}`;
  }

  const webhooks = () => `${home.workspace}/webhooks`;
  async function webhook(): Promise<{ path: string; delivery: string }> {
    const { id, deliveryId } = await createWebhook(uswarm, user, home);
    return { path: `${webhooks()}/${id}`, delivery: `${webhooks()}/${id}/deliveries/${deliveryId}` };
  }

  const calls: Partial<Record<OperationId, () => Promise<{ body: unknown }>>> = {
    getHealth: () => user.get('/v1/health'),
    listModels: () => user.get('/v1/models'),
    getLegal: () => user.get('/v1/legal'),
    setPushToken: () => user.post('/v1/push-token', { push_token: 't' }, 200),
    getPushSettings: () => user.get('/v1/push-settings'),
    createUpload: async () => user.raw({ method: 'POST', path: UPLOADS, ...(await formOf({ content: 'x' })) }),
    getProfile: () => user.get('/v1/users/profile'),
    createExport: () => user.post('/v1/users/export', undefined, 202),
    listExports: () => user.get('/v1/users/exports'),
    createWorkspaceExport: () => user.post(`${home.workspace}/export`, undefined, 202),
    listWorkspaceExports: () => user.get(`${home.workspace}/exports`),
    createWorkspaceImport: async () => user.raw({ method: 'POST', path: IMPORTS, ...(await formOf({ content: 'x' })) }),
    getWorkspaceImport: async () => {
      const other = await uswarm.user();
      return other.get(`${IMPORTS}/${(await beginImport(other, Buffer.from('x'))).id}`);
    },
    getExport: async () => {
      const { body } = await user.post<{ data: Export }>('/v1/users/export', undefined, 202);
      return user.get(`/v1/users/exports/${body.data.id}`);
    },
    getUserLegal: () => user.get('/v1/users/legal'),
    getUsageSummary: () => user.get('/v1/users/usage/summary'),
    listWorkspaces: () => user.get('/v1/workspaces'),
    createWorkspace: () => user.post('/v1/workspaces', { name: 'x' }, 201),
    getWorkspace: () => user.get(home.workspace),
    updateWorkspace: () => user.patch(home.workspace, { name: 'y' }, 200),
    getWorkspaceUsage: () => user.get(`${home.workspace}/usage`),
    getUsageReport: () => user.get(`${home.workspace}/usage/report`),
    getWorkspaceBudget: () => user.get(`${home.workspace}/budget`),
    updateWorkspaceBudget: () => user.patch(`${home.workspace}/budget`, { monthly_tokens: 1_000_000 }, 200),
    listWorkspaceEvents: () => user.get(`${home.workspace}/events`),
    listAgents: () => user.get(`${home.workspace}/agents`),
    createAgent: () => user.post(`${home.workspace}/agents`, { name: 'x' }, 201),
    getAgent: () => user.get(agent),
    updateAgent: () => user.patch(agent, { name: 'y' }, 200),
    getAgentDetails: () => user.get(`${agent}/details`),
    getAgentHistory: () => user.get(`${agent}/history`),
    getAgentSettings: () => user.get(`${agent}/settings`),
    updateAgentSettings: () => user.patch(`${agent}/settings`, { model: 'opus' }, 200),
    listAgentTools: () => user.get(`${agent}/tools`),
    updateAgentTool: () => user.patch(`${agent}/tools/memories`, { enabled: true }, 200),
    listAgentMemories: () => user.get(`${agent}/memories`),
    createAgentMemory: () => user.post(`${agent}/memories`, { key: 'k', content: 'c' }, 200),
    updateAgentMemory: () =>
      user.patch(`${home.workspace}${agent.slice('/v1'.length)}/memories/k`, { content: 'd' }, 200),
    listArtifacts: () => user.get(`${home.workspace}/artifacts`),
    getArtifact: async () =>
      user.get(`${home.workspace}/artifacts/${await storeArtifact(uswarm, home, 'List', ['- tea'])}`),
    listSchedules: () => user.get(schedulesOf(home)),
    createSchedule: () => user.post(schedulesOf(home), WEEKDAYS, 201),
    getSchedule: async () => user.get(await schedulePath()),
    updateSchedule: async () => user.patch(await schedulePath(), { title: 'News' }, 200),
    pauseSchedule: async () => user.post(`${await schedulePath()}/pause`, undefined, 200),
    resumeSchedule: async () => user.post(`${await schedulePath()}/resume`, undefined, 200),
    runSchedule: async () => user.post(`${await schedulePath()}/run`, undefined, 201),
    listScheduleRuns: async () => user.get(`${await schedulePath()}/runs`),
    listTriggers: () => user.get(triggersOf(home)),
    createTrigger: () => user.post(triggersOf(home), ISSUES, 201),
    getTrigger: async () => user.get(await triggerPath()),
    updateTrigger: async () => user.patch(await triggerPath(), { title: 'Bugs' }, 200),
    pauseTrigger: async () => user.post(`${await triggerPath()}/pause`, undefined, 200),
    resumeTrigger: async () => user.post(`${await triggerPath()}/resume`, undefined, 200),
    rotateTriggerUrl: async () => user.post(`${await triggerPath()}/url`, undefined, 200),
    setTriggerSigning: async () => user.post(`${await triggerPath()}/signing-secret`, {}, 200),
    listTriggerRuns: async () => user.get(`${await triggerPath()}/runs`),
    listWebhooks: () => user.get(webhooks()),
    createWebhook: () => user.post(webhooks(), { url: 'https://hooks.example.com/' }, 201),
    updateWebhook: async () => user.patch((await webhook()).path, { state: 'paused' }, 200),
    rotateWebhookSecret: async () => user.post(`${(await webhook()).path}/secret`, {}, 200),
    testWebhook: async () => user.post(`${(await webhook()).path}/test`, undefined, 200),
    listWebhookDeliveries: async () => user.get(`${(await webhook()).path}/deliveries`),
    replayWebhookDelivery: async () => user.post(`${(await webhook()).delivery}/replay`, undefined, 202),
    replayWebhook: async () =>
      user.post(`${(await webhook()).path}/replay`, { since: '2026-11-30T00:00:00.000Z' }, 202),
    listWorkflows: () => user.get(`${home.workspace}/workflows`),
    getWorkflow: async () => user.get(`${home.workspace}/workflows/${await storeWorkflow(uswarm, home)}`),
    listApiTokens: () => user.get('/v1/api-tokens'),
    createApiToken: () => user.post('/v1/api-tokens', { name: 'CI', scopes: ['read'] }, 201),
    listReceipts: () => user.get('/v1/receipts'),
    getReceipt: async () => user.get(`/v1/receipts/${await storeReceipt(uswarm, home)}`),
    listConversations: () => user.get(`${home.workspace}/conversations`),
    createConversation: () => user.post(`${home.workspace}/conversations`, { type: 'swarm' }, 201),
    getConversation: () => user.get(home.conversation),
    updateConversation: () => user.patch(home.conversation, { title: 't' }, 200),
    listMessages: () => user.get(home.messages),
    searchMessages: () => user.get(`${home.messages}/search?q=hi`),
    sendMessage: say,
    getMessage: async () => user.get(await said()),
    editMessage: async () => user.patch(await said(), { content: { type: 'text', text: 'hello' } }, 200),
    regenerateMessage: regenerated,
    chooseAction: chosen,
    listOpenCards: () => user.get('/v1/open-cards'),
    listTurnSteps: steps,
    listIntegrations: () => user.get('/v1/integrations'),
    connectIntegration: () => user.post('/v1/integrations/connect', { provider: 'gmail' }, 200),
    listToolServers: () => user.get('/v1/tool-servers'),
    addToolServer: () => user.post('/v1/tool-servers', { name: 'Wiki', url: server.wiki.url }, 201),
    connectToolServer: () => user.post('/v1/tool-servers/linear/connect', undefined, 200),
    listServerTools: async () => {
      const userId = await uswarm.idOf(user);
      await connectServer(user, server.accounts, { database: uswarm.database, userId });
      return user.get('/v1/tool-servers/linear/tools');
    },
  };
  const keys = async (operation: string) => {
    const call = calls[operation as OperationId];
    if (call === undefined) throw new Error(`this test has no call of ${operation}`);
    return Object.keys((await call()).body as object).toSorted();
  };

  it('CONV-005 a body has the result under data, and pagination if it is a paged list', async () => {
    const wrapped = answering.filter(({ operationId }) => !UNWRAPPED.includes(operationId));
    for (const { operationId } of wrapped) {
      const paged =
        /Messages$|History$|^listConversations$|^list(Artifacts|OpenCards|Receipts|TurnSteps|Schedules|Triggers|WebhookDeliveries|Workflows)$|^getUsageReport$/.test(
          operationId,
        );
      const beside = paged ? ['pagination'] : operationId === 'listWorkspaceEvents' ? ['has_next'] : [];
      const expected = ['data', ...beside];
      expect({ operationId, keys: await keys(operationId) }).toEqual({ operationId, keys: expected });
    }
  });

  it('CONV-005 the bodies of setPushToken and connectIntegration have no wrapper', async () => {
    expect(await keys('setPushToken')).toEqual(['success']);
    expect(await keys('connectIntegration')).toEqual(
      [
        'additional_parameters',
        'authorization_endpoint',
        'client_id',
        'redirect_url',
        'scopes',
        'token_endpoint',
      ].toSorted(),
    );
  });

  it('the contract documents the same exceptions', () => {
    const documented = answering.flatMap(({ operationId, responses }) =>
      Object.values(responses).flatMap(({ schema }) =>
        schema instanceof z.ZodObject && !Object.hasOwn(schema.shape, 'data') ? [operationId] : [],
      ),
    );
    expect(documented.toSorted()).toEqual(UNWRAPPED);
  });
});
