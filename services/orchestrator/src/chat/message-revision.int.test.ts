import { describe, expect, it } from '@jest/globals';
import { CARD, END, TOOL, textBody, createMessageClient } from '../../test/message-client.js';
import { useTurnFixture } from '../../test/turn-fixture.js';
import { LeaseLost } from '../turns/commit.js';

const world = useTurnFixture();
const { pathOf, say, listed, begin, regenerate, edit, ids, queued, answered } = createMessageClient(world);

describe('revising a message while its turn runs', () => {
  const STEPS = 4;

  /** Writes a complete reply. `atStep` runs before step number `step`. */
  async function writeAll(step: number, atStep: () => void): Promise<'finished' | 'lost'> {
    const writer = await world.turnWorker.writerOf(await world.turnWorker.claim());
    const steps: (() => Promise<unknown>)[] = [
      () => writer.begin(),
      () => writer.tool(TOOL),
      () => writer.offer('k', CARD),
      () => writer.finish(END),
    ];
    try {
      for (const [index, run] of steps.entries()) {
        if (index === step) atStep();
        await run();
      }
      return 'finished';
    } catch (error) {
      if (error instanceof LeaseLost) return 'lost';
      throw error;
    }
  }

  it.each(Array.from({ length: STEPS }, (_, step) => step))(
    'an edit leaves only the user message with one new turn in any order of steps (step %i)',
    async (step) => {
      const { id } = await say('why?');
      for (let round = 0; round < 4; round += 1) {
        let edited: Promise<unknown> = Promise.resolve();
        await writeAll(step, () => (edited = edit(id, `text ${round}`)));
        await edited;
        expect(await ids()).toEqual([id]);
        expect(await queued()).toEqual([{ userMessage: id, agent: world.home.agents[0]?.id, status: 'queued' }]);
      }
    },
  );

  it('a regeneration while the turn ends either is rejected or replaces the whole agent message', async () => {
    const { id } = await say('why?');
    for (let round = 0; round < 6; round += 1) {
      const { writer, replyId } = await begin();
      await writer.tool(TOOL);
      const [, answer] = await Promise.all([
        writer.finish(END),
        world.user.raw<{ code?: string }>({ method: 'POST', path: `${pathOf(replyId)}/regenerate` }),
      ]);
      const outcome = answer.body?.code ?? answer.status;
      expect([200, 'turn_running']).toContain(outcome);
      if (outcome !== 200) await regenerate(replyId);
      expect(await ids()).toEqual([id]);
      expect(await queued()).toHaveLength(1);
    }
  });

  it('a concurrent edit and send leave exactly one turn per message, or the edit is rejected', async () => {
    for (let round = 0; round < 6; round += 1) {
      const { id } = await say('why?');
      const patch = {
        method: 'PATCH' as const,
        path: pathOf(id),
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(textBody('How?')),
      };
      const [answer, sent] = await Promise.all([world.user.raw<{ code?: string }>(patch), say('next')]);
      expect([200, 'message_not_latest']).toContain(answer.body?.code ?? answer.status);
      const userMessages = (await queued()).map(({ userMessage }) => userMessage);
      expect(userMessages.filter((userMessage) => userMessage === id || userMessage === sent.id)).toHaveLength(2);
    }
  });

  it('concurrent edits, regenerations, deletions and stops of one message do not deadlock', async () => {
    const { userMessage, reply } = await answered('why?');
    const json = { 'content-type': 'application/json' };
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => [
        world.user.raw<{ code?: string }>({
          method: 'PATCH',
          path: pathOf(userMessage),
          headers: json,
          body: JSON.stringify(textBody('How?')),
        }),
        world.user.raw<{ code?: string }>({ method: 'POST', path: `${pathOf(reply)}/regenerate` }),
        world.user.raw<{ code?: string }>({ method: 'POST', path: `${pathOf(userMessage)}/stop` }),
        world.user.raw<{ code?: string }>({ method: 'DELETE', path: pathOf(reply) }),
      ]).flat(),
    );
    const expected = [200, 204, 'message_not_found', 'message_not_an_answer', 'turn_not_running', 'turn_running'];
    expect(answers.map(({ status, body }) => body?.code ?? status).filter((code) => !expected.includes(code))).toEqual(
      [],
    );
    const left = await listed();
    expect(left.filter(({ status }) => status === 'pending')).toEqual([]);
    expect((await queued()).length).toBeLessThanOrEqual(1);
  });
});
