import type { CommittedEvent } from '../../records/event-log.js';

/** Keeps events that this process has committed until it publishes them. */
export interface CommittedEvents {
  push(event: CommittedEvent): void;
  /** Takes each workspace's oldest events, in order. */
  take(limits: { workspaces: number; events: number }): CommittedEvent[][];
  /** Forgets all events: the outbox shards have them too. */
  clear(): void;
  onPush(listener: () => void): void;
}

/** Above this number, events are left to the outbox shards. */
const LIMIT = 10_000;

export function createCommittedEvents(): CommittedEvents {
  const waiting = new Map<string, CommittedEvent[]>();
  let size = 0;
  let notify = (): void => undefined;
  return {
    push(event) {
      if (size >= LIMIT) return;
      size += 1;
      const events = waiting.get(event.workspaceId);
      if (events === undefined) waiting.set(event.workspaceId, [event]);
      else events.push(event);
      notify();
    },
    take({ workspaces, events: perWorkspace }) {
      return [...waiting].slice(0, workspaces).map(([workspaceId, events]) => {
        // Several connections can report their commits in another order.
        const ordered = events.toSorted((a, b) => a.seq - b.seq);
        const taken = ordered.slice(0, perWorkspace);
        waiting.delete(workspaceId);
        // The rest waits behind all other workspaces.
        if (taken.length < ordered.length) waiting.set(workspaceId, ordered.slice(perWorkspace));
        size -= taken.length;
        return taken;
      });
    },
    clear() {
      waiting.clear();
      size = 0;
    },
    onPush: (listener) => void (notify = listener),
  };
}
