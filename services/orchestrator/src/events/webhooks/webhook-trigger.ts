import type { Logger } from '@uswarm/service-kit';
import type { Database } from '../../platform/database/database.js';
import type { JobSignals } from '../../platform/jobs/job-signals.js';
import { createPollLoop } from '../../platform/jobs/poll-loop.js';
import { WEBHOOK_JOB, wakeMissedWebhooks, wakeWebhooks } from '../../records/webhooks.store.js';

/** Makes webhooks due whose workspaces have new events. */
export interface WebhookTrigger {
  /** Call it after the commit. */
  committed(event: { workspaceId: string }): void;
  /** Notices this workspace's events from now on. */
  watch(workspaceId: string): void;
  /** @returns a function that ends the trigger */
  start(deps: WebhookTriggerDeps): { close: () => Promise<void> };
}

export interface WebhookTriggerDeps {
  database: Database;
  jobSignals: Pick<JobSignals, 'notifier'>;
  logger: Logger;
}

/** Commits within this time share one statement. */
const COLLECT_MS = 100;
/** Finds webhooks that another process has stored, and events that a crashed one has. */
const SWEEP_MS = 10_000;

/** Workspaces without webhooks cost no statement. */
export function createWebhookTrigger(): WebhookTrigger {
  let watched = new Set<string>();
  let touched = new Set<string>();
  let notify = (): void => undefined;
  return {
    committed({ workspaceId }) {
      if (!watched.has(workspaceId)) return;
      touched.add(workspaceId);
      notify();
    },
    watch: (workspaceId) => void watched.add(workspaceId),
    start({ database, jobSignals, logger }) {
      const signal = jobSignals.notifier(WEBHOOK_JOB);
      const onError = (error: unknown): void => logger.warn({ err: error }, 'webhooks were not made due; will retry');
      const waking = createPollLoop({
        async round() {
          const workspaces = [...touched];
          if (workspaces.length === 0) return false;
          touched = new Set();
          await wakeWebhooks(database, workspaces).catch((error: unknown) => {
            for (const id of workspaces) touched.add(id);
            throw error;
          });
          signal();
          return true;
        },
        pollMs: SWEEP_MS,
        pauseMs: COLLECT_MS,
        onError,
      });
      notify = waking.runNow;
      const sweeping = createPollLoop({
        async round() {
          watched = new Set(await wakeMissedWebhooks(database));
          return false;
        },
        pollMs: SWEEP_MS,
        onError,
      });
      return {
        async close() {
          notify = () => undefined;
          await Promise.all([waking.close(), sweeping.close()]);
        },
      };
    },
  };
}
