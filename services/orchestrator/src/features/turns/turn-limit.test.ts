import { Code } from '@connectrpc/connect';
import { describe, expect, it } from '@jest/globals';
import {
  type Call,
  chunk,
  createScene,
  done,
  failure,
  stopped,
  thinking,
  tool,
  used,
} from '../../../test/turn-scene.js';

describe('a turn', () => {
  let scene: ReturnType<typeof createScene>;
  const play = (script: Call[], more: Parameters<typeof createScene>[1] = {}) => (scene = createScene(script, more));

  describe('when the tokens of the month are used up', () => {
    const NOTE = 'The token limit of your plan for this month is reached. It resets on 2026-12-01 (UTC).';
    const LIMITED = { status: 'failed', errorCode: 'token_limit_reached' };
    const SENTENCE = 'The token limit of this month is reached.';
    const limited = () => true;
    // The limit is reached by what the first call used: it is looked at before the turn begins, and after.
    const afterTheFirstLook = () => {
      let looks = 0;
      return () => (looks += 1) > 1;
    };

    it('before it begins, fails without asking the runtime, and says so', async () => {
      play([], { limited });
      expect(await scene.run()).toEqual({ done: true });
      expect([scene.seen.ended, scene.seen.notes, scene.asked()]).toEqual([LIMITED, [NOTE], []]);
      expect([scene.reply(), scene.question()?.status]).toEqual([{ text: SENTENCE, status: 'failed' }, 'failed']);
    });

    it('by its last model call, is answered all the same', async () => {
      play([{ events: [chunk('42'), used, chunk('!'), done()] }], { limited: afterTheFirstLook() });
      expect(await scene.run()).toEqual({ done: true });
      expect([scene.reply(), scene.seen.notes, scene.seen.stops]).toEqual([
        { text: '42!', status: 'delivered' },
        [],
        [],
      ]);
    });

    it('while it goes on, is stopped once, and fails with what it said until then', async () => {
      const events = [chunk('Let me see'), used, tool, thinking, used, stopped];
      play([{ events }], { limited: afterTheFirstLook() });
      expect(await scene.run()).toEqual({ done: true });
      expect(scene.seen.stops).toEqual([{ turnId: 't', generation: 1 }]);
      expect([scene.seen.ended, scene.seen.notes]).toEqual([LIMITED, [NOTE]]);
      expect(scene.reply()).toEqual({ text: 'Let me see', status: 'incomplete' });
    });

    it('and it said nothing yet, fails with a sentence', async () => {
      play([{ events: [used, tool, stopped] }], { limited: afterTheFirstLook() });
      await scene.run();
      expect(scene.reply()).toEqual({ text: SENTENCE, status: 'failed' });
    });

    it('and it came to its end before it could be stopped, is answered', async () => {
      play([{ events: [used, thinking, chunk('42'), done()] }], { limited: afterTheFirstLook() });
      await scene.run();
      expect([scene.reply(), scene.seen.notes]).toEqual([{ text: '42', status: 'delivered' }, []]);
    });

    it('is not started anew where the runtime lost it', async () => {
      play([{ events: [used, tool] }, failure(Code.NotFound)], { limited: afterTheFirstLook() });
      expect(await scene.run()).toEqual({ done: true });
      expect([scene.seen.ended, scene.asked().length]).toEqual([LIMITED, 2]);
    });
  });
});
