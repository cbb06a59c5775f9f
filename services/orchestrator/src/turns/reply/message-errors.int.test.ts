import { describe, expect, it } from '@jest/globals';
import { MESSAGE_ERRORS, type MessageData, type MessagePage, type ReplayedEvent } from '@uswarm/contract';
import { useTurnFixture } from '../../../test/turn-fixture.js';
import { stoppedReply } from './finished-reply.js';
import type { TurnWriter } from '../writer/turn-writes.js';

const errorOf = (code: keyof typeof MESSAGE_ERRORS) => ({ code, ...MESSAGE_ERRORS[code] });
const FAILED = {
  turnStatus: 'failed',
  messageStatus: 'incomplete',
  text: 'Half of',
  errorCode: 'model_timeout',
} as const;

describe('the error of a message', () => {
  const world = useTurnFixture();

  const ended = async (end: (writer: TurnWriter) => Promise<unknown>) => {
    const body = { content: { type: 'text', text: 'why?' } };
    await world.user.post<{ data: MessageData }>(world.home.messages, body, 201);
    const writer = await world.turnWorker.writerOf(await world.turnWorker.claim());
    await writer.begin();
    await end(writer);
  };
  const list = async (path = world.home.messages) => (await world.user.get<MessagePage>(path)).body.data;
  const events = async () =>
    (await world.user.get<{ data: ReplayedEvent[] }>(`${world.home.workspace}/events?since=0`)).body.data;

  it('contains the reason of a failed reply in lists, searches and events', async () => {
    await ended((writer) => writer.finish(FAILED));
    const expected = errorOf('model_timeout');
    const [reply, userMessage] = await list();
    expect(reply?.error).toEqual(expected);
    expect(userMessage?.error).toBe(null);
    expect((await list(`${world.home.messages}/search?q=half`))[0]?.error).toEqual(expected);
    const [updated, done] = (await events()).slice(-2);
    expect(updated).toMatchObject({ event: 'message.updated', payload: { message: { error: expected } } });
    expect(done).toMatchObject({ event: 'message.done', payload: { status: 'failed', error: expected } });
  });

  it.each([
    ['without a text', ''],
    ['with a text', 'Half of'],
  ])('distinguishes a stopped reply %s from a failed one', async (_what, text) => {
    await ended((writer) => writer.finish(stoppedReply(text)));
    expect((await list())[0]?.error).toEqual(errorOf('stopped'));
  });

  it('is null in a delivered reply', async () => {
    const done = { turnStatus: 'done', messageStatus: 'delivered', text: 'Because.', errorCode: null } as const;
    await ended((writer) => writer.finish(done));
    expect((await list()).map(({ error }) => error)).toEqual([null, null]);
    expect((await events()).at(-1)).toMatchObject({ event: 'message.done', payload: { error: null } });
  });

  it('is also set in a user message whose turn was abandoned', async () => {
    await ended((writer) => writer.abandon('runtime_not_ready', 'The agents did not start.'));
    const expected = errorOf('runtime_not_ready');
    expect((await list()).map(({ error }) => error)).toEqual([expected, expected]);
  });

  it('is internal_error for a code that is not documented', async () => {
    await ended((writer) => writer.finish({ ...FAILED, errorCode: 'made up by a runtime' }));
    expect((await list())[0]?.error).toEqual(errorOf('internal_error'));
  });

  it('is internal_error if the release before stored no code', async () => {
    await ended((writer) => writer.finish(FAILED));
    await world.uswarm.database
      .updateTable('messages')
      .set({ error_code: null })
      .where('workspace_id', '=', world.home.workspaceId)
      .execute();
    expect((await list())[0]?.error).toEqual(errorOf('internal_error'));
  });

  it('has the trace of the failed turn in lists and events if the turn has one', async () => {
    await ended(async (writer) => {
      const traceparent = '00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01';
      await world.uswarm.database
        .updateTable('turns')
        .set({ traceparent })
        .where('workspace_id', '=', world.home.workspaceId)
        .execute();
      await writer.finish(FAILED);
    });
    const expected = { ...errorOf('model_timeout'), extra: { trace_id: '0af7651916cd43dd8448eb211c80319c' } };
    expect((await list())[0]?.error).toEqual(expected);
    const done = (await events()).find(({ event }) => event === 'message.done');
    expect(done?.payload).toMatchObject({ error: expected });
  });
});
