import type { MessageData } from '@uswarm/client';
import { describe, expect, it } from '@jest/globals';
import { createOpenCards } from './open-cards.js';

const card = (id: string, minute: number, changes: object = {}): MessageData =>
  ({
    id,
    conversation_id: 'c',
    created_at: `2026-01-01T10:0${minute}:00Z`,
    rev: 1,
    error: null,
    content: { type: 'action_card', actions: [], selected_action_id: null },
    ...changes,
  }) as unknown as MessageData;
const chosen = { rev: 2, content: { type: 'action_card', actions: [], selected_action_id: 'yes' } };

/** A client with one workspace, whose active conversation has `stored`. */
function started(stored: MessageData[]) {
  let emit = (_payload: object, _name: string): void => undefined;
  const signal = <Value>(value: Value) => ({
    get: () => value,
    getSnapshot: () => value,
    subscribe(listener: () => void) {
      queueMicrotask(listener);
      return () => undefined;
    },
  });
  const conversation = { id: 'c', updated_at: new Date().toISOString(), last_message: null };
  const cards = createOpenCards({
    api: { get: async () => ({ data: stored }) },
    on: (_: string, listener: typeof emit) => {
      emit = listener;
      return () => undefined;
    },
    workspaces: signal([{ id: 'w' }]),
    workspace: () => ({ conversations: signal([conversation]) }),
  } as unknown as Parameters<typeof createOpenCards>[0]);
  const changed = (): Promise<void> => new Promise((resolve) => void cards.subscribe(resolve));
  const ids = (): string[] => cards.getSnapshot().map(({ message }) => message.id);
  return { ids, changed, emit: (name: string, payload: object) => emit({ workspace_id: 'w', ...payload }, name) };
}

describe('createOpenCards', () => {
  it('has the cards of the active conversations, oldest first, without those that were decided or withdrawn', async () => {
    const withdrawn = { error: { code: 'withdrawn' } };
    const all = [card('new', 3), card('old', 1), card('chosen', 2, chosen), card('gone', 2, withdrawn)];
    const { ids, changed } = started(all);
    await changed();
    expect(ids()).toEqual(['old', 'new']);
  });

  it('follows the events about cards', async () => {
    const { ids, changed, emit } = started([card('old', 1)]);
    await changed();
    emit('message.new', { message: card('new', 2) });
    expect(ids()).toEqual(['old', 'new']);
    emit('message.updated', { message: card('old', 1, chosen) });
    emit('message.updated', { message: card('old', 1) });
    expect(ids()).toEqual(['new']);
    emit('message.deleted', { message_id: 'new' });
    expect(ids()).toEqual([]);
  });

  it('forgets the cards of a conversation that is deleted', async () => {
    const { ids, changed, emit } = started([card('old', 1)]);
    await changed();
    emit('conversation.deleted', { conversation_id: 'c' });
    expect(ids()).toEqual([]);
  });
});
