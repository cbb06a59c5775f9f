import { Code } from '@connectrpc/connect';
import { describe, expect, it } from '@jest/globals';
import { ANSWERED, chunk, createScene, failure, stopped } from '../../../test/turn-scene.js';
import { pollForCancellation } from './cancellation-poller.js';

const RUNNING = { status: 'running', reply_message_id: 'r', runtime_instance: 'i' } as const;
const WANTED = { ...RUNNING, stop_requested: true };
const STOPPED = { status: 'stopped', errorCode: null };

describe('a turn that somebody wants to end', () => {
  it('ends with what the runtime says it wrote by then', async () => {
    const scene = createScene([{ events: [chunk('Let me see'), stopped] }], { turn: WANTED });
    expect(await scene.run()).toEqual({ done: true });
    expect([scene.seen.stops, scene.seen.ended]).toEqual([[{ turnId: 't', generation: 1 }], STOPPED]);
    expect(scene.reply()).toEqual({ text: 'Let me see', status: 'incomplete' });
  });

  it('and wrote nothing yet says so', async () => {
    const scene = createScene([{ events: [stopped] }], { turn: WANTED });
    await scene.run();
    expect(scene.reply()).toEqual({ text: 'The reply was stopped.', status: 'failed' });
  });

  it('and is through by then is answered', async () => {
    const scene = createScene([ANSWERED], { turn: WANTED });
    await scene.run();
    expect([scene.seen.ended?.status, scene.reply()]).toEqual(['done', { text: '42', status: 'delivered' }]);
  });

  it.each([
    ['never had it', { turn: { ...WANTED, runtime_instance: null } }],
    ['does not have it any more', { turn: WANTED, unstoppable: true }],
    ['is held', { turn: WANTED, runtime: { phase: 'Suspended', address: null } as const }],
    ['is not ready', { turn: WANTED, runtime: { phase: 'Progressing', address: null } as const }],
  ])('and whose runtime %s ends without it', async (_what, more) => {
    const scene = createScene([], more);
    expect(await scene.run()).toEqual({ done: true });
    expect([scene.seen.ended, scene.asked()]).toEqual([STOPPED, []]);
  });

  it('and is interrupted is stopped before it is taken up again', async () => {
    const scene = createScene(
      [
        { events: [chunk('Let')], atTheEnd: () => scene.wantStopped(), ...failure(Code.Unavailable) },
        { events: [chunk(' me'), stopped] },
      ],
      {},
    );
    await scene.run();
    expect([scene.seen.stops.length, scene.reply()]).toEqual([1, { text: 'Let me', status: 'incomplete' }]);
  });

  it('and is lost does not start again', async () => {
    const scene = createScene(
      [{ events: [chunk('Let')], atTheEnd: () => scene.wantStopped(), ...failure(Code.NotFound) }],
      {},
    );
    await scene.run();
    expect([scene.asked(), scene.reply()]).toEqual([[[1, 0]], { text: 'Let', status: 'incomplete' }]);
  });
});

describe('the look whether to stop', () => {
  it('goes on until it did, whatever fails meanwhile', async () => {
    const answers = [false, new Error('away'), true, true, true];
    const errors: unknown[] = [];
    let stops = 0;
    await new Promise<void>((resolve) => {
      const end = pollForCancellation({
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
    expect([stops, errors.length]).toEqual([2, 2]);
  });
});
