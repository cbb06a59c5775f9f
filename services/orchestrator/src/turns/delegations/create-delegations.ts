import type { Connections } from '../../records/connections.js';
import type { AgentStatuses } from '../../records/agent-statuses.js';
import type { LiveEvent } from '../../events/event-publisher.js';
import type { PushJobs } from '../../records/push-jobs.js';
import { createBackgroundTurns, type TaskOwner } from '../background-turns.js';
import type { SafeMarkdown } from '../content/reply-text.js';
import { createTurnQueue } from '../turn-queue.js';
import type { UsageLimits } from '../../metering/usage-limits.js';
import { createDelegations, type Delegations } from './delegations.js';

export interface DelegationServices {
  limits: Pick<UsageLimits, 'requireTokensLeft'>;
  push: Pick<PushJobs, 'withdraw'>;
  statuses: AgentStatuses;
  markdown: Pick<SafeMarkdown, 'text'>;
  publish: (event: LiveEvent) => Promise<boolean>;
  ended: TaskOwner['ended'];
}

export function delegationsOf(
  { jobs, events }: Pick<Connections, 'jobs' | 'events'>,
  { limits, push, statuses, markdown, publish, ended }: DelegationServices,
): Delegations {
  return createDelegations({
    background: createBackgroundTurns(jobs),
    queue: createTurnQueue(jobs, limits),
    events,
    push,
    statuses,
    markdown,
    publish,
    ended,
  });
}
