import type { PositionsAnswer, SubscriptionsAnswer } from '@uswarm/contract';
import type { Clock } from '@uswarm/service-kit';
import type { Database } from '../platform/database/database.js';
import { createGroups, READS_OF_RECONNECTS } from '../platform/database/groups.js';
import { isId } from '../platform/database/id.js';
import type { ReadAgentStates } from './agent-states.store.js';
import type { ReadStreams } from '../turns/reply/turn-streams.js';
import type { TurnSignals } from '../turns/turn-signals.js';
import type { Heads } from './positions.store.js';

export interface SubscriptionServiceDeps {
  readHeads: (workspaceIds: readonly string[]) => Promise<Heads>;
  agentStates: ReadAgentStates;
  streams: ReadStreams;
  /** Asks running turns for their texts, so that the texts are complete when they are read again. */
  turnSignals: Pick<TurnSignals, 'send'>;
  database: Database;
  clock: Clock;
}

export interface SubscriptionService {
  /** Leaves out workspaces to which the user may not subscribe. Adds positions and what the agents do. */
  subscriptions(userId: string, workspaceIds: readonly string[]): Promise<SubscriptionsAnswer>;
  /** Does not check the owner. */
  positions(workspaceIds: readonly string[]): Promise<PositionsAnswer>;
}

interface Subscribe {
  userId: string;
  workspaceIds: readonly string[];
}

export function createSubscriptionService(deps: SubscriptionServiceDeps): SubscriptionService {
  const { readHeads, agentStates, streams, turnSignals, database, clock } = deps;

  /** At most three statements for all. */
  async function read(subscribes: readonly Subscribe[]): Promise<SubscriptionsAnswer[]> {
    // Before the state: an event between the two then changes a state that has it already.
    const wanted = new Set(subscribes.flatMap(({ workspaceIds }) => workspaceIds.filter(isId)));
    const { epoch, heads } = await readHeads([...wanted]);
    const byId = new Map(heads.map((head) => [head.workspaceId, head]));
    const owned = subscribes.map(({ userId, workspaceIds }) =>
      [...new Set(workspaceIds)].flatMap((id) => {
        const head = byId.get(id);
        return head?.ownerId === userId ? [head] : [];
      }),
    );
    const found = [...new Set(owned.flat().map((head) => head.workspaceId))];
    const none = found.length === 0;
    const [agents, { streams: texts, turnIds }] = none
      ? [[], { streams: [], turnIds: [] }]
      : await Promise.all([agentStates(found, clock.now()), streams(found, database)]);
    for (const turnId of turnIds) turnSignals.send('text', turnId);
    const [agentsOf, streamsOf] = [byWorkspace(agents), byWorkspace(texts)];
    return subscribes.map(({ workspaceIds }, index) => {
      const accepted = owned[index] ?? [];
      const ids = new Set(accepted.map(({ workspaceId }) => workspaceId));
      return {
        accepted: accepted.map(({ workspaceId, lastSeq }) => ({
          workspace_id: workspaceId,
          last_seq: lastSeq,
          epoch,
          agents: agentsOf.get(workspaceId) ?? [],
          streams: streamsOf.get(workspaceId) ?? [],
        })),
        rejected: workspaceIds
          .filter((id) => !ids.has(id))
          .map((workspace_id) => ({ workspace_id, code: 'workspace_not_found' })),
      };
    });
  }

  const group = createGroups({ run: read, ...READS_OF_RECONNECTS });
  return {
    subscriptions: (userId, workspaceIds) => group({ userId, workspaceIds }),

    async positions(workspaceIds) {
      const { epoch, heads } = await readHeads(workspaceIds);
      return {
        epoch,
        positions: heads.map(({ workspaceId, lastSeq }) => ({ workspace_id: workspaceId, last_seq: lastSeq })),
      };
    },
  };
}

function byWorkspace<Row extends { workspace_id: string }>(
  rows: readonly Row[],
): Map<string, Omit<Row, 'workspace_id'>[]> {
  const found = new Map<string, Omit<Row, 'workspace_id'>[]>();
  for (const { workspace_id: id, ...row } of rows) found.set(id, [...(found.get(id) ?? []), row]);
  return found;
}
