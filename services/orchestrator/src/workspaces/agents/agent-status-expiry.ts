import type { WithTransaction, Database } from '../../platform/database/database.js';
import type { JobDefinition } from '../../platform/jobs/job-definition.js';
import { pruningRow } from '../../platform/jobs/pruning.js';
import { listEndedStatuses, findNextStatusEnd } from '../../records/agent-status.store.js';
import type { AgentStatuses } from '../../records/agent-statuses.js';

const AGENT_STATUS_EXPIRY_JOB = 'agent-status-expiry';
const BATCH = 100;
/** Shorter than any status, so that the job knows each end before it passes. */
const MAX_PAUSE_MS = 60_000;
const MIN_PAUSE_MS = 250;

export interface AgentStatusExpiryDeps {
  withTransaction: WithTransaction;
  database: Database;
  statuses: Pick<AgentStatuses, 'refreshAgent'>;
}

/** Derives statuses again when they end, one transaction each. The job writes nothing while none ends. */
export const agentStatusExpiry = ({ withTransaction, database, statuses }: AgentStatusExpiryDeps): JobDefinition => ({
  type: AGENT_STATUS_EXPIRY_JOB,
  atStart: pruningRow(AGENT_STATUS_EXPIRY_JOB),
  async handle(_job, signal) {
    for (
      let ended = await listEndedStatuses(database, BATCH);
      ended.length > 0;
      ended = await listEndedStatuses(database, BATCH)
    ) {
      for (const agentId of ended) {
        if (signal.aborted) return { againInMs: 0 };
        await withTransaction((tx) => statuses.refreshAgent(agentId, tx));
      }
    }
    const next = (await findNextStatusEnd(database)) ?? MAX_PAUSE_MS;
    return { againInMs: Math.min(MAX_PAUSE_MS, Math.max(MIN_PAUSE_MS, next)) };
  },
});
