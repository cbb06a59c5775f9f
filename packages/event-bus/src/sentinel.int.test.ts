import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { startValkeySentinels, type ValkeySentinels } from '@uswarm/dev-servers';
import { silentLogger } from '@uswarm/service-kit';
import { describeWith } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { describeBus } from '../test/bus-contract.js';
import { type Load, startLoad } from '../test/load.js';
import type { EventBus } from './event-bus.js';
import { createRedisBus } from './redis.js';

const WORKSPACES = 24;
/** Milliseconds for a failover by the servers and the move of all subscriptions. The documentation promises 5 s after it. */
const FAILOVER_MS = 20_000;

describeWith('valkey', 'the bus with sentinels', () => {
  let folder: string;
  const buses: EventBus[] = [];
  const loads: Load[] = [];
  const open = (url: string): EventBus => {
    const bus = createRedisBus({ url, logger: silentLogger, heartbeatMs: 100, answerDeadlineMs: 1_000 });
    buses.push(bus);
    return bus;
  };
  const startedLoad = async (url: string): Promise<Load> => {
    const load = await startLoad(open(url), open(url), WORKSPACES);
    loads.push(load);
    await load.delivered();
    return load;
  };
  /** Reports of one moment are made together, a little later. */
  const unreported = (load: Load): Promise<string[]> =>
    eventually(load.unreported, { until: (ids) => ids.length === 0, timeoutMs: 5_000 });
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'uswarm-topologies-'));
  });
  afterEach(async () => {
    await Promise.all(loads.splice(0).map((load) => load.stop()));
    await Promise.all(buses.splice(0).map((bus) => bus.close()));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  let valkey: ValkeySentinels;
  beforeAll(async () => {
    valkey = await startValkeySentinels({ directory: join(folder, 'sentinels') });
  }, 60_000);
  afterAll(() => valkey?.close());

  describeBus((options) => ({
    publisher: createRedisBus({ ...options, url: valkey.url, logger: silentLogger }),
    subscriber: createRedisBus({ ...options, url: valkey.url, logger: silentLogger }),
  }));

  it(
    'delivers from the new primary after a kill, also if a sentinel hangs',
    async () => {
      const load = await startedLoad(valkey.url);
      const [sentinel] = valkey.sentinels;
      const killed = await valkey.failOver();
      process.kill(sentinel!.pid, 'SIGSTOP');
      try {
        await load.delivered();
        expect(await unreported(load)).toEqual([]);
        await killed.restart();
        await load.delivered();
        expect(buses.map((bus) => bus.healthy())).toEqual([true, true]);
      } finally {
        process.kill(sentinel!.pid, 'SIGCONT');
      }
    },
    FAILOVER_MS,
  );

  it('is unhealthy while the sentinels do not know the name', async () => {
    const bus = open(valkey.url.replace(/master=.*/, 'master=other'));
    expect(await bus.publishSignal('any')).toBe(false);
    expect(bus.healthy()).toBe(false);
  });
});
