import type { Clock } from '@uswarm/service-kit';
import type { Connections } from '../../records/connections.js';
import { delegationsOf } from '../delegations/create-delegations.js';
import type { AgentStatuses } from '../../records/agent-statuses.js';
import type { Delegations } from '../delegations/delegations.js';
import type { LiveEvent } from '../../events/event-publisher.js';
import type { PushJobs } from '../../records/push-jobs.js';
import { createBackgroundTurns, createTaskOwners, type TaskOwner } from '../background-turns.js';
import type { SafeMarkdown } from '../content/reply-text.js';
import { createTurnQueue } from '../turn-queue.js';
import type { UsageLimits } from '../../metering/usage-limits.js';
import { createWorkflows, type Workflows } from './workflows.js';
import * as workflowRecords from './workflows.store.js';
import * as turnRecords from '../turns.store.js';
import * as messageRecords from '../../records/messages.store.js';

export interface TasksDeps {
  connections: Pick<Connections, 'database' | 'jobs' | 'events'>;
  limits: Pick<UsageLimits, 'requireTokensLeft'>;
  push: Pick<PushJobs, 'withdraw'>;
  statuses: AgentStatuses;
  markdown: Pick<SafeMarkdown, 'text'>;
  publish: (event: LiveEvent) => Promise<boolean>;
  clock: Clock;
}

export interface Tasks {
  delegations: Delegations;
  workflows: Workflows;
  owners: TaskOwner;
}

export function tasksOf({ connections, limits, push, statuses, markdown, publish, clock }: TasksDeps): Tasks {
  const { jobs, events } = connections;
  const ended: TaskOwner['ended'] = (...end) => owners.ended(...end);
  const delegations = delegationsOf(connections, { limits, push, statuses, markdown, publish, ended });
  const workflows = createWorkflows({
    store: workflowRecords,
    background: createBackgroundTurns(jobs),
    delegations,
    queue: createTurnQueue(jobs, limits),
    turns: turnRecords,
    messages: messageRecords,
    events,
    markdown,
    clock,
  });
  const owners = createTaskOwners([delegations, workflows]);
  return { delegations, workflows, owners };
}
