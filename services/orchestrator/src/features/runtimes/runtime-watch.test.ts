import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { silentLogger, systemClock } from '@uswarm/service-kit';
import { eventually } from '../../../test/eventually.js';
import { runtimeRow } from '../../../test/runtime-row.js';
import { PlatformUnreachable, type RuntimeObservation } from './drivers/driver.js';
import { createRuntimeWatch, type RuntimeWatch, type RuntimeWatchDeps } from './runtime-watch.js';
import type { ListedRuntime } from './runtimes.store.js';

const ADDRESS = 'http://runtime:1';
const id = (n: number): string => `00000000-0000-7000-8000-${n.toString().padStart(12, '0')}`;
const ready = (n: number, more: Partial<ListedRuntime> = {}): ListedRuntime => ({
  ...runtimeRow(new Date(), { workspace_id: id(n), phase: 'Ready', address: ADDRESS, instance_id: 'i' }),
  turnWaits: false,
  ...more,
});
const READY: RuntimeObservation = { phase: 'Ready', reason: '', address: ADDRESS, current: true };
const GONE: RuntimeObservation = { phase: 'Progressing', reason: 'Starting', address: null, current: true };

describe('the runtime watch', () => {
  let rows: ListedRuntime[];
  let platform: Map<string, RuntimeObservation>;
  let roused: { ids: readonly string[]; withinMs: number }[];
  let differed: string[];
  let failure: Error | undefined;
  let unreachable: boolean;
  let answering: Map<string, string>;
  let report: (workspaceId: string) => void;
  let watch: RuntimeWatch;

  beforeEach(() => {
    [rows, platform, roused, differed, answering] = [[], new Map(), [], [], new Map()];
    [failure, unreachable] = [undefined, false];
  });
  afterEach(() => watch.close());

  function start(more: Partial<RuntimeWatchDeps['driver']> = {}): void {
    const read = (wanted: ListedRuntime[]) => {
      if (failure !== undefined) throw failure;
      return wanted;
    };
    // The comparison at the start finds nothing.
    let initial = true;
    watch = createRuntimeWatch({
      store: {
        list: async (ids) => read(rows.filter((row) => ids.includes(row.workspace_id))),
        async page(after, limit) {
          const all = initial ? [] : rows;
          initial = false;
          return read(all.filter((row) => row.workspace_id > after).slice(0, limit));
        },
      },
      jobs: {
        async rouse(_kind, ids, withinMs) {
          if (ids.length > 0) roused.push({ ids, withinMs });
          return ids.length;
        },
      },
      driver: {
        reportsLiveness: true,
        async peek(specs) {
          if (unreachable) throw new PlatformUnreachable('cut');
          return new Map(
            specs.flatMap((spec) => {
              const seen = platform.get(spec.workspaceId);
              return seen === undefined ? [] : [[spec.workspaceId, seen] as const];
            }),
          );
        },
        onChange: (listener) => void (report = listener),
        ...more,
      },
      client: {
        async identify({ workspaceId }) {
          const instanceId = answering.get(workspaceId);
          if (instanceId === undefined) throw new Error('no answer');
          return { instanceId };
        },
      },
      metrics: { differed: (found, runtimes) => void differed.push(...Array(runtimes).fill(found)) },
      // Only the comparisons that a test asks for.
      resyncMs: 3_600_000,
      clock: systemClock,
      logger: silentLogger,
    });
  }
  const allRoused = () => roused.flatMap(({ ids }) => ids);
  const rousedNow = (n: number) => eventually(allRoused, ({ length }) => length >= n);

  it('has a runtime looked at that a report shows to differ, and leaves alone one that does not', async () => {
    rows = [ready(1), ready(2)];
    platform = new Map([
      [id(1), READY],
      [id(2), READY],
    ]);
    start();
    platform.set(id(2), GONE);
    report(id(1));
    report(id(2));
    await rousedNow(1);
    expect(roused).toEqual([{ ids: [id(2)], withinMs: 0 }]);
    expect(differed).toEqual(['event']);
  });

  it('compares a reported runtime again after the database was unavailable', async () => {
    rows = [ready(1)];
    platform.set(id(1), GONE);
    start();
    failure = new Error('the database is down');
    report(id(1));
    await Promise.resolve();
    failure = undefined;
    await rousedNow(1);
    expect(allRoused()).toEqual([id(1)]);
  });

  it('ignores the report of an object whose name is not that of a workspace', async () => {
    rows = [ready(1)];
    platform.set(id(1), GONE);
    start();
    report("x'; drop table runtimes");
    report(id(1));
    expect(await rousedNow(1)).toEqual([id(1)]);
  });

  it('finds a difference that was never reported, on every page', async () => {
    rows = Array.from({ length: 1_201 }, (_, n) => ready(n + 1));
    platform = new Map(rows.map((row) => [row.workspace_id, READY]));
    start();
    await watch.resync();
    expect(allRoused()).toEqual([]);
    for (const n of [1, 500, 501, 1_201]) platform.set(id(n), GONE);
    await watch.resync();
    expect(allRoused()).toEqual([id(1), id(500), id(501), id(1_201)]);
    expect(differed).toEqual(Array(4).fill('resync'));
    // What is looked at anyway stays as it is.
    expect(new Set(roused.map(({ withinMs }) => withinMs))).toEqual(new Set([60_000]));
  });

  it('leaves a runtime that only has other settings to the next comparison', async () => {
    rows = [ready(1), ready(2)];
    start();
    platform.set(id(1), { ...READY, outdated: true });
    platform.set(id(2), GONE);
    report(id(1));
    report(id(2));
    expect(await rousedNow(1)).toEqual([id(2)]);
    platform.set(id(2), READY);
    await watch.resync();
    expect(allRoused()).toEqual([id(2), id(1)]);
  });

  it('finds a runtime that is not there, and a suspended one with a turn that waits', async () => {
    const asleep = { desired: 'suspended', phase: 'Suspended', address: null } as const;
    rows = [ready(1), ready(2, asleep), ready(3, { ...asleep, turnWaits: true })];
    const suspended: RuntimeObservation = { phase: 'Suspended', reason: '', address: null, current: true };
    platform = new Map([
      [id(2), suspended],
      [id(3), suspended],
    ]);
    start();
    await watch.resync();
    expect(new Set(allRoused())).toEqual(new Set([id(1), id(3)]));
  });

  it('touches nothing while the platform cannot be asked', async () => {
    rows = [ready(1)];
    start();
    unreachable = true;
    await expect(watch.resync()).rejects.toThrow(PlatformUnreachable);
    report(id(1));
    unreachable = false;
    platform.set(id(1), GONE);
    expect(await rousedNow(1)).toEqual([id(1)]);
  });

  it('asks runtimes itself if their platform does not report that they stop answering', async () => {
    rows = [ready(1), ready(2), ready(3)];
    platform = new Map(rows.map((row) => [row.workspace_id, READY]));
    answering = new Map([
      [id(1), 'i'],
      [id(2), 'another'],
    ]);
    start({ reportsLiveness: false });
    await watch.resync();
    expect(new Set(allRoused())).toEqual(new Set([id(2), id(3)]));
  });
});
