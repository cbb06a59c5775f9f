import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { silentLogger } from '@uswarm/service-kit';
import { eventually } from '../../../test/eventually.js';
import { KubernetesError, type UserSwarmApi, type WatchEvent } from './kubernetes-api.js';
import { PlatformUnreachable } from './runtime-driver.js';
import type { StoredUserSwarm } from './userswarm.js';
import { type UserSwarmWatch, watchUserSwarms } from './userswarm-watch.js';

const swarm = (name: string, version: number, uid = `uid of ${name}`): StoredUserSwarm => ({
  metadata: { name, uid, resourceVersion: String(version) },
  spec: {
    userId: 'u',
    placement: { runtimeNamespace: 'n' },
    runtime: { port: 1 },
    config: {},
    suspend: false,
  },
});
const gone = () => new KubernetesError(410, 'Expired', 'too old');
const broken = () => new PlatformUnreachable('broken');

/** An API server whose watches last until the test ends them. */
function createServer() {
  let items: StoredUserSwarm[] = [];
  let version = 1;
  const seen = { lists: 0, from: [] as string[] };
  let refusals: Error[] = [];
  let current: { emit: (event: WatchEvent) => void; end: (error?: Error) => void } | undefined;
  const api: Pick<UserSwarmApi, 'list' | 'watch'> = {
    async list() {
      const refusal = refusals.shift();
      if (refusal !== undefined) throw refusal;
      seen.lists += 1;
      return { items, resourceVersion: String(version) };
    },
    watch: ({ resourceVersion }, emit, signal) => {
      seen.from.push(resourceVersion);
      return new Promise<void>((resolve, reject) => {
        const end = (error?: Error): void => {
          current = undefined;
          if (error === undefined) resolve();
          else reject(error);
        };
        signal.addEventListener('abort', () => end(broken()));
        current = { emit, end };
      });
    },
  };
  const watching = async () => {
    const found = await eventually(
      () => current,
      (watch) => watch !== undefined,
    );
    if (found === undefined) throw new Error('nobody watches');
    return found;
  };
  return {
    api,
    seen,
    set(now: StoredUserSwarm[], at: number) {
      [items, version] = [now, at];
    },
    refuse: (...errors: Error[]) => void (refusals = errors),
    emit: async (type: WatchEvent['type'], object: StoredUserSwarm) => (await watching()).emit({ type, object }),
    end: async (error?: Error) => (await watching()).end(error),
    watching,
  };
}

describe('the watch of UserSwarms', () => {
  let server: ReturnType<typeof createServer>;
  let watch: UserSwarmWatch;
  let changes: [name: string, version: string | undefined][];
  const begin = (): void => {
    watch = watchUserSwarms({
      api: server.api,
      onChange: (name, now) => changes.push([name, now?.metadata.resourceVersion]),
      logger: silentLogger,
    });
  };
  beforeEach(() => {
    server = createServer();
    changes = [];
  });
  afterEach(() => watch.close());
  const version = (name: string) => watch.get(name)?.metadata.resourceVersion;

  it('knows what was there, and follows what comes', async () => {
    server.set([swarm('a', 1), swarm('b', 2)], 3);
    begin();
    await server.emit('ADDED', swarm('c', 4));
    await server.emit('MODIFIED', swarm('a', 5));
    await server.emit('DELETED', swarm('b', 6));
    expect(['a', 'b', 'c'].map(version)).toEqual(['5', undefined, '4']);
    expect(changes).toEqual([
      ['a', '1'],
      ['b', '2'],
      ['c', '4'],
      ['a', '5'],
      ['b', undefined],
    ]);
  });

  it.each([
    ['ends', undefined],
    ['breaks', broken()],
  ])('goes on where it was when it %s, bookmarks included', async (_how, error) => {
    server.set([swarm('a', 1)], 3);
    begin();
    await server.emit('MODIFIED', swarm('a', 4));
    await server.emit('BOOKMARK', swarm('', 9));
    await server.end(error);
    await server.watching();
    expect(server.seen).toEqual({ lists: 1, from: ['3', '9'] });
    expect(version('a')).toBe('4');
  });

  it('begins anew with a list when its place is gone, and says what it missed', async () => {
    server.set([swarm('a', 1), swarm('b', 2)], 3);
    begin();
    await server.watching();
    changes = [];
    server.set([swarm('a', 7), swarm('c', 8)], 9);
    await server.end(gone());
    await server.watching();
    expect(server.seen).toEqual({ lists: 2, from: ['3', '9'] });
    expect(changes).toEqual([
      ['a', '7'],
      ['c', '8'],
      ['b', undefined],
    ]);
  });

  it('begins anew with a list when it only breaks: its place may be none any more', async () => {
    begin();
    for (let time = 0; time < 5; time += 1) await server.end(broken());
    await server.watching();
    expect(server.seen.lists).toBe(2);
  });

  it('takes older versions after a list, as of a restored cluster', async () => {
    server.set([swarm('a', 100)], 100);
    begin();
    await server.watching();
    server.set([swarm('a', 50)], 60);
    await server.end(gone());
    await server.watching();
    expect(version('a')).toBe('50');
  });

  it('lists until that works', async () => {
    server.refuse(broken(), gone(), broken());
    begin();
    await server.watching();
    expect(server.seen.lists).toBe(1);
  });

  it('does not go back behind what a call of our own brought', async () => {
    begin();
    await server.watching();
    watch.put(swarm('a', 9));
    await server.emit('MODIFIED', swarm('a', 8));
    expect([version('a'), changes]).toEqual(['9', []]);
    await server.emit('MODIFIED', swarm('a', 10));
    expect(version('a')).toBe('10');
    watch.put(swarm('a', 9));
    expect(version('a')).toBe('10');
  });

  it('does not take the end of an earlier one for that of the present', async () => {
    begin();
    await server.watching();
    watch.put(swarm('a', 9, 'new'));
    await server.emit('DELETED', swarm('a', 8, 'old'));
    expect(version('a')).toBe('9');
    await server.emit('DELETED', swarm('a', 10, 'new'));
    expect(version('a')).toBeUndefined();
  });

  it('ends when it is closed, also while it waits to try again', async () => {
    server.refuse(...Array.from({ length: 100 }, broken));
    begin();
    await watch.close();
    expect(server.seen.from).toEqual([]);
  });
});
