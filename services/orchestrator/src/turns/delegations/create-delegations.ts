import type { Connections } from '../../records/connections.js';
import type { AgentStatuses } from '../../records/agent-statuses.js';
import { createApprovalStore } from '../../records/approvals.store.js';
import type { LiveEvent } from '../../events/event-publisher.js';
import { createMessageStore } from '../../records/messages.store.js';
import type { PushJobs } from '../../records/push-jobs.js';
import { createToolCallStore } from '../tools/tool-calls.store.js';
import { createBackgroundTurns, type TaskOwner } from '../background-turns.js';
import type { SafeMarkdown } from '../content/reply-text.js';
import { createTurnQueue } from '../turn-queue.js';
import { createTurnStore } from '../turns.store.js';
import { createReservationStore } from '../../metering/reservations.store.js';
import type { UsageLimits } from '../../metering/usage-limits.js';
import { createDelegations, type Delegations } from './delegations.js';
import { createDelegationStore } from './delegations.store.js';

export interface DelegationServices {
  limits: Pick<UsageLimits, 'requireTokensLeft'>;
  push: Pick<PushJobs, 'withdraw'>;
  statuses: AgentStatuses;
  markdown: Pick<SafeMarkdown, 'text'>;
  publish: (event: LiveEvent) => Promise<boolean>;
  ended: TaskOwner['ended'];
}

export function delegationsOf(
  { database, jobs, events }: Pick<Connections, 'database' | 'jobs' | 'events'>,
  { limits, push, statuses, markdown, publish, ended }: DelegationServices,
): Delegations {
  const turns = createTurnStore(database);
  return createDelegations({
    store: createDelegationStore(),
    turns,
    background: createBackgroundTurns(turns, jobs),
    queue: createTurnQueue(turns, jobs, limits),
    reservations: createReservationStore(),
    toolCalls: createToolCallStore(),
    messages: createMessageStore(database),
    events,
    approvals: createApprovalStore(),
    push,
    statuses,
    markdown,
    publish,
    ended,
  });
}
