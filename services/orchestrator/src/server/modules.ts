import { modelCallsKeys, type OrchestratorConfig } from '../config.js';
import { createBoundedRead } from '../platform/database/bounded-read.js';
import { connectionsOf } from '../platform/database/databases.js';
import { createReadPosition } from '../events/position-header.js';
import { createStandbyReads } from '../platform/database/standby-reads.js';
import { createAccountModule } from '../accounts/account/account.module.js';
import { createAdminModule } from '../accounts/admin/admin.module.js';
import { createFileWriter } from '@uswarm/file-writer';
import { createArtifactsModule } from '../workspaces/artifacts/artifacts.module.js';
import { createFilesModule } from '../workspaces/files/files.module.js';
import { createAgentStatuses } from '../records/agent-statuses.js';
import { createAgentsModule } from '../workspaces/agents/agents.module.js';
import { createApiTokensModule } from '../accounts/api-tokens/api-tokens.module.js';
import { createAuthModule } from '../accounts/auth/auth.module.js';
import { createSessionRevocationPublisher } from '../accounts/auth/session-revocation-publisher.js';
import { createToolServers } from '../apps/tool-servers/tool-servers.js';
import { loadToolServers } from '../apps/tool-servers/tool-servers-file.js';
import { createToolServersModule } from '../apps/tool-servers/tool-servers.module.js';
import { createConnectedApps } from '../apps/connected-apps/connected-apps.module.js';
import { createConversationSearchTool } from '../chat/conversation-search.js';
import { createConversationsModule } from '../chat/conversations.module.js';
import { createCoreModule } from '../platform/core/core.module.js';
import { createDevicesModule } from '../accounts/devices/devices.module.js';
import { createDoorsModule } from '../doors/doors.module.js';
import { createEventsModule } from '../events/events.module.js';
import { createExportsModule } from '../accounts/exports/exports.module.js';
import { createImportsModule } from '../accounts/imports/imports.module.js';
import { createIdempotencyModule } from '../platform/idempotency/idempotency.module.js';
import { createIntegrationsModule } from '../apps/integrations/integrations.module.js';
import { createLegalModule } from '../accounts/legal/legal.module.js';
import { createCursorCodec } from '../records/cursor.js';
import type { CreateViewContext } from '../chat/message-view.js';
import { createMessagesModule } from '../chat/messages.module.js';
import { createRunStart } from '../chat/schedules/run-start.js';
import { createTriggersModule } from '../chat/triggers/triggers.module.js';
import { createSchedulesModule, createScheduleToolsOn } from '../chat/schedules/schedules.module.js';
import type { UserMessages } from '../chat/user-messages.js';
import type { PlatformTool } from '../turns/tools/platform-tool.js';
import { createModelCallsModule } from '../turns/model-calls/model-calls.module.js';
import { createPushModule } from '../accounts/push/push.module.js';
import { createReceiptsModule } from '../turns/receipts.module.js';
import { createRuntimesModule } from '../runtimes/runtimes.module.js';
import { createStepsModule } from '../turns/steps/steps.module.js';
import { createSummariesModule } from '../turns/summaries.module.js';
import { createTurnsModule } from '../turns/turns.module.js';
import { createTranscriptsModule, transcriptionPrice } from '../workspaces/transcripts/transcripts.module.js';
import { createUploadsModule } from '../workspaces/uploads/uploads.module.js';
import { createUsageModule } from '../metering/usage.module.js';
import { createUsersModule } from '../accounts/users/users.module.js';
import { createWebhooksModule } from '../events/webhooks/webhooks.module.js';
import { createWorkflowsModule } from '../turns/workflows/workflows.module.js';
import { createWorkspacesModule } from '../workspaces/workspaces.module.js';
import { createPlatform, type OrchestratorOptions, type Platform, readFirst } from './platform.js';

export type Modules = Awaited<ReturnType<typeof createModules>>;

/** No worker runs yet, so a failure leaves no work behind. */
export async function createModules(options: OrchestratorOptions) {
  const platform = createPlatform(options);
  await readFirst(options, platform);
  const legal = await createLegalModule({ config: options.config, database: platform.requests.database });
  const integrations = await createIntegrationModules(options, platform);
  const workspaces = await createWorkspaceModules(options, platform);
  const chat = createChatModules(options, platform, workspaces, integrations);
  const webhooks = createWebhooks(options, platform, workspaces, integrations);
  const users = createUserModules(options, platform, workspaces, integrations, chat);
  const doors = createDoorsModule({
    config: options.config,
    version: options.version,
    logger: options.logger,
    bus: options.bus,
    workspaces: workspaces.workspaces.service,
    agents: chat.agents.service,
    conversations: chat.conversations.service,
    messages: chat.messages.service,
    actions: chat.messages.actions,
    artifacts: chat.artifacts.service,
    receiveTrigger: chat.triggers.receive,
    events: workspaces.replay.service,
    subscriptions: workspaces.replay.subscriptions,
    readPosition: workspaces.replay.readPosition,
    database: platform.requests.database,
  });
  return { platform, legal, integrations, workspaces, chat, webhooks, users, doors };
}

/** The users' connections to other apps, and the tools for these apps. */
async function createIntegrationModules({ config, metrics, version, logger }: OrchestratorOptions, platform: Platform) {
  const { requests, background, clock, assets, reader } = platform;
  const operators = loadToolServers(config.TOOL_SERVERS_FILE);
  const servers = createToolServers({ operators, config, database: background.database });
  const integrations = await createIntegrationsModule({
    config,
    assets,
    servers,
    serverItems: (userId, connections) => toolServers.items(userId, connections),
    stateSecret: config.CURSOR_KEY,
    connections: requests,
    metrics,
    clock,
    logger,
  });
  const { database } = background;
  const { providers: clients, accessTokens } = integrations;
  const { proxy } = config;
  const toolServers = createToolServersModule({
    servers,
    config,
    background,
    accessTokens: accessTokens(database),
    integrations: integrations.service,
    appNames: integrations.names,
    assets,
    reader,
    version,
    logger,
  });
  return {
    ...integrations,
    toolServers,
    apps: createConnectedApps({ clients, accessTokens: accessTokens(database), proxy, database }),
  };
}

type IntegrationModules = Awaited<ReturnType<typeof createIntegrationModules>>;

async function createWorkspaceModules(options: OrchestratorOptions, platform: Platform) {
  const { config, environment, metrics, logger } = options;
  const { requests, background, publisher, clock, plans, assets } = platform;
  const { database, jobs } = requests;
  const usage = createUsageModule({ config, database, plans, clock });
  const idempotency = createIdempotencyModule({ database, clock, logger });
  const uploads = await createUploadsModule({
    config,
    connections: requests,
    idempotency: idempotency.service,
    metrics,
    clock,
    logger,
  });
  const { attachments } = uploads;
  const createViewContext: CreateViewContext = () => ({
    now: clock.now(),
    avatar: assets.avatarOf,
    attachment: attachments.render,
  });
  const { epochs, turnSignals } = platform;
  const replay = createEventsModule({
    config,
    connections: requests,
    epochs,
    turnSignals,
    createViewContext,
    clock,
    logger,
  });
  const runtimes = await createRuntimesModule({
    config,
    environment,
    ownsRuntimes: options.ownsRuntimes ?? false,
    database,
    jobs,
    background,
    publisher,
    metrics,
    clock,
    logger,
  });
  const workspaces = createWorkspacesModule({
    config,
    connections: requests,
    replay: replay.service,
    runtimes: runtimes.requests,
    bus: options.bus,
    idempotency: idempotency.service,
    clock,
  });
  return { usage, idempotency, uploads, createViewContext, replay, runtimes, workspaces };
}

type WorkspaceModules = Awaited<ReturnType<typeof createWorkspaceModules>>;

/** Documents and files, which agents read and write besides messages. */
function createDocumentModules(
  { config, metrics, logger }: OrchestratorOptions,
  { requests, background, reader }: Platform,
  { objects, attachments }: WorkspaceModules['uploads'],
  access: WorkspaceModules['workspaces']['access'],
) {
  const writer = createFileWriter();
  const artifacts = createArtifactsModule({ config, requests, background, objects, access, writer });
  const { events } = background;
  const transcripts = createTranscriptsModule({ config, background, objects, metrics, logger });
  const files = createFilesModule({
    config,
    background,
    events,
    objects,
    attachments,
    transcripts: transcripts.transcripts,
    reader,
    writer,
    artifactById: artifacts.byId,
    logger,
  });
  return { artifacts, transcripts, files };
}

function createWebhooks(
  { config, version, metrics, logger }: OrchestratorOptions,
  { requests, background, jobSignals, webhookTrigger: trigger, clock }: Platform,
  { workspaces: { access }, createViewContext }: WorkspaceModules,
  { cipher }: IntegrationModules,
) {
  return createWebhooksModule({
    config,
    requests,
    background,
    jobSignals,
    access,
    cipher,
    createViewContext,
    trigger,
    version,
    metrics,
    clock,
    logger,
  });
}

function createCallModule(
  { config }: OrchestratorOptions,
  { requests, models, clock }: Platform,
  { limits }: WorkspaceModules['usage'],
  { metrics }: ReturnType<typeof createTurnsModule>,
) {
  return createModelCallsModule({
    keys: modelCallsKeys(config),
    connections: requests,
    limits,
    models,
    transcriptionPrice: transcriptionPrice(config),
    metrics,
    clock,
  });
}

function createReadFromStandby(
  { metrics, logger }: Pick<OrchestratorOptions, 'metrics' | 'logger'>,
  { requests, databases: { standby }, epochs }: Pick<Platform, 'requests' | 'databases' | 'epochs'>,
) {
  return createStandbyReads({
    primary: requests.database,
    ...(standby !== undefined && {
      standby: { database: standby, readPosition: createReadPosition(standby, epochs.standby) },
    }),
    metrics,
    logger,
  });
}

function createChatModules(
  options: OrchestratorOptions,
  platform: Platform,
  { usage, idempotency, uploads, createViewContext, runtimes, workspaces }: WorkspaceModules,
  { apps, toolServers, cipher }: IntegrationModules,
) {
  const { config, environment, metrics, logger } = options;
  const { requests, background, publisher, clock, plans, models, rates, assets } = platform;
  const { attachments } = uploads;
  const { access } = workspaces;
  const cursors = createCursorCodec(config.CURSOR_KEY, config.CURSOR_KEY_PREVIOUS);
  const statuses = createAgentStatuses({ publish: publisher.live, clock });
  const agents = createAgentsModule({
    config,
    environment,
    models,
    requests,
    background,
    idempotency: idempotency.service,
    access,
    cursors,
    assets,
    createViewContext,
    statuses,
    serverTools: toolServers.tools,
  });
  const { artifacts, transcripts, files } = createDocumentModules(options, platform, uploads, access);
  const receipts = createReceiptsModule({ config, requests, background, tools: apps.tools, clock, logger });
  const chatTools = createChatTools(config, platform);
  const turns = createTurnsModule({
    turnSignals: platform.turnSignals,
    config,
    requests,
    background,
    publisher,
    limits: usage.limits,
    plans,
    models,
    access,
    client: runtimes.client,
    platformTools: [...agents.tools, ...chatTools, ...artifacts.tools, ...files.tools, ...apps.tools],
    serverTools: toolServers.tools,
    receipts: receipts.log,
    createViewContext,
    statuses,
    objects: uploads.objects,
    files: files.contents,
    transcripts: transcripts.transcripts,
    attachmentsIn: files.attachmentsIn,
    attachedTexts: files.attachedTexts,
    metrics,
    clock,
    logger,
  });
  const steps = createStepsModule({ config, requests, objects: uploads.objects, tools: turns.tools, logger });
  const workflows = createWorkflowsModule({ config, requests, cancellation: turns.workflows, access });
  const summaries = createSummariesModule({
    config,
    background,
    plans,
    models,
    client: runtimes.client,
    metrics: turns.metrics,
    clock,
  });
  const conversations = createConversationsModule({
    config,
    connections: requests,
    access,
    idempotency: idempotency.service,
    stopInRuntime: turns.stopInRuntime,
    statuses,
    createViewContext,
  });
  const messages = createMessagesModule({
    config,
    connections: requests,
    readFromStandby: createReadFromStandby(options, platform),
    requestConnections: connectionsOf(config).requests,
    runtimes: runtimes.requests,
    limits: usage.limits,
    queue: turns.queue,
    tasks: turns.tasks,
    stops: turns.stops,
    stopInRuntime: turns.stopInRuntime,
    statuses,
    turnMetrics: turns.metrics,
    turnSignals: platform.turnSignals,
    rates,
    attachments,
    access,
    cursors,
    createViewContext,
  });
  const runs = createRuns(options, platform, { idempotency, access, attachments, files, cipher }, messages.messages);
  const modelCalls = createCallModule(options, platform, usage, turns);
  return {
    turns,
    steps,
    workflows,
    summaries,
    agents,
    artifacts,
    transcripts,
    files,
    receipts,
    conversations,
    messages,
    ...runs,
    modelCalls,
  };
}

function createChatTools(
  config: OrchestratorConfig,
  { background, clock }: Pick<Platform, 'background' | 'clock'>,
): PlatformTool[] {
  const read = createBoundedRead(background.database);
  return [
    createConversationSearchTool({ read, timeoutMs: config.SEARCH_TIMEOUT_MS }),
    ...createScheduleToolsOn({ config, background, clock }),
  ];
}

/** Schedules and triggers. */
function createRuns(
  { config, metrics, logger }: OrchestratorOptions,
  { requests, clock, rates }: Platform,
  {
    idempotency: { service: idempotency },
    access,
    attachments,
    files,
    cipher,
  }: Pick<WorkspaceModules, 'idempotency'> &
    Pick<WorkspaceModules['workspaces'], 'access'> &
    Pick<WorkspaceModules['uploads'], 'attachments'> &
    Pick<ReturnType<typeof createDocumentModules>, 'files'> &
    Pick<IntegrationModules, 'cipher'>,
  messages: UserMessages,
) {
  const { events } = requests;
  const runs = createRunStart({ events, messages, conversationsPerWorkspace: config.CONVERSATIONS_PER_WORKSPACE });
  const shared = { config, requests, messages, runs, idempotency, rates, access, clock, logger };
  return {
    schedules: createSchedulesModule(shared),
    triggers: createTriggersModule({ ...shared, storeFile: files.store, attachments, cipher, metrics }),
  };
}

function createUserModules(
  options: OrchestratorOptions,
  platform: Platform,
  { runtimes, uploads, workspaces }: WorkspaceModules,
  integrations: IntegrationModules,
  { receipts, steps }: ReturnType<typeof createChatModules>,
) {
  const { config, metrics, logger } = options;
  const { requests, background, clock, plans, models, assets, identityHash, security, sourceName } = platform;
  const { database, withTransaction } = requests;
  const { version, bypass } = options;
  const core = createCoreModule({ config, version, database, assets, models, clock, bypass: bypass !== undefined });
  const users = createUsersModule({ connections: requests, plans, clock });
  const devices = createDevicesModule({ config, database, clock, logger });
  const push = createPushModule({ config, connections: requests, metrics, clock, logger });
  const exports = createExportsModule({
    config,
    connections: requests,
    access: workspaces.access,
    objects: uploads.objects,
    profile: users.service.profile,
    receipts: receipts.service,
    steps: steps.service,
    clock,
  });
  const imports = createImportsModule({
    config,
    requests,
    background,
    objects: uploads.objects,
    runtimes: runtimes.requests,
    announce: workspaces.announce,
    clock,
    logger,
  });
  const sessionEnds = createSessionRevocationPublisher(options.bus);
  const account = createAccountModule({
    config,
    connections: requests,
    runtimes: runtimes.requests,
    integrations: integrations.service,
    sessionEnds,
    provision: workspaces.provision,
    identityHash,
    clock,
  });
  const apiTokens = createApiTokensModule({ config, connections: requests, sessionEnds, clock });
  const auth = createAuthModule({
    config,
    connections: requests,
    users: { wasDeleted: account.service.wasDeleted, ensure: account.service.signUp },
    devices: devices.service,
    identityHash,
    security,
    bypass,
    metrics,
    clock,
    logger,
  });
  const admin = createAdminModule({
    config,
    database,
    withTransaction,
    jobSignals: platform.jobSignals,
    runtimes: runtimes.requests,
    sessionEnds,
    plans,
    epochs: platform.epochs,
    toolReview: integrations.toolServers.operatorReview,
    steps: steps.service,
    exports: exports.service,
    issuerAccess: auth.issuerAccess,
    security,
    sourceName,
    clock,
    logger,
  });
  return { core, users, devices, push, exports, imports, account, apiTokens, auth, admin };
}
