import { AgentActivity } from '@uswarm/runtime-proto';
import type { AgentActivity as StoredActivity } from '../../platform/database/schema.js';

/**
 * An activity that waits this long (ms) is stored alone. A model call or a step usually follows its activity sooner and
 * is stored with it: the turn waits for one commit instead of two. Shorter than the delay before other writes, which
 * are then stored with the activity.
 */
const ALONE_AFTER_MS = 25;

const ACTIVITIES: Partial<Record<AgentActivity, StoredActivity>> = {
  [AgentActivity.READING]: 'reading',
  [AgentActivity.THINKING]: 'thinking',
  [AgentActivity.WRITING]: 'writing',
  [AgentActivity.PENDING]: 'pending',
};

export interface TurnActivityDeps {
  initial: StoredActivity;
  store: (activity: StoredActivity) => Promise<void>;
  onError: (error: unknown) => void;
}

export interface TurnActivity {
  /** Stores a change with the next event, or after a short time. */
  show(activity: AgentActivity): void;
  /** @returns the activity that the next event must store; undefined if it did not change */
  take(): StoredActivity | undefined;
  renew(): Promise<void>;
  end(): void;
}

export function createTurnActivity({ initial, store, onError }: TurnActivityDeps): TurnActivity {
  let current = initial;
  let timer: NodeJS.Timeout | undefined;

  function take(): StoredActivity | undefined {
    if (timer === undefined) return undefined;
    clearTimeout(timer);
    timer = undefined;
    return current;
  }

  async function storeAlone(): Promise<void> {
    const activity = take();
    if (activity !== undefined) await store(activity);
  }

  return {
    show(value) {
      const activity = ACTIVITIES[value];
      if (activity === undefined || activity === current) return;
      current = activity;
      timer ??= setTimeout(() => void storeAlone().catch(onError), ALONE_AFTER_MS);
    },
    take,
    renew: () => store(current),
    end: () => void take(),
  };
}
