import type { AgentState, BusEnvelope, EventsAnswer, StreamState } from '@uswarm/contract';
import { ApiError } from '@uswarm/contract';
import type { OrchestratorClient } from '../src/orchestrator-client.js';
import { EPOCH } from './envelopes.js';

type Logged = Extract<BusEnvelope, { seq: number }>;

/** An orchestrator's event logs. Every user owns every workspace. */
export interface FakeLog {
  epoch: string;
  /** The state of every workspace. */
  agents: AgentState[];
  streams: StreamState[];
  /** Stores durable events and skips. */
  add(...envelopes: BusEnvelope[]): void;
  /** Removes the events after `seq`, as a failover that lost them. */
  rewind(workspaceId: string, seq: number): void;
  /** Removes the events up to `seq`, as after the time for which they are kept. */
  prune(workspaceId: string, seq: number): void;
  orchestrator: Pick<OrchestratorClient, 'subscriptions' | 'positions' | 'events'>;
  /** Call names. */
  calls: string[];
}

export function createFakeLog(): FakeLog {
  const logs = new Map<string, Map<number, Logged>>();
  const pruned = new Map<string, number>();
  const logOf = (workspaceId: string): Map<number, Logged> => {
    const existing = logs.get(workspaceId) ?? new Map<number, Logged>();
    logs.set(workspaceId, existing);
    return existing;
  };
  const lastSeq = (workspaceId: string): number => Math.max(0, ...logOf(workspaceId).keys());

  function page(workspaceId: string, after: number, maxBytes: number): EventsAnswer['events'] {
    const events: EventsAnswer['events'] = [];
    let bytes = 0;
    for (let entry = logOf(workspaceId).get(after + 1); entry !== undefined;) {
      const size = entry.kind === 'skip' ? 0 : JSON.stringify(entry.payload).length;
      if (events.length > 0 && bytes + size > maxBytes) break;
      bytes += size;
      events.push(eventOf(entry));
      entry = logOf(workspaceId).get(entry.seq + 1);
    }
    return events;
  }

  const log: FakeLog = {
    epoch: EPOCH,
    agents: [],
    streams: [],
    calls: [],
    add(...envelopes) {
      for (const envelope of envelopes) {
        if (envelope.kind !== 'ephemeral') logOf(envelope.workspace_id).set(envelope.seq, envelope);
      }
    },
    rewind(workspaceId, seq) {
      for (const each of logOf(workspaceId).keys()) if (each > seq) logOf(workspaceId).delete(each);
    },
    prune: (workspaceId, seq) => void pruned.set(workspaceId, seq),
    orchestrator: {
      async subscriptions(_userId, ids) {
        log.calls.push('subscriptions');
        const accepted = ids.map((workspace_id) => ({
          workspace_id,
          last_seq: lastSeq(workspace_id),
          epoch: log.epoch,
          agents: log.agents,
          streams: log.streams,
        }));
        return { accepted, rejected: [] };
      },
      async positions(ids) {
        log.calls.push('positions');
        const positions = ids.map((workspace_id) => ({ workspace_id, last_seq: lastSeq(workspace_id) }));
        return { epoch: log.epoch, positions };
      },
      async events({ workspace_id: id, after, max_bytes: maxBytes = 0 }) {
        log.calls.push('events');
        if (!logs.has(id)) throw new ApiError('workspace_not_found');
        const head = { epoch: log.epoch, last_seq: lastSeq(id) };
        if (after < (pruned.get(id) ?? 0)) return { ...head, events: [], resync: 'too_old' };
        return { ...head, events: page(id, after, maxBytes) };
      },
    },
  };
  return log;
}

function eventOf(entry: Logged): EventsAnswer['events'][number] {
  const { seq } = entry;
  if (entry.kind === 'skip') return { seq, skip: true };
  const { event, subject_id, payload } = entry;
  return { seq, event, subject_id, payload };
}
