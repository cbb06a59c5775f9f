import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { AgentActivity } from '@uswarm/runtime-proto';
import { createTurnActivity } from './reply-progress.js';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

function start(store: (activity: string) => Promise<void> = async () => undefined) {
  const stored: string[] = [];
  const errors: unknown[] = [];
  const activity = createTurnActivity({
    initial: 'reading',
    async store(value) {
      stored.push(value);
      await store(value);
    },
    onError: (error) => errors.push(error),
  });
  return { activity, stored, errors };
}

describe('the activity of a turn', () => {
  it('is stored with the next event, once', async () => {
    const { activity, stored } = start();
    activity.show(AgentActivity.THINKING);
    expect([activity.take(), activity.take()]).toEqual(['thinking', undefined]);
    await jest.runAllTimersAsync();
    expect(stored).toEqual([]);
  });

  it('is stored alone if no event follows, in its last state', async () => {
    const { activity, stored } = start();
    activity.show(AgentActivity.THINKING);
    activity.show(AgentActivity.WRITING);
    await jest.runAllTimersAsync();
    expect(stored).toEqual(['writing']);
    expect(activity.take()).toBeUndefined();
  });

  it('does not change if it is reported again, and can be renewed', async () => {
    const { activity, stored } = start();
    activity.show(AgentActivity.READING);
    activity.show(AgentActivity.UNSPECIFIED);
    await jest.runAllTimersAsync();
    await activity.renew();
    expect(stored).toEqual(['reading']);
  });

  it('is not stored after the end of the turn', async () => {
    const { activity, stored } = start();
    activity.show(AgentActivity.THINKING);
    activity.end();
    await jest.runAllTimersAsync();
    expect(stored).toEqual([]);
  });

  it('reports an error of the database', async () => {
    const { activity, errors } = start(() => Promise.reject(new Error('gone')));
    activity.show(AgentActivity.THINKING);
    await jest.runAllTimersAsync();
    expect(errors).toEqual([new Error('gone')]);
  });
});
