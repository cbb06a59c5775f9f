import { silentLogger, systemClock } from '@uswarm/service-kit';
import { createWithStatement, createWithTransaction } from '../src/platform/database/transaction.js';
import { findSettingsOfAgent } from '../src/records/agent-settings.store.js';
import { getRuntime, type RuntimeRow } from '../src/records/runtimes.store.js';
import * as userRecords from '../src/records/users.store.js';
import { getTurnToRun } from '../src/turns/turns.store.js';
import type { TurnWorkerDeps } from '../src/turns/worker.js';
import { createWorkflowReports } from '../src/turns/workflows/workflow-reports.js';
import { createMemoryBodies } from './memory-bodies.js';
import { createMemoryRules } from './memory-rules.js';
import { NO_FILES } from './no-files.js';
import { type Stores, tasksOf } from './stores.js';

const NO_BUDGET = { tokens: null };
const READY = { phase: 'Ready', address: 'http://127.0.0.1:1' } as const;

/**
 * Everything that a turn worker needs except a runtime's client, on the real stores: an agent that may search, without limits.
 *
 * @param runtime changes the workspace's runtime, which is ready
 */
export function createWorkerDeps(
  stores: Stores,
  runtime: () => Partial<RuntimeRow> = () => ({}),
): Omit<TurnWorkerDeps, 'client'> {
  const { database } = stores;
  return {
    ...stores,
    ...tasksOf(stores),
    ...NO_FILES,
    withTransaction: createWithTransaction(database),
    withStatement: createWithStatement(database),
    reports: createWorkflowReports(database),
    users: userRecords,
    turns: {
      ...stores.turns,
      async getTurnToRun(...of) {
        const row = await getTurnToRun(...of);
        return row?.runtime && { ...row, runtime: { ...row.runtime, ...READY, ...runtime() } };
      },
    },
    runtimes: {
      async getRuntime(...of) {
        const row = await getRuntime(...of);
        return row && { ...row, ...READY, ...runtime() };
      },
    },
    jobs: { ...stores.jobs, makeDueNow: async () => undefined },
    platformTools: [],
    serverTools: async () => [],
    loadAgentContext: async (agentId) => ({
      members: (await findSettingsOfAgent(database, agentId))?.members ?? [],
      model: null,
      responseLength: 'auto',
      prompts: [],
      tools: ['search'],
      requestedTools: [],
      askedTools: [],
      memories: [],
      untrusted: false,
    }),
    rules: createMemoryRules({}, new Set()),
    bodies: createMemoryBodies(),
    limits: { reached: async () => undefined, reserve: async () => NO_BUDGET, turnBudget: async () => NO_BUDGET },
    models: { limits: () => undefined, price: () => ({ modelId: null, prices: null }) },
    summaries: { findSummary: async () => undefined },
    toolTokens: async () => 'token',
    modelTokens: async () => '',
    turnSignals: { watch: () => () => undefined },
    publish: async () => true,
    retryMs: 0,
    clock: systemClock,
    logger: silentLogger,
  };
}
