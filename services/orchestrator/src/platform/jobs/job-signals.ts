import type { EventBus } from '@uswarm/event-bus';

/** Signals from job stores to workers that jobs may be due. A job type is a topic. */
export interface JobSignals {
  /** `isForwarded`: another process has no free worker for it. */
  subscribe(topic: string, poll: (isForwarded?: boolean) => void): void;
  /**
   * Returns the function that calls a topic's subscribers: the same one for each call, so that a transaction registers
   * it once.
   */
  notifier(topic: string): () => void;
  /** Signals other processes: this one has no free worker. Does nothing without a bus. */
  forward(topic: string): void;
}

export type SignalBus = Pick<EventBus, 'publishSignal' | 'onSignal'>;

const JOBS = 'job:';

export function createJobSignals(signals?: SignalBus): JobSignals {
  const topics = new Map<string, { subscribers: ((isForwarded?: boolean) => void)[]; notify: () => void }>();
  const topicOf = (name: string) => {
    const known = topics.get(name);
    if (known !== undefined) return known;
    const subscribers: ((isForwarded?: boolean) => void)[] = [];
    const topic = {
      subscribers,
      notify() {
        for (const poll of subscribers) poll();
      },
    };
    topics.set(name, topic);
    return topic;
  };
  signals
    ?.onSignal((topic) => {
      if (topic.startsWith(JOBS))
        for (const poll of topics.get(topic.slice(JOBS.length))?.subscribers ?? []) poll(true);
    })
    // The bus was closed.
    .catch(() => undefined);
  return {
    forward: (topic) => void signals?.publishSignal(`${JOBS}${topic}`),
    subscribe: (topic, poll) => void topicOf(topic).subscribers.push(poll),
    notifier: (topic) => topicOf(topic).notify,
  };
}
