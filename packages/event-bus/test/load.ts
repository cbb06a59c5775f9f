import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EventBus } from '../src/event-bus.js';
import { deleted, seqs } from './bus-contract.js';

const EVERY_MS = 20;

export interface Load {
  workspaceIds: readonly string[];
  /** Resolves when each workspace has received an event that is published from now on. */
  delivered(): Promise<void>;
  /** Workspaces with an event that was published, but neither received nor reported as possibly lost. */
  unreported(): string[];
  stop(): Promise<void>;
}

interface Workspace {
  id: string;
  /** Sequences that the bus accepted. */
  accepted: Set<number>;
  received: Set<number>;
  isReported: boolean;
  nextSeq: number;
  onReceived: Set<(seq: number) => void>;
}

/** Publishes an event to each workspace every 20 ms, and receives them. */
export async function startLoad(publisher: EventBus, subscriber: EventBus, count: number): Promise<Load> {
  const workspaces = Array.from({ length: count }, (): Workspace => ({
    id: randomUUID(),
    accepted: new Set(),
    received: new Set(),
    isReported: false,
    nextSeq: 1,
    onReceived: new Set(),
  }));
  subscriber.onReconnect((ids) => {
    for (const workspace of workspaces) if (ids.has(workspace.id)) workspace.isReported = true;
  });
  for (const workspace of workspaces) {
    await subscriber.subscribe(workspace.id, (envelope) => {
      for (const seq of seqs([envelope]) as number[]) {
        workspace.received.add(seq);
        for (const listener of workspace.onReceived) listener(seq);
      }
    });
  }
  let stopped = false;
  const publish = async (workspace: Workspace): Promise<void> => {
    while (!stopped) {
      const seq = workspace.nextSeq;
      workspace.nextSeq += 1;
      if (await publisher.publish(deleted(workspace.id, seq))) workspace.accepted.add(seq);
      await sleep(EVERY_MS);
    }
  };
  const publishing = Promise.all(workspaces.map(publish));
  const next = (workspace: Workspace): Promise<void> =>
    new Promise((resolve) => {
      const first = workspace.nextSeq;
      const listener = (seq: number): void => {
        if (seq < first) return;
        workspace.onReceived.delete(listener);
        resolve();
      };
      workspace.onReceived.add(listener);
    });
  return {
    workspaceIds: workspaces.map(({ id }) => id),
    delivered: async () => void (await Promise.all(workspaces.map(next))),
    unreported: () =>
      workspaces
        .filter(({ accepted, received, isReported }) => !isReported && ![...accepted].every((seq) => received.has(seq)))
        .map(({ id }) => id),
    async stop() {
      stopped = true;
      await publishing;
    },
  };
}
