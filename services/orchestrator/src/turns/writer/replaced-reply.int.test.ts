import { beforeEach, describe, expect, it } from '@jest/globals';
import type { MessageStatus } from '@uswarm/contract';
import { giveTask } from '../../../test/delegated-turn.js';
import { ASKED, CARD, createMessageClient, END } from '../../../test/message-client.js';
import { useTurnFixture } from '../../../test/turn-fixture.js';
import { createWithTransaction } from '../../platform/database/transaction.js';
import type { LeasedJob } from '../../platform/jobs/job-queue.js';
import { approvalCard, callHash } from '../../records/approval-card.js';
import { stoppedReply } from '../reply/finished-reply.js';
import type { TurnWriter } from './turn-writes.js';

const FAILED = { turnStatus: 'failed', messageStatus: 'failed', text: '', errorCode: 'model_unavailable' } as const;

describe('a reply without a text', () => {
  const world = useTurnFixture();
  const client = createMessageClient(world);
  let job: LeasedJob;
  let writer: TurnWriter;
  let replyId: string;

  /** The other process's reply has no text. */
  async function continued(): Promise<TurnWriter> {
    const next = await world.turnWorker.writerOf(job);
    await next.begin();
    next.track({ current: () => undefined, saved: () => undefined, isEmpty: () => true });
    return next;
  }

  beforeEach(async () => {
    await client.say('go');
    job = await world.turnWorker.claim();
    writer = await world.turnWorker.writerOf(job);
    ({ replyId } = await writer.begin());
    writer.track({ current: () => undefined, saved: () => undefined, isEmpty: () => true });
  });

  const ask = (id: string, by = writer) =>
    by.ask({
      id,
      tool: 'send',
      argumentsHash: callHash('send', id),
      card: approvalCard({ title: id, changes: [] }, ASKED),
    });
  const shown = async () =>
    (await client.listed()).flatMap(({ role, id, content, status, extended_status: exact }) =>
      role === 'agent' ? [{ id, type: content.type, status, exact, text: 'text' in content ? content.text : '' }] : [],
    );
  const types = async () => (await shown()).map(({ type }) => type);
  /** Message ids in `message.done` events. */
  const ends = async () =>
    (await client.events()).flatMap(({ event, payload }) =>
      event === 'message.done' ? [(payload as { message_id: string }).message_id] : [],
    );
  const task = async () =>
    giveTask(
      world.turnWorker.stores,
      { turn: await world.turnWorker.turnOf(job) },
      createWithTransaction(world.uswarm.database),
    );

  it('becomes the card that asks for an approval, and has no end', async () => {
    await ask('a');
    await ask('b');
    expect(await writer.suspend('', ['a', 'b'])).toBeDefined();
    expect(await shown()).toMatchObject([
      { id: replyId, type: 'action_card', exact: 'delivered' },
      { type: 'action_card', exact: 'delivered' },
    ]);
    expect(await ends()).toEqual([]);
  });

  it('becomes the task that it waits for, and has no end', async () => {
    expect(await task()).toBeUndefined();
    await (await continued()).suspend('', []);
    expect(await shown()).toMatchObject([{ id: replyId, type: 'delegation', exact: 'delivered' }]);
    expect(await ends()).toEqual([]);
  });

  it('becomes the card that asks for more tokens, and has no end', async () => {
    const limits = {
      reached: async () => undefined,
      reserve: async () => ({ tokens: 10 }),
      turnBudget: async () => ({ tokens: 10 }),
    };
    const budgeted = await world.turnWorker.writerOf(job, { limits });
    await budgeted.begin();
    budgeted.track({ current: () => undefined, saved: () => undefined, isEmpty: () => true });
    await budgeted.askForTokens('');
    expect(await shown()).toMatchObject([{ id: replyId, type: 'action_card' }]);
    expect(await ends()).toEqual([]);
  });

  it('is an unread card, although the user has seen the loading reply', async () => {
    await world.user.post(`${world.home.conversation}/read`, undefined, 204);
    await ask('a');
    const { body } = await world.user.get<{ data: { unread_count: number } }>(world.home.conversation);
    expect(body.data.unread_count).toBe(1);
  });

  it('is followed by another reply if the agent writes after the card', async () => {
    await ask('a');
    const another = await writer.showReply();
    expect(await types()).toEqual(['action_card', 'loading']);
    await writer.finish(END);
    expect(await shown()).toMatchObject([
      { id: replyId, type: 'action_card' },
      { id: another.replyId, type: 'text', text: END.text, status: 'delivered' },
    ]);
    expect(await ends()).toEqual([another.replyId]);
  });

  it('tells that the agent has nothing to add if it continues and writes nothing', async () => {
    await ask('a');
    await writer.finish({ ...END, messageStatus: 'silent', text: '' });
    expect(await shown()).toMatchObject([
      { id: replyId, type: 'action_card' },
      { type: 'text', exact: 'silent' },
    ]);
  });

  it('tells that the agent has nothing to add besides a card that does not let it wait', async () => {
    await writer.offer('k', CARD);
    await writer.finish({ ...END, messageStatus: 'silent', text: '' });
    expect(await shown()).toMatchObject([
      { id: replyId, type: 'text', exact: 'silent', text: 'Manager has nothing to add for now.' },
      { type: 'action_card' },
    ]);
    expect(await ends()).toEqual([replyId]);
  });

  it('tells that it still waits for another decision', async () => {
    writer.track({ current: () => undefined, saved: () => undefined, isEmpty: () => false });
    await ask('a');
    await writer.suspend('', ['a']);
    expect(await shown()).toMatchObject([{ id: replyId, type: 'text', exact: 'silent' }, { type: 'action_card' }]);
    expect(await ends()).toEqual([replyId]);
  });

  it('is shown once', async () => {
    expect(await writer.showReply()).toMatchObject({ replyId });
    expect(await types()).toEqual(['loading']);
  });

  it.each([
    ['fails', FAILED],
    ['is stopped', stoppedReply('')],
  ])('leaves nothing loading if the turn %s after the card', async (_what, end) => {
    await ask('a');
    await writer.finish(end);
    const [card, reply, ...more] = await shown();
    expect(more).toEqual([]);
    expect(card).toMatchObject({ id: replyId, type: 'action_card', exact: 'failed' });
    expect(reply).toMatchObject({ type: 'text', status: 'failed' });
    expect(reply?.text).not.toBe('');
    expect(await ends()).toEqual([reply?.id]);
  });

  it('does not come back if the process is killed before the turn is suspended', async () => {
    await ask('a');
    const next = await continued();
    expect(await types()).toEqual(['action_card']);
    await ask('b', next);
    expect(await next.suspend('', ['a', 'b'])).toBeDefined();
    expect(await types()).toEqual(['action_card', 'action_card']);
    expect(await ends()).toEqual([]);
  });

  it('states the failure of a turn that another process gives up', async () => {
    await ask('a');
    await (await world.turnWorker.writerOf(job)).abandon('internal_error', 'Something failed.');
    expect(await shown()).toMatchObject([
      { id: replyId, type: 'action_card', exact: 'failed' },
      { type: 'text', text: 'Something failed.', status: 'failed' },
    ]);
  });

  it('keeps its place if it has a text', async () => {
    writer.track({ current: () => undefined, saved: () => undefined, isEmpty: () => false });
    await ask('a');
    await writer.suspend('I ask.', ['a']);
    expect(await shown()).toMatchObject([
      { id: replyId, type: 'text', text: 'I ask.', status: 'delivered' },
      { type: 'action_card' },
    ]);
    expect(await ends()).toEqual([replyId]);
  });

  it.each<[string, MessageStatus, string, MessageStatus, RegExp]>([
    ['nothing', 'silent', '', 'silent', /nothing to add/],
    ['no text', 'delivered', '', 'silent', /nothing to add/],
    ['only blanks', 'delivered', ' \n\u200B', 'silent', /nothing to add/],
    ['another agent', 'delegated', '', 'delegated', /hands over/],
    ['an unfinished blank', 'incomplete', '\n', 'failed', /./],
    ['a failure without a reason', 'failed', '', 'failed', /./],
  ])('is shown with a text if it ends with %s', async (_what, messageStatus, text, exact, expected) => {
    await writer.finish({ ...END, messageStatus, text });
    const [reply] = await shown();
    expect(reply).toMatchObject({ id: replyId, type: 'text', exact });
    expect(reply?.text).toMatch(expected);
    expect(await ends()).toEqual([replyId]);
  });
});
