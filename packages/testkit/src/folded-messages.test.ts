import { describe, expect, it } from '@jest/globals';
import type { MessageData } from '@uswarm/contract';
import { foldedMessages } from './folded-messages.js';
import type { SeenEvent } from './test-client.js';

const message = (id: string, rev: number, position = id) =>
  ({ id, rev, position, conversation_id: 'c' }) as unknown as MessageData;
const created = (...[id, rev, position]: Parameters<typeof message>): SeenEvent => ({
  name: 'message.new',
  payload: { message: message(id, rev, position) },
});
const updated = (id: string, rev: number): SeenEvent => ({
  name: 'message.updated',
  payload: { message: message(id, rev) },
});

describe('messages that are folded from events', () => {
  it('have the highest revision, also if an older copy follows', () => {
    expect(foldedMessages([created('a', 1), updated('a', 3), updated('a', 2)], 'c')).toEqual([message('a', 3)]);
  });

  it('do not contain a deleted message, also if a copy of it follows', () => {
    const deleted: SeenEvent = { name: 'message.deleted', payload: { message_id: 'a' } };
    expect(foldedMessages([created('a', 1), created('b', 2), deleted, updated('a', 4)], 'c')).toEqual([
      message('b', 2),
    ]);
  });

  it('are those of the conversation, ordered by position', () => {
    const other = { name: 'message.new', payload: { message: { ...message('x', 3), conversation_id: 'd' } } } as const;
    const positions = foldedMessages([created('a', 1, '2'), created('b', 2, '1'), other], 'c').map(({ id }) => id);
    expect(positions).toEqual(['b', 'a']);
  });
});
