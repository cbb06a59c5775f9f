import type { Clock, Logger, Registry } from '@uswarm/service-kit';
import type { OrchestratorConfig } from '../config.js';
import type { Connections } from '../records/connections.js';
import type { UrgentJobDefinition } from '../platform/jobs/job-definition.js';
import { agentRemoval } from './agent-removal.js';
import { createAgentContextLoader } from './request/agent-context.js';
import type { AgentStatuses } from '../records/agent-statuses.js';
import { loadTools } from '../platform/core/catalog.js';
import type { ModelCatalog } from '../platform/core/models.js';
import type { AttachmentsIn, FileContents, Transcripts } from './request/attached-files.js';
import { createDelegationTools } from './delegations/delegation-tools.js';
import type { EventPublisher } from '../events/event-publisher.js';
import type { ReceiptLog } from './receipts/receipt-log.js';
import type { CreateViewContext } from '../chat/message-view.js';
import { createModelTokens } from './model-calls/model-tokens.js';
import type { Plans } from '../metering/plans.js';
import type { RuntimeClient } from '../runtimes/runtime-client.js';
import { createToolTokens } from '../records/tool-tokens.js';
import { type CallRulesDeps, createCallRules } from './tools/call-rules.js';
import type { PlatformTool, ServerTools } from './tools/platform-tool.js';
import { createFollowUps } from './summaries/follow-ups.js';
import { createUsageLimits, type UsageLimits } from '../metering/usage-limits.js';
import { createBudgetWarningOn } from '../metering/usage.module.js';
import { createContentObjects } from '../records/content-objects.js';
import type { ObjectStore } from '../records/object-store.js';
import { type Tasks, tasksOf } from './workflows/create-tasks.js';
import { createWorkflowCancellation } from './workflows/workflow-cancellation.js';
import { createWorkflowReports } from './workflows/workflow-reports.js';
import { createWorkflowTools } from './workflows/workflow-tools.js';
import type { WorkspaceAccess } from '../workspaces/workspace-access.js';
import type { TurnSignals } from './turn-signals.js';
import { createRuntimeTurnCancellation } from './cancel-runtime-turn.js';
import { createStopService } from './stop.service.js';
import { createJournalBodies, JOURNAL_OBJECT_JOB } from './journal/journal-bodies.js';
import { journalJobs } from './journal/journal-retention.js';
import { createSafeMarkdown } from './content/reply-text.js';
import { createTurnMetrics, type TurnMetrics } from './turn-metrics.js';
import { createTurnQueue } from './turn-queue.js';
import { TURN_JOB } from '../records/turn-job.js';
import { createTurnWorker } from './worker.js';
import { createTurnProgress } from './reply/turn-progress.store.js';
import * as delegationRecords from './delegations/delegations.store.js';
import * as turnRecords from './turns.store.js';
import * as journalRecords from './journal/journal.store.js';
import * as toolCallRecords from './tools/tool-calls.store.js';
import * as approvalRecords from '../records/approvals.store.js';
import * as untrustedContentRecords from './tools/untrusted-content.store.js';
import * as reservationRecords from '../metering/reservations.store.js';
import * as messageRecords from '../records/messages.store.js';
import * as userRecords from '../records/users.store.js';
import * as runtimeRecords from '../records/runtimes.store.js';
import * as turnContextRecords from './request/turn-contexts.store.js';
import * as summaryRecords from './summaries/summaries.store.js';
import * as agentSettingsRecords from '../records/agent-settings.store.js';
import * as memoryRecords from '../records/memories.store.js';
import * as integrationRecords from '../records/integrations.store.js';

export interface TurnsModuleDeps {
  config: OrchestratorConfig;
  requests: Connections;
  background: Connections;
  turnSignals: TurnSignals;
  publisher: Pick<EventPublisher, 'live'>;
  /** Uses the request connections. */
  limits: UsageLimits;
  plans: Plans;
  models: ModelCatalog;
  access: WorkspaceAccess;
  client: RuntimeClient;
  platformTools: readonly PlatformTool[];
  serverTools: ServerTools;
  receipts: ReceiptLog;
  createViewContext: CreateViewContext;
  statuses: AgentStatuses;
  objects: ObjectStore;
  files: FileContents;
  transcripts: Transcripts;
  attachmentsIn: AttachmentsIn;
  /** A conversation's file texts. */
  attachedTexts: CallRulesDeps['attachedTexts'];
  metrics: Registry;
  clock: Clock;
  logger: Logger;
}

export function createTurnsModule(deps: TurnsModuleDeps) {
  const { requests, background, limits, client, clock, logger } = deps;
  const { statuses } = deps;
  const publish = deps.publisher.live;
  const backgroundLimits = createUsageLimits({
    database: background.database,
    plans: deps.plans,
    clock,
  });
  const markdown = createSafeMarkdown(deps.config.PUBLIC_URL);
  const shared = { statuses, markdown, publish, clock };
  const inBackground = {
    limits: backgroundLimits,
    tasks: tasksOf({
      ...shared,
      connections: background,
      limits: backgroundLimits,
      push: background.push,
    }),
  };
  const platformTools = [
    ...deps.platformTools,
    ...createDelegationTools({
      database: background.database,
      delegations: inBackground.tasks.delegations,
      createViewContext: deps.createViewContext,
      attachmentsIn: deps.attachmentsIn,
    }),
    ...createWorkflowTools({
      database: background.database,
      workflows: inBackground.tasks.workflows,
    }),
  ];
  const turnMetrics = createTurnMetrics(deps.metrics, {
    tools: [...loadTools(deps.config), ...platformTools].map(({ name }) => name),
    clock,
  });
  const stopInRuntime = createRuntimeTurnCancellation(background.database, client, deps.turnSignals, logger);
  const tasks = tasksOf({ ...shared, connections: requests, limits, push: requests.push });
  const workflows = createWorkflowCancellation({
    withTransaction: requests.withTransaction,
    database: requests.database,
    workflows: tasks.workflows,
    jobs: requests.jobs,
    stopInRuntime,
  });
  const queue = createTurnQueue(requests.jobs, limits);
  const stops = createStopService({
    delegations: delegationRecords,
    tasks: { ...tasks.owners, stopSuspended: tasks.delegations.stopSuspended },
    workflows,
    queue,
    withTransaction: requests.withTransaction,
    withStatement: requests.withStatement,
    jobs: requests.jobs,
    database: requests.database,
    turns: turnRecords,
    journal: journalRecords,
    toolCalls: toolCallRecords,
    approvals: approvalRecords,
    receipts: deps.receipts,
    progress: createTurnProgress(requests.database),
    untrusted: untrustedContentRecords,
    push: requests.push,
    markdown,
    reservations: reservationRecords,
    statuses: deps.statuses,
    warnAboutBudget: createBudgetWarningOn(requests, clock),
    messages: messageRecords,
    limits,
    events: requests.events,
    metrics: turnMetrics,
    access: deps.access,
    stopInRuntime,
  });
  return {
    queue,
    stops,
    tasks,
    workflows,
    stopInRuntime,
    metrics: turnMetrics,
    tools: platformTools,
    urgentJobs: [turnJob({ ...deps, platformTools }, inBackground, turnMetrics)],
    jobs: [...journalJobs(deps), agentRemoval({ ...background, stops, statuses, push: background.push })],
  };
}

function turnJob(
  deps: TurnsModuleDeps,
  { limits, tasks }: { limits: UsageLimits; tasks: Tasks },
  metrics: TurnMetrics,
): UrgentJobDefinition {
  const { config, background, client, clock, logger } = deps;
  const { database, withTransaction, withStatement, jobs, events, push } = background;
  const handle = createTurnWorker({
    withTransaction,
    withStatement,
    jobs,
    database,
    turns: turnRecords,
    queue: createTurnQueue(jobs, limits),
    delegations: delegationRecords,
    tasks: tasks.owners,
    reports: createWorkflowReports(database),
    journal: journalRecords,
    bodies: createJournalBodies({
      contents: createContentObjects({ ...background, job: JOURNAL_OBJECT_JOB, objects: deps.objects }),
      logger,
    }),
    statuses: deps.statuses,
    messages: messageRecords,
    users: userRecords,
    runtimes: runtimeRecords,
    events,
    limits,
    warnAboutBudget: createBudgetWarningOn(background, clock),
    contexts: turnContextRecords,
    files: deps.files,
    transcripts: deps.transcripts,
    attachmentsIn: deps.attachmentsIn,
    toolCalls: toolCallRecords,
    approvals: approvalRecords,
    receipts: deps.receipts,
    progress: createTurnProgress(database),
    untrusted: untrustedContentRecords,
    push,
    markdown: createSafeMarkdown(deps.config.PUBLIC_URL),
    reservations: reservationRecords,
    platformTools: deps.platformTools,
    serverTools: deps.serverTools,
    loadAgentContext: createAgentContextLoader({
      platformTools: deps.platformTools,
      database,
      settings: agentSettingsRecords,
      memories: memoryRecords,
      tools: loadTools(config),
      connections: integrationRecords,
      subAgentModel: deps.models.subAgentModel,
    }),
    models: deps.models,
    summaries: summaryRecords,
    followUps: config.SUMMARY_WORKERS === 0 ? undefined : createFollowUps({ jobs }),
    client,
    rules: createCallRules({
      tools: loadTools(config),
      receipts: deps.receipts,
      attachedTexts: deps.attachedTexts,
      platformTools: deps.platformTools,
      database,
    }),
    toolTokens: createToolTokens(config.SVC_MCP_SIGNING_KEY),
    modelTokens: createModelTokens(config.MODEL_TOKEN_SIGNING_KEY),
    turnSignals: deps.turnSignals,
    publish: deps.publisher.live,
    deadlineMs: config.TURN_DEADLINE_S * 1_000,
    metrics,
    clock,
    logger,
  });
  return { type: TURN_JOB, handle, concurrency: config.TURN_WORKERS, perFairKey: config.TURNS_PER_USER };
}
