import { describe, expect, it } from '@jest/globals';
import { eventually } from '@uswarm/testkit/eventually';
import fc from 'fast-check';
import { UswarmError } from './api.js';
import { createOutbox, type OutboxItem } from './outbox.js';
import { createDatabase, type Change, type Store } from './store.js';

/** A store that survives its client. */
function keptStore(): Store & { kept: Map<string, Change> } {
  const kept = new Map<string, Change>();
  return {
    kept,
    load: async (scope) =>
      [...kept.values()].filter((one) => one.scope === scope).map(({ key, value }) => [key, value]),
    async commit(changes) {
      for (const one of changes) {
        if (one.value === undefined) kept.delete(`${one.scope}/${one.key}`);
        else kept.set(`${one.scope}/${one.key}`, one);
      }
    },
    clear: async () => kept.clear(),
    close: () => undefined,
  };
}

type Outcome = 'stored' | 'lost answer' | 'network' | 'busy' | 'refused';

/** A service that answers by its script, and stores each local id once. */
class Service {
  readonly stored: string[] = [];
  readonly script: Outcome[];
  attempts: string[] = [];
  constructor(script: readonly Outcome[]) {
    this.script = [...script];
  }
  answer(item: OutboxItem): string {
    const outcome = this.script.shift() ?? 'stored';
    this.attempts.push(item.local_id);
    if (outcome === 'network') throw new UswarmError('network_error');
    if (outcome === 'busy') throw new UswarmError('rate_limited', undefined, 429, { retry_after_ms: 1 });
    if (outcome === 'refused' && !this.stored.includes(item.local_id))
      throw new UswarmError('token_limit_reached', undefined, 429);
    if (!this.stored.includes(item.local_id)) this.stored.push(item.local_id);
    if (outcome === 'lost answer') throw new UswarmError('network_error');
    return `id of ${item.local_id}`;
  }
}

const PLACE = { workspace_id: 'w1', conversation_id: 'c1' };

async function startClient(store: Store, service: Service) {
  const client = { isOnline: true };
  const db = createDatabase(store, () => undefined);
  await db.load('outbox');
  const outbox = createOutbox({
    db,
    closing: new AbortController().signal,
    ready: () => client.isOnline,
    async send(item) {
      const id = service.answer(item);
      await db.update((draft) => draft.set(`outbox/${item.local_id}`));
      return id;
    },
    upload: async () => ({ id: 'upload-1' }),
  });
  return Object.assign(client, outbox);
}
const states = (items: OutboxItem[]) => items.map(({ local_id: id, state, code }) => ({ id, state, code }));

describe('the outbox', () => {
  it('sends each message once and in order, whatever answers are lost and whenever the client is restarted', async () => {
    const outcome = fc.constantFrom<Outcome>('stored', 'lost answer', 'network', 'busy');
    await fc.assert(
      fc.asyncProperty(
        fc.array(outcome, { maxLength: 5 }),
        fc.integer({ min: 0, max: 4 }),
        async (script, restartAfter) => {
          const [store, service] = [keptStore(), new Service(script)];
          const texts = ['m0', 'm1', 'm2'];
          const first = await startClient(store, service);
          for (const local_id of texts) void first.add(PLACE, { text: local_id, local_id });
          await eventually(() => Promise.resolve(service.attempts.length), {
            until: (count) => count >= Math.min(restartAfter, 3),
          });
          first.isOnline = false;
          await eventually(() => Promise.resolve(store.kept.size + service.stored.length), {
            until: (count) => count >= 3,
          });
          const second = await startClient(store, service);
          second.resume();
          await eventually(() => Promise.resolve(second.items().length), { until: (count) => count === 0 });
          expect(service.stored).toEqual(texts);
        },
      ),
      { numRuns: 12 },
    );
  }, 60_000);

  it('stops at a refused message until the user retries it', async () => {
    const service = new Service(['refused', 'stored']);
    const client = await startClient(keptStore(), service);
    const refusal = client.add(PLACE, { text: 'a', local_id: 'a' }).catch((error: UswarmError) => error.code);
    const sent = client.add(PLACE, { text: 'b', local_id: 'b' });
    expect(await refusal).toBe('token_limit_reached');
    expect(states(client.items())).toEqual([
      { id: 'a', state: 'refused', code: 'token_limit_reached' },
      { id: 'b', state: 'queued', code: null },
    ]);
    await client.actions.retry('a');
    expect(await sent).toBe('id of b');
    expect(service.stored).toEqual(['a', 'b']);
  });

  it('goes on behind a refused message that the user discards', async () => {
    const service = new Service(['refused']);
    const client = await startClient(keptStore(), service);
    await client.add(PLACE, { text: 'a', local_id: 'a' }).catch(() => undefined);
    const sent = client.add(PLACE, { text: 'b', local_id: 'b' });
    await client.actions.cancel('a');
    expect(await sent).toBe('id of b');
    expect(service.stored).toEqual(['b']);
  });

  it('does not delay other conversations by a refused message', async () => {
    const client = await startClient(keptStore(), new Service(['refused']));
    await client.add(PLACE, { text: 'a', local_id: 'a' }).catch(() => undefined);
    expect(await client.add({ ...PLACE, conversation_id: 'c2' }, { text: 'b', local_id: 'b' })).toBe('id of b');
  });

  it('sends the edited text of a message that waits, with the same id', async () => {
    const service = new Service([]);
    const texts: string[] = [];
    const client = await startClient(keptStore(), service);
    client.isOnline = false;
    const sent = client.add(PLACE, { text: 'a', local_id: 'a' });
    await eventually(() => Promise.resolve(client.items()), { until: (items) => items.length === 1 });
    await client.actions.edit('a', { text: 'b' });
    texts.push(...client.items().map(({ text }) => text));
    client.isOnline = true;
    client.resume();
    expect({ id: await sent, texts, stored: service.stored }).toEqual({ id: 'id of a', texts: ['b'], stored: ['a'] });
  });

  it('does not edit or cancel a message that the service may have', async () => {
    const service = new Service(['lost answer', ...Array<Outcome>(50).fill('network')]);
    const client = await startClient(keptStore(), service);
    void client.add(PLACE, { text: 'a', local_id: 'a' });
    await eventually(() => Promise.resolve(client.items()), { until: ([item]) => item?.code === 'network_error' });
    client.isOnline = false;
    await expect(client.actions.cancel('a')).rejects.toMatchObject({ code: 'message_not_editable' });
    await expect(client.actions.edit('a', { text: 'b' })).rejects.toMatchObject({ code: 'message_not_editable' });
  });

  it('sends a message once, if the app adds it again with the same id', async () => {
    const service = new Service([]);
    const client = await startClient(keptStore(), service);
    const both = await Promise.all([1, 2].map(() => client.add(PLACE, { text: 'a', local_id: 'a' })));
    expect({ both, attempts: service.attempts }).toEqual({ both: ['id of a', 'id of a'], attempts: ['a'] });
  });
});
