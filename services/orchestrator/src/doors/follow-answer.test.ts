import { describe, expect, it } from '@jest/globals';
import type { MessageData } from '@uswarm/contract';
import { createAnswerText } from './answer-text.js';
import { createFollowAnswer, createWaiting, type FollowAnswerDeps } from './follow-answer.js';

const QUESTION = 'q';

const eventOf = (seq: number, id: string, text: string) => ({
  seq,
  event: 'message.updated',
  payload: {
    message: { id, role: 'agent', in_reply_to: QUESTION, status: 'delivered', content: { type: 'text', text } },
    // As it is when the event is read.
    answer_ended: true,
  },
});

/** Follows a question whose log is read in these parts. */
async function follow(...parts: object[][]): Promise<{ text: string; reads: string[] }> {
  const reads: string[] = [];
  const followAnswer = createFollowAnswer({
    events: {
      after: async (_userId: string, _workspaceId: string, position: string) => {
        reads.push(position);
        return { events: parts.shift() ?? [], hasNext: false };
      },
    },
  } as Partial<FollowAnswerDeps> as FollowAnswerDeps);
  const text = createAnswerText({});
  text.answers(QUESTION);
  const { signal } = new AbortController();
  const waiting = createWaiting(signal);
  const asked = { conversationId: 'c', questionId: QUESTION };
  const place = { userId: 'u', workspaceId: 'w', asked, from: '0' };
  await followAnswer({ ...place, text, waiting, signal, isKnown: false, withTasks: false });
  waiting.end();
  return { text: text.finish().text, reads };
}

describe('an answer that is followed', () => {
  it('has the messages whose events are read after the first one that tells the end', async () => {
    expect(await follow([eventOf(1, 'a', 'one'), eventOf(2, 'b', 'two')])).toEqual({
      text: 'one\n\ntwo',
      reads: ['0', '2'],
    });
  });

  it('has the messages that are stored while that event is read', async () => {
    expect(await follow([eventOf(1, 'a', 'one')], [eventOf(2, 'b', 'two')])).toEqual({
      text: 'one\n\ntwo',
      reads: ['0', '1'],
    });
  });

  it('ends when it waits for the user', async () => {
    const card = { type: 'action_card', title: 'Which?', description: '', actions: [], selected_action_id: null };
    const message = { id: 'a', role: 'agent', in_reply_to: QUESTION, status: 'delivered', content: card };
    const event = { seq: 1, event: 'message.new', payload: { message: message as Partial<MessageData> } };
    expect(await follow([event])).toEqual({ text: 'Which?', reads: ['0', '1'] });
  });
});
