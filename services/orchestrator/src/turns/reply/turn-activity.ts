import { AgentActivity } from '@uswarm/runtime-proto';
import type { AgentActivity as StoredActivity } from '../../platform/database/schema.js';

/**
 * Milliseconds after which an activity is stored alone. A model call and a step follow their activity sooner, and are stored with
 * it: the turn waits for one commit instead of two. Sooner than other writes are, which are then stored with it.
 */
const ALONE_AFTER_MS = 25;

const ACTIVITIES: Partial<Record<AgentActivity, StoredActivity>> = {
  [AgentActivity.READING]: 'reading',
  [AgentActivity.THINKING]: 'thinking',
  [AgentActivity.WRITING]: 'writing',
  [AgentActivity.PENDING]: 'pending',
};

export interface TurnActivityDeps {
  /** What is stored. */
  initial: StoredActivity;
  store: (activity: StoredActivity) => Promise<void>;
  onError: (error: unknown) => void;
}

/** What the runtime does in a turn. */
export interface TurnActivity {
  /** Stores a change with the next event, or after a short time. */
  show(activity: AgentActivity): void;
  /** The activity that the next event must store; undefined if it did not change. */
  take(): StoredActivity | undefined;
  /** Stores the current activity again. */
  renew(): Promise<void>;
  /** Stores nothing more. */
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
