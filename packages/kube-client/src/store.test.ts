import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { KubernetesObject } from '@uswarm/kube-types';
import { isNewer } from './resource-version.js';
import { type Change, createStore, type Store } from './store.js';

const object = (name: string, version: number, uid = `uid-${name}`): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace: 'ns', uid, resourceVersion: `${version}`, labels: { team: uid } },
});

describe('isNewer', () => {
  it.each([
    ['9', '10', false],
    ['10', '9', true],
    ['10', '10', false],
    ['99999999999999999999', '100000000000000000000', false],
    [undefined, '1', true],
    ['1', undefined, true],
    ['b', 'a', true],
  ])('compares %s with %s: newer is %s', (a, b, newer) => expect(isNewer(a, b)).toBe(newer));
});

interface Step {
  kind: 'write' | 'delete' | 'own write' | 'own delete' | 'answer' | 'deliver' | 'list';
  name: string;
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('write', 'delete', 'own write', 'own delete', 'answer', 'deliver', 'deliver', 'list'),
  name: fc.constantFrom('a', 'b'),
});

/** A server with delayed events, whose objects can change while a list request is in flight. */
function createServer() {
  const objects = new Map<string, KubernetesObject>();
  let version = 0;
  let created = 0;
  const events: { type: 'put' | 'remove'; object: KubernetesObject }[] = [];
  return {
    objects,
    events,
    write(name: string): KubernetesObject {
      version += 1;
      created += objects.has(name) ? 0 : 1;
      const uid = objects.get(name)?.metadata.uid ?? `uid-${name}-${created}`;
      const written = object(name, version, uid);
      objects.set(name, written);
      events.push({ type: 'put', object: written });
      return written;
    },
    delete(name: string): KubernetesObject | undefined {
      const found = objects.get(name);
      if (found === undefined) return undefined;
      version += 1;
      objects.delete(name);
      events.push({ type: 'remove', object: object(name, version, found.metadata.uid) });
      return found;
    },
    snapshot: () => ({ items: [...objects.values()], resourceVersion: `${version}` }),
  };
}

describe('createStore', () => {
  it('is never older than our own writes and converges to the server', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const server = createServer();
        const store = createStore();
        const stale: string[] = [];
        /** Responses to our own writes that are in flight. */
        const answers: (() => void)[] = [];
        let listing: ReturnType<typeof server.snapshot> | undefined;
        const deliver = (): void => {
          const event = server.events.shift();
          if (event?.type === 'put') store.put(event.object);
          else if (event !== undefined) store.remove(event.object);
        };
        for (const { kind, name } of steps) {
          if (kind === 'write') server.write(name);
          else if (kind === 'delete') server.delete(name);
          // No watch runs while a list is in flight.
          else if (kind === 'deliver' && listing === undefined) deliver();
          else if (kind === 'own write') {
            const written = server.write(name);
            answers.push(() => {
              store.written(written);
              if (server.objects.get(name)?.metadata.uid !== written.metadata.uid) return;
              const { resourceVersion } = store.get(`ns/${name}`)?.metadata ?? {};
              if (resourceVersion === undefined || isNewer(written.metadata.resourceVersion, resourceVersion)) {
                stale.push(name);
              }
            });
          } else if (kind === 'own delete') {
            const found = store.get(`ns/${name}`);
            if (found === undefined || server.objects.get(name)?.metadata.uid !== found.metadata.uid) continue;
            server.delete(name);
            answers.push(() => {
              store.deleted(found);
              if (store.get(`ns/${name}`)?.metadata.uid === found.metadata.uid) stale.push(name);
            });
          } else if (kind === 'answer') answers.shift()?.();
          else if (kind === 'list' && listing === undefined) {
            // Events from a lost watch are no longer delivered; a list follows.
            server.events.length = 0;
            listing = server.snapshot();
          } else if (kind === 'list' && listing !== undefined) {
            store.replace(listing.items, listing.resourceVersion);
            listing = undefined;
          }
        }
        if (listing !== undefined) store.replace(listing.items, listing.resourceVersion);
        while (server.events.length > 0) deliver();
        for (const answer of answers) answer();
        expect(stale).toEqual([]);
        const versions = (objects: KubernetesObject[]): unknown[] =>
          objects.map(({ metadata }) => [metadata.name, metadata.resourceVersion]).toSorted();
        expect(versions(store.list())).toEqual(versions([...server.objects.values()]));
      }),
      { numRuns: 1_000 },
    );
  });

  it('notifies of changes by watches and lists, and not of our own writes', () => {
    const changes: string[] = [];
    const name = ({ before, after }: Change): string =>
      `${before?.metadata.resourceVersion ?? '-'}→${after?.metadata.resourceVersion ?? '-'}`;
    const store = createStore({ onChange: (change) => changes.push(name(change)) });
    store.put(object('a', 1));
    store.written(object('a', 2));
    store.put(object('a', 2));
    store.put(object('a', 3));
    store.replace([], '9');
    expect(changes).toEqual(['-→1', '2→3', '3→-']);
  });

  describe('a write that is in flight', () => {
    const createWrite = () => {
      const changes: string[] = [];
      const version = (state: KubernetesObject | undefined): string => state?.metadata.resourceVersion ?? '-';
      const store = createStore({
        onChange: ({ before, after }) => changes.push(`${version(before)}→${version(after)}`),
      });
      const { promise, resolve, reject } = Promise.withResolvers<KubernetesObject>();
      return { store, changes, answer: resolve, fail: reject, done: store.write('ns/a', () => promise) };
    };

    it('causes no notification if its watch event arrives before its response', async () => {
      const { answer, changes, done, store } = createWrite();
      store.put(object('a', 2));
      expect(store.get('ns/a')).toEqual(object('a', 2));
      answer(object('a', 2));
      expect(await done).toEqual(object('a', 2));
      expect(changes).toEqual([]);
      store.put(object('a', 3));
      expect(changes).toEqual(['2→3']);
    });

    it('delays notifications of other changes of the object until its response', async () => {
      const { answer, changes, done, store } = createWrite();
      for (const version of [1, 2, 3]) store.put(object('a', version));
      store.put(object('b', 4));
      store.remove(object('a', 5));
      expect(changes).toEqual(['-→4']);
      answer(object('a', 2));
      await done;
      expect(changes).toEqual(['-→4', '-→1', '2→3', '3→-']);
      expect(store.get('ns/a')).toBeUndefined();
    });

    it('delays them until the last of several responses', async () => {
      const { answer, changes, done, store } = createWrite();
      store.put(object('a', 1));
      await store.write('ns/a', async () => object('a', 2));
      expect(changes).toEqual([]);
      answer(object('a', 3));
      await done;
      expect(changes).toEqual(['-→1']);
      expect(store.get('ns/a')).toEqual(object('a', 3));
    });

    it('loses no notification if it fails', async () => {
      const { changes, done, fail, store } = createWrite();
      store.put(object('a', 2));
      fail(new Error('no response'));
      await expect(done).rejects.toThrow('no response');
      expect(changes).toEqual(['-→2']);
    });
  });

  it('keeps our own writes during a list request', () => {
    const store = createStore();
    store.written(object('a', 12));
    store.replace([object('b', 3)], '10');
    expect(store.list().map(({ metadata }) => metadata.name)).toEqual(['a', 'b']);
  });

  it.each([
    ['a watch', (store: Store) => store.remove(object('a', 3))],
    ['a list', (store: Store) => store.replace([], '3')],
  ])('does not restore an object by a late response after %s reported its deletion', (_what, report) => {
    const store = createStore();
    store.put(object('a', 1));
    report(store);
    store.written(object('a', 2));
    expect(store.list()).toEqual([]);
  });

  it('stores an object again after our own write made it match the selector', () => {
    const store = createStore();
    store.put(object('a', 1));
    store.remove(object('a', 3));
    store.written(object('a', 4));
    store.put(object('a', 4));
    expect(store.list()).toEqual([object('a', 4)]);
  });

  it('accepts a new object when the response to the deletion arrives after its watch event', () => {
    const store = createStore();
    store.put(object('a', 1));
    store.remove(object('a', 3));
    store.deleted(object('a', 1));
    store.put(object('a', 5));
    expect(store.list()).toEqual([object('a', 5)]);
  });

  it('accepts a list with an earlier version after a reset', () => {
    const store = createStore();
    store.put(object('a', 500));
    store.put(object('b', 501));
    store.replace([object('a', 7)], '10', true);
    expect(store.list().map(({ metadata }) => [metadata.name, metadata.resourceVersion])).toEqual([['a', '7']]);
  });

  it('returns the current objects of an index value', () => {
    const store = createStore({ indexBy: ({ metadata }) => metadata.labels?.['team'] });
    store.put(object('a', 1, 'red'));
    store.put(object('b', 2, 'red'));
    store.put({ ...object('a', 3, 'red'), metadata: { ...object('a', 3, 'red').metadata, labels: { team: 'blue' } } });
    expect(store.indexed('red').map(({ metadata }) => metadata.name)).toEqual(['b']);
    expect(store.indexed('blue').map(({ metadata }) => metadata.name)).toEqual(['a']);
    store.clear();
    expect(store.indexed('red')).toEqual([]);
  });

  it('stores reduced objects of watches, lists and our own writes', () => {
    const store = createStore({ reduce: ({ spec: _spec, ...rest }) => rest as KubernetesObject });
    const whole = (name: string, version: number): KubernetesObject => ({ ...object(name, version), spec: { a: 1 } });
    store.replace([whole('a', 1)], '1');
    store.put(whole('b', 2));
    store.written(whole('c', 3));
    expect(store.list()).toEqual([object('a', 1), object('b', 2), object('c', 3)]);
  });

  it.each([false, true])('keeps managed fields only if configured: %s', (keepManagedFields) => {
    const store = createStore({ keepManagedFields });
    const plain = object('a', 1);
    const full = { ...plain, metadata: { ...plain.metadata, managedFields: [{ manager: 'x' }] } } as KubernetesObject;
    store.put(full);
    expect(store.get('ns/a')).toEqual(keepManagedFields ? full : plain);
    store.replace([full], '0', true);
    expect(store.get('ns/a')).toEqual(keepManagedFields ? full : plain);
  });
});
