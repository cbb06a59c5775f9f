import { Code } from '@connectrpc/connect';
import { describe, expect, it, jest } from '@jest/globals';
import { ANSWERED, chunk, createTurnHarness, failure, stopped } from '../../test/turn-harness.js';
import { pollForCancellation } from './stream.js';

const RUNNING = { status: 'running', reply_message_id: 'r', runtime_instance: 'i' } as const;
const STOP_REQUESTED = { ...RUNNING, stop_requested: true };
const STOPPED = { status: 'stopped', errorCode: null };

describe('a turn with a stop request', () => {
  it('ends with the text that the runtime reports', async () => {
    const harness = createTurnHarness([{ events: [chunk('Let me see'), stopped] }], { turn: STOP_REQUESTED });
    expect(await harness.run()).toEqual({ done: true, isCompleted: true });
    expect(harness.recorded.stops).toEqual([{ turnId: 't', generation: 1 }]);
    expect(harness.recorded.ended).toEqual(STOPPED);
    expect(harness.reply()).toEqual({ text: 'Let me see', status: 'incomplete' });
  });

  it('ends with the stop message if there is no text', async () => {
    const harness = createTurnHarness([{ events: [stopped] }], { turn: STOP_REQUESTED });
    await harness.run();
    expect(harness.reply()).toEqual({ text: 'The reply was stopped.', status: 'failed' });
  });

  it('is completed if the runtime finishes it first', async () => {
    const harness = createTurnHarness([ANSWERED], { turn: STOP_REQUESTED });
    await harness.run();
    expect(harness.recorded.ended?.status).toBe('done');
    expect(harness.reply()).toEqual({ text: '42', status: 'delivered' });
  });

  it.each([
    ['never received it', { turn: { ...STOP_REQUESTED, runtime_instance: null } }],
    ['no longer has it', { turn: STOP_REQUESTED, unstoppable: true }],
    ['is suspended by an operator', { turn: STOP_REQUESTED, runtime: { phase: 'Suspended', address: null } as const }],
    ['is not ready', { turn: STOP_REQUESTED, runtime: { phase: 'Progressing', address: null } as const }],
  ])('ends without the runtime if the runtime %s', async (_what, more) => {
    const harness = createTurnHarness([], more);
    expect(await harness.run()).toEqual({ done: true, isCompleted: true });
    expect(harness.recorded.ended).toEqual(STOPPED);
    expect(harness.calls()).toEqual([]);
  });

  it('does not reach the runtime if it must end when it begins', async () => {
    // Simulates a ban after the turn was read.
    const harness = createTurnHarness([], { onIdentify: () => harness.requestStop() });
    expect(await harness.run()).toEqual({ done: true, isCompleted: true });
    expect(harness.recorded.ended).toEqual(STOPPED);
    expect(harness.calls()).toEqual([]);
  });

  it('is stopped before it is resumed after an interruption', async () => {
    const harness = createTurnHarness(
      [
        { events: [chunk('Let')], atTheEnd: () => harness.requestStop(), ...failure(Code.Unavailable) },
        { events: [chunk(' me'), stopped] },
      ],
      {},
    );
    await harness.run();
    expect(harness.recorded.stops.length).toBe(1);
    expect(harness.reply()).toEqual({ text: 'Let me', status: 'incomplete' });
  });

  it('is not restarted after the runtime lost it', async () => {
    const harness = createTurnHarness(
      [{ events: [chunk('Let')], atTheEnd: () => harness.requestStop(), ...failure(Code.NotFound) }],
      {},
    );
    await harness.run();
    expect(harness.calls()).toEqual([{ generation: 1, fromEvent: 0 }]);
    expect(harness.reply()).toEqual({ text: 'Let', status: 'incomplete' });
  });
});

describe('the cancellation poller', () => {
  it('polls until the stop succeeds, also after errors', async () => {
    const answers = [false, new Error('unavailable'), true, true, true];
    const errors: unknown[] = [];
    let stops = 0;
    await new Promise<void>((resolve) => {
      const { end } = pollForCancellation({
        requested: async () => {
          const answer = answers.shift() ?? false;
          if (answer instanceof Error) throw answer;
          return answer;
        },
        stop: async () => {
          stops += 1;
          if (stops === 1) throw new Error('refused');
          end();
          resolve();
        },
        everyMs: 1,
        onError: (error) => errors.push(error),
      });
    });
    expect(stops).toBe(2);
    expect(errors.length).toBe(2);
  });

  it('waits while other statements read that no stop was requested, and polls when one was', async () => {
    jest.useFakeTimers();
    try {
      let polls = 0;
      let stops = 0;
      const poller = pollForCancellation({
        requested: async () => (polls += 1) > 0,
        stop: async () => void (stops += 1),
        everyMs: 1_000,
        onError: () => undefined,
      });
      for (let n = 0; n < 5; n += 1) {
        await jest.advanceTimersByTimeAsync(900);
        poller.known(false);
      }
      expect(polls).toBe(0);
      poller.known(true);
      await jest.advanceTimersByTimeAsync(0);
      expect({ polls, stops }).toEqual({ polls: 1, stops: 1 });
      poller.known(true);
      poller.known(false);
      await jest.advanceTimersByTimeAsync(5_000);
      expect({ polls, timers: jest.getTimerCount() }).toEqual({ polls: 1, timers: 0 });
    } finally {
      jest.useRealTimers();
    }
  });

  it('sends a stop again after a second if the runtime did not receive it', async () => {
    jest.useFakeTimers();
    try {
      let stops = 0;
      const poller = pollForCancellation({
        requested: async () => true,
        stop: async () => {
          stops += 1;
          if (stops < 3) throw new Error('unavailable');
        },
        everyMs: 15_000,
        onError: () => undefined,
      });
      poller.check();
      await jest.advanceTimersByTimeAsync(2_000);
      expect({ stops, timers: jest.getTimerCount() }).toEqual({ stops: 3, timers: 0 });
    } finally {
      jest.useRealTimers();
    }
  });
});
