/** Wakes the poll loops of this process, by topic: a job type. */
export interface WakeUps {
  subscribe(topic: string, wake: () => void): void;
  /**
   * Returns the function that wakes the subscribers of a topic: the same one for each call, so that a transaction
   * registers it once.
   */
  notifier(topic: string): () => void;
}

export function createWakeUps(): WakeUps {
  const topics = new Map<string, { subscribers: (() => void)[]; notify: () => void }>();
  const topicOf = (name: string) => {
    const known = topics.get(name);
    if (known !== undefined) return known;
    const subscribers: (() => void)[] = [];
    const topic = {
      subscribers,
      notify() {
        for (const wake of subscribers) wake();
      },
    };
    topics.set(name, topic);
    return topic;
  };
  return {
    subscribe: (topic, wake) => void topicOf(topic).subscribers.push(wake),
    notifier: (topic) => topicOf(topic).notify,
  };
}
