import type { EventBus } from '@uswarm/event-bus';

/** Wakes the poll loops of this process, by topic: a job type. */
export interface WakeUps {
  /** `isHint`: another process has passed it on. */
  subscribe(topic: string, wake: (isHint?: boolean) => void): void;
  /**
   * Returns the function that wakes the subscribers of a topic: the same one for each call, so that a transaction
   * registers it once.
   */
  notifier(topic: string): () => void;
  /** Wakes other processes by a hint: this one has no free worker. Does nothing without a bus. */
  passOn(topic: string): void;
}

/** Carries hints between processes. */
export type Hints = Pick<EventBus, 'publishHint' | 'onHint'>;

const JOBS = 'job:';

export function createWakeUps(hints?: Hints): WakeUps {
  const topics = new Map<string, { subscribers: ((isHint?: boolean) => void)[]; notify: () => void }>();
  const topicOf = (name: string) => {
    const known = topics.get(name);
    if (known !== undefined) return known;
    const subscribers: ((isHint?: boolean) => void)[] = [];
    const topic = {
      subscribers,
      notify() {
        for (const wake of subscribers) wake();
      },
    };
    topics.set(name, topic);
    return topic;
  };
  hints
    ?.onHint((topic) => {
      if (topic.startsWith(JOBS))
        for (const wake of topics.get(topic.slice(JOBS.length))?.subscribers ?? []) wake(true);
    })
    // The bus was closed.
    .catch(() => undefined);
  return {
    passOn: (topic) => void hints?.publishHint(`${JOBS}${topic}`),
    subscribe: (topic, wake) => void topicOf(topic).subscribers.push(wake),
    notifier: (topic) => topicOf(topic).notify,
  };
}
