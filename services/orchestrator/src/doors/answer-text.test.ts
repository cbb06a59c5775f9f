import { describe, expect, it } from '@jest/globals';
import type { MessageData } from '@uswarm/contract';
import { createAnswerText } from './answer-text.js';

const QUESTION = 'q';

function setUp() {
  const sent: string[] = [];
  /** Messages as they were reported. */
  const reported: string[] = [];
  const answer = createAnswerText({
    onText: (part) => void sent.push(part),
    onPart: ({ id, text, isFinal }) => void reported.push(`${id}: ${text}${isFinal ? '.' : ''}`),
  });
  const chunk = (id: string, text: string, offset: number, more: { generation?: number; to?: string } = {}): void =>
    answer.chunk({
      message_id: id,
      in_reply_to: more.to ?? QUESTION,
      chunk: text,
      generation: more.generation ?? 1,
      offset,
    });
  const message = (id: string, content: object, parts: object = {}): void =>
    answer.message({ id, role: 'agent', in_reply_to: QUESTION, status: 'delivered', content, ...parts } as MessageData);
  const text = (id: string, value: string, parts: object = {}): void =>
    message(id, { type: 'text', text: value }, parts);
  return { answer, sent, reported, chunk, message, text };
}

describe('the text of an answer', () => {
  it('is passed on as it is written, also if it begins before the id of the question is known', () => {
    const { answer, sent, chunk, text } = setUp();
    chunk('a', 'one ', 0);
    chunk('other', 'no', 0, { to: 'another question' });
    answer.answers(QUESTION);
    chunk('a', 'two', 4);
    text('a', 'one two');
    expect({ sent, ...answer.finish() }).toEqual({
      sent: ['one ', 'two'],
      text: 'one two',
      cards: [],
      failure: null,
    });
  });

  it('has what the bus has lost when the message is complete', () => {
    const { answer, sent, chunk, text } = setUp();
    answer.answers(QUESTION);
    chunk('a', 'one ', 0);
    chunk('a', 'three', 8);
    text('a', 'one two three');
    expect(sent).toEqual(['one ', 'two three']);
  });

  it('has all messages one after the other, in the order in which they begin', () => {
    const { answer, sent, chunk, text } = setUp();
    answer.answers(QUESTION);
    chunk('a', 'one', 0);
    chunk('b', 'uno', 0);
    text('b', 'uno due');
    expect(sent).toEqual(['one']);
    text('a', 'one two');
    expect({ sent, text: answer.finish().text }).toEqual({
      sent: ['one', ' two\n\nuno due'],
      text: 'one two\n\nuno due',
    });
  });

  it('waits for text that a new generation repeats, and is sent again if it differs', () => {
    const { answer, sent, chunk, text } = setUp();
    answer.answers(QUESTION);
    chunk('a', 'one two', 0);
    chunk('a', 'one', 0, { generation: 2 });
    chunk('a', ' three', 3, { generation: 2 });
    text('a', 'one three');
    expect({ text: answer.finish().text, sent }).toEqual({ text: 'one three', sent: ['one two', '\n\none three'] });
  });

  it('is a card that waits for the user, until the user has chosen', () => {
    const { answer, message } = setUp();
    answer.answers(QUESTION);
    const card = { type: 'action_card', title: 'Send it?', description: 'To Bob.', actions: [] };
    message('a', { ...card, selected_action_id: null });
    const [waits, { text, cards }] = [answer.waits(), answer.finish()];
    expect({ waits, text, cards: cards.map(({ id }) => id) }).toEqual({
      waits: true,
      text: 'Send it?\n\nTo Bob.',
      cards: ['a'],
    });
    message('a', { ...card, selected_action_id: 'yes' });
    expect(answer.waits()).toBe(false);
  });

  it('reports each of its messages with its text, and those of the question that is known later', () => {
    const { answer, reported, chunk, text } = setUp();
    chunk('a', 'one ', 0);
    chunk('b', 'no', 0, { to: 'another question' });
    answer.answers(QUESTION);
    chunk('c', 'uno', 0);
    text('a', 'one two');
    expect(reported).toEqual(['a: one ', 'c: uno', 'a: one two.']);
  });

  it('lacks parts until a text is known from its beginning', () => {
    const { answer, sent, chunk } = setUp();
    answer.answers(QUESTION);
    chunk('a', 'three', 8);
    const lacked = answer.lacksParts();
    const stream = { message_id: 'a', in_reply_to: QUESTION, conversation_id: 'c', agent_id: 'x', chunk_seq: 3 };
    answer.stream({ ...stream, generation: 1, text: 'one two three' });
    // It was read before.
    answer.stream({ ...stream, generation: 1, text: 'one' });
    chunk('a', ' four', 13);
    expect({ sent, lacked, lacks: answer.lacksParts() }).toEqual({
      sent: ['one two three', ' four'],
      lacked: true,
      lacks: false,
    });
  });

  it('does not fail if the agent has withdrawn a card and has asked again', () => {
    const { answer, message, text } = setUp();
    answer.answers(QUESTION);
    const card = { type: 'action_card', title: 'Send it?', description: '', actions: [], selected_action_id: null };
    message('a', card, { status: 'failed', error: { code: 'withdrawn' } });
    text('b', 'Sent.');
    expect(answer.finish()).toMatchObject({ cards: [], failure: null });
  });

  it.each([
    ['token_limit_reached', { code: 'token_limit_reached', status: 429 }],
    ['model_failed', { code: 'internal_error', message: 'The answer failed: model_failed.' }],
  ])('fails with %s as a request does', (code, failure) => {
    const { answer, text } = setUp();
    answer.answers(QUESTION);
    text('a', '', { status: 'failed', error: { code } });
    expect(answer.finish().failure).toMatchObject({ ...failure, reason: code });
  });
});
