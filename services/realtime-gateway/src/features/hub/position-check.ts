import { randomUUID } from 'node:crypto';
import { backoffDelay, type Logger } from '@uswarm/service-kit';
import type { Hub } from './hub.js';
import type { OrchestratorClient } from '../../orchestrator-client.js';
import type { Timers } from '../../timers.js';

/** The checked part of a hub. */
type CheckedHub = Pick<Hub, 'checked' | 'deleted'> & {
  state: Pick<Hub['state'], 'workspaceId' | 'position' | 'moment'>;
};

export interface PositionCheckDeps {
  hubs: () => readonly CheckedHub[];
  orchestrator: Pick<OrchestratorClient, 'positions'>;
  timers: Timers;
  logger: Pick<Logger, 'debug'>;
  /** Maximum milliseconds between two checks. */
  everyMs: number;
}

export interface PositionCheck {
  /** Checks as soon as possible, because events may have been lost. */
  now(): void;
  stop(): void;
}

const WORKSPACES_PER_REQUEST = 1_000;
const RETRY = { initialMs: 200, maxMs: 2_000 };
/**
 * Shortest time between two checks, as a share of the longest: gateways that started together must not ask together.
 */
const JITTER = 0.8;

/**
 * Compares all hub positions with the log, periodically and after the bus was disconnected. It finds losses that no
 * later event shows.
 */
export function checkPositions({ orchestrator, timers, logger, everyMs, hubs }: PositionCheckDeps): PositionCheck {
  let stopped = false;
  let running = false;
  let again = false;
  let failures = 0;
  let cancel: (() => void) | undefined;

  async function checkBatch(batch: readonly CheckedHub[]): Promise<void> {
    const asked = batch.map((hub) => ({ hub, moment: hub.state.moment }));
    const ids = batch.map(({ state }) => state.workspaceId);
    const { epoch, positions } = await orchestrator.positions(ids, randomUUID());
    const heads = new Map(positions.map(({ workspace_id, last_seq }) => [workspace_id, last_seq]));
    for (const { hub, moment } of asked) {
      const head = heads.get(hub.state.workspaceId);
      if (head === undefined) hub.deleted();
      else hub.checked(epoch, head, moment);
    }
  }

  async function check(): Promise<void> {
    const started = hubs().filter(({ state }) => state.position !== undefined);
    for (let first = 0; first < started.length && !stopped; first += WORKSPACES_PER_REQUEST) {
      await checkBatch(started.slice(first, first + WORKSPACES_PER_REQUEST));
    }
  }

  function run(): void {
    cancel?.();
    running = true;
    again = false;
    check()
      .then(
        () => (failures = 0),
        (error: unknown) => {
          failures += 1;
          logger.debug({ err: error }, 'checking positions failed');
        },
      )
      .finally(() => {
        running = false;
        schedule();
      });
  }

  function schedule(): void {
    if (stopped) return;
    const regular = everyMs * (JITTER + (1 - JITTER) * Math.random());
    const wait = failures > 0 ? backoffDelay(RETRY, failures) : regular;
    cancel = timers.after(again ? 0 : wait, run);
  }

  schedule();
  return {
    now() {
      again = true;
      if (running) return;
      cancel?.();
      schedule();
    },
    stop() {
      stopped = true;
      cancel?.();
    },
  };
}
