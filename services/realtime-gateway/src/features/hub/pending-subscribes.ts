import { backoffDelay } from '@uswarm/service-kit';
import type { Timers } from '../../timers.js';
import type { Since } from './since.js';

/** A subscribe that waits. A later subscribe to the same workspace replaces it. */
export interface PendingSubscribe {
  since: Since | undefined;
}

export interface PendingSubscribesDeps {
  timers: Timers;
  /** Tries again, and removes what it has settled. @throws any error if nothing could be settled */
  subscribe: (waiting: ReadonlyMap<string, PendingSubscribe>) => Promise<void>;
}

/** The workspaces of one socket that could not be subscribed because the orchestrator was unavailable. */
export interface PendingSubscribes {
  add(workspaceId: string, since: Since | undefined): void;
  ids(): string[];
  remove(workspaceId: string): void;
  /** Whether it still waits, and was not replaced. */
  isWaiting(workspaceId: string, pending: PendingSubscribe | undefined): boolean;
  /** Called when the socket is closed. */
  close(): void;
}

const RETRY = { initialMs: 500, maxMs: 10_000 };

/** Clients that subscribe only after they have connected get their workspaces when the orchestrator is available again. */
export function createPendingSubscribes({ timers, subscribe }: PendingSubscribesDeps): PendingSubscribes {
  const waiting = new Map<string, PendingSubscribe>();
  let attempts = 0;
  let isRunning = false;
  let cancel: (() => void) | undefined;

  function schedule(): void {
    if (waiting.size === 0) attempts = 0;
    if (waiting.size === 0 || isRunning || cancel !== undefined) return;
    cancel = timers.after(backoffDelay(RETRY, attempts), () => {
      cancel = undefined;
      attempts += 1;
      void run();
    });
  }

  async function run(): Promise<void> {
    isRunning = true;
    try {
      if (waiting.size > 0) await subscribe(new Map(waiting));
    } catch {
      // They still wait.
    } finally {
      isRunning = false;
      schedule();
    }
  }

  return {
    add(workspaceId, since) {
      waiting.set(workspaceId, { since });
      schedule();
    },
    ids: () => [...waiting.keys()],
    remove: (workspaceId) => void waiting.delete(workspaceId),
    isWaiting: (workspaceId, pending) => pending !== undefined && waiting.get(workspaceId) === pending,
    close() {
      waiting.clear();
      cancel?.();
    },
  };
}
