import type { MessageData } from '@uswarm/client';
import { describe, expect, it } from '@jest/globals';
import { createOpenCards, type OpenCard } from './open-cards.js';

const card = (id: string): OpenCard => ({
  workspace_id: 'w',
  message: { id, conversation_id: 'c', content: { type: 'action_card' } } as unknown as MessageData,
});
const event = (role: string, type: string) => ({ message: { id: 'm', role, conversation_id: 'c', content: { type } } });

/** A client whose service returns one card per page. */
async function connected(stored: OpenCard[]) {
  let emit = (_payload: object, _name: string): void => undefined;
  let connect = (): void => undefined;
  let requests = 0;
  const api = {
    async get(_: string, { query: { scrollId = '0' } }: { query: { scrollId?: string } }) {
      requests += 1;
      const at = Number(scrollId);
      const next = at + 1 < stored.length ? String(at + 1) : null;
      return { data: stored.slice(at, at + 1), pagination: { next_scroll_id: next } };
    },
  };
  const cards = createOpenCards({
    api,
    on: (_: string, listener: typeof emit) => {
      emit = listener;
      return () => undefined;
    },
    connection: {
      get: () => ({ state: 'live' }),
      subscribe(listener: () => void) {
        connect = listener;
        return () => undefined;
      },
    },
  } as unknown as Parameters<typeof createOpenCards>[0]);
  const changed = (): Promise<void> =>
    new Promise((resolve) => {
      const end = cards.subscribe(() => {
        end();
        resolve();
      });
    });
  const loaded = changed();
  connect();
  await loaded;
  return {
    ids: () => cards.getSnapshot().map(({ message }) => message.id),
    changed,
    requests: () => requests,
    emit: (name: string, payload: object) => emit({ workspace_id: 'w', ...payload }, name),
  };
}

describe('createOpenCards', () => {
  it('has the cards of all pages, in their order', async () => {
    const { ids } = await connected([card('old'), card('new')]);
    expect(ids()).toEqual(['old', 'new']);
  });

  it.each([
    ['a card changes', 'message.updated', event('agent', 'action_card')],
    ['the user writes in a conversation with a card', 'message.new', event('user', 'text')],
    ['a card is deleted', 'message.deleted', { message_id: 'old' }],
    ['a conversation with a card is deleted', 'conversation.deleted', { conversation_id: 'c' }],
    ['a workspace is deleted', 'workspace.deleted', {}],
    ['events are lost', 'workspace.resync', {}],
    ['the events begin', 'workspace.subscribed', { workspace_ids: ['w'] }],
  ])('loads them again when %s', async (_, name, payload) => {
    const stored = [card('old')];
    const { ids, changed, emit } = await connected(stored);
    stored.pop();
    const loaded = changed();
    emit(name, payload);
    await loaded;
    expect(ids()).toEqual([]);
  });

  it('does not load them again for other events', async () => {
    const { requests, emit } = await connected([card('old')]);
    emit('message.new', event('agent', 'text'));
    emit('message.deleted', { message_id: 'another' });
    emit('message.done', event('agent', 'text'));
    expect(requests()).toBe(1);
  });

  it('loads them once more after changes while they are loaded', async () => {
    const { requests, changed, emit } = await connected([card('old')]);
    const loaded = changed();
    for (let n = 0; n < 3; n += 1) emit('message.updated', event('agent', 'action_card'));
    await loaded;
    expect(requests()).toBe(3);
  });
});
