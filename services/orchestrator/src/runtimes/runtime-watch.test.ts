import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { silentLogger, systemClock } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { runtimeRow } from '../../test/runtime-row.js';
import { PlatformUnreachable, type RuntimeObservation } from './drivers/driver.js';
import { createRuntimeWatch, type RuntimeWatch, type RuntimeWatchDeps } from './runtime-watch.js';
import type { ListedRuntime } from '../records/runtimes.store.js';
import { NO_TRANSACTION } from '../../test/transaction.js';

const ADDRESS = 'http://runtime:1';
const id = (n: number): string => `00000000-0000-7000-8000-${n.toString().padStart(12, '0')}`;
const ready = (n: number, more: Partial<ListedRuntime> = {}): ListedRuntime => ({
  ...runtimeRow(new Date(), { workspace_id: id(n), phase: 'Ready', address: ADDRESS, instance_id: 'i' }),
  turnWaits: false,
  ...more,
});
const READY: RuntimeObservation = { phase: 'Ready', reason: '', address: ADDRESS, current: true };
const STARTING: RuntimeObservation = { phase: 'Progressing', reason: 'Starting', address: null, current: true };

describe('the runtime watch', () => {
  let rows: ListedRuntime[];
  let platform: Map<string, RuntimeObservation>;
  let madeDue: { ids: readonly string[]; withinMs: number }[];
  let differed: string[];
  let failure: Error | undefined;
  let unreachable: boolean;
  let instances: Map<string, string>;
  let report: (workspaceId: string) => void;
  let watch: RuntimeWatch;

  beforeEach(() => {
    [rows, platform, madeDue, differed, instances] = [[], new Map(), [], [], new Map()];
    [failure, unreachable] = [undefined, false];
  });
  afterEach(() => watch.close());

  function start(more: Partial<RuntimeWatchDeps['driver']> = {}): void {
    const read = (result: ListedRuntime[]) => {
      if (failure !== undefined) throw failure;
      return result;
    };
    let initial = true;
    watch = createRuntimeWatch({
      database: NO_TRANSACTION,
      store: {
        listRuntimes: async (_db, ids) => read(rows.filter((row) => ids.includes(row.workspace_id))),
        async pageRuntimes(_db, after, limit) {
          const all = initial ? [] : rows;
          initial = false;
          return read(all.filter((row) => row.workspace_id > after).slice(0, limit));
        },
      },
      jobs: {
        async ensureDue(_kind, ids, withinMs) {
          if (ids.length > 0) madeDue.push({ ids, withinMs });
          return ids.length;
        },
      },
      driver: {
        reportsLiveness: true,
        async peek(specs) {
          if (unreachable) throw new PlatformUnreachable('unreachable');
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
          const instanceId = instances.get(workspaceId);
          if (instanceId === undefined) throw new Error('no response');
          return { instanceId, features: [] };
        },
      },
      metrics: { differed: (found, runtimes) => void differed.push(...Array(runtimes).fill(found)) },
      // Only the test starts resyncs.
      resyncMs: 3_600_000,
      clock: systemClock,
      logger: silentLogger,
    });
  }
  const allMadeDue = () => madeDue.flatMap(({ ids }) => ids);
  const madeDueNow = (n: number) => eventually(allMadeDue, { until: ({ length }) => length >= n });

  it('makes the job of a reported runtime due only if the runtime differs', async () => {
    rows = [ready(1), ready(2)];
    platform = new Map([
      [id(1), READY],
      [id(2), READY],
    ]);
    start();
    platform.set(id(2), STARTING);
    report(id(1));
    report(id(2));
    await madeDueNow(1);
    expect(madeDue).toEqual([{ ids: [id(2)], withinMs: 0 }]);
    expect(differed).toEqual(['event']);
  });

  it('compares a reported runtime again after the database was unavailable', async () => {
    rows = [ready(1)];
    platform.set(id(1), STARTING);
    start();
    failure = new Error('the database is down');
    report(id(1));
    await Promise.resolve();
    failure = undefined;
    await madeDueNow(1);
    expect(allMadeDue()).toEqual([id(1)]);
  });

  it('ignores a report with a name that is not a workspace id', async () => {
    rows = [ready(1)];
    platform.set(id(1), STARTING);
    start();
    report("x'; drop table runtimes");
    report(id(1));
    expect(await madeDueNow(1)).toEqual([id(1)]);
  });

  it('finds unreported differences on every page', async () => {
    rows = Array.from({ length: 1_201 }, (_, n) => ready(n + 1));
    platform = new Map(rows.map((row) => [row.workspace_id, READY]));
    start();
    await watch.resync();
    expect(allMadeDue()).toEqual([]);
    for (const n of [1, 500, 501, 1_201]) platform.set(id(n), STARTING);
    await watch.resync();
    expect(allMadeDue()).toEqual([id(1), id(500), id(501), id(1_201)]);
    expect(differed).toEqual(Array(4).fill('resync'));
    // Jobs that are due soon are not changed.
    expect(new Set(madeDue.map(({ withinMs }) => withinMs))).toEqual(new Set([60_000]));
  });

  it('handles changed settings only in a resync', async () => {
    rows = [ready(1), ready(2)];
    start();
    platform.set(id(1), { ...READY, outdated: true });
    platform.set(id(2), STARTING);
    report(id(1));
    report(id(2));
    expect(await madeDueNow(1)).toEqual([id(2)]);
    platform.set(id(2), READY);
    await watch.resync();
    expect(allMadeDue()).toEqual([id(2), id(1)]);
  });

  it('finds a missing runtime, and a suspended one with a queued turn', async () => {
    const isSuspended = { desired: 'suspended', phase: 'Suspended', address: null } as const;
    rows = [ready(1), ready(2, isSuspended), ready(3, { ...isSuspended, turnWaits: true })];
    const suspended: RuntimeObservation = { phase: 'Suspended', reason: '', address: null, current: true };
    platform = new Map([
      [id(2), suspended],
      [id(3), suspended],
    ]);
    start();
    await watch.resync();
    expect(new Set(allMadeDue())).toEqual(new Set([id(1), id(3)]));
  });

  it('changes nothing while the platform is unreachable', async () => {
    rows = [ready(1)];
    start();
    unreachable = true;
    await expect(watch.resync()).rejects.toThrow(PlatformUnreachable);
    report(id(1));
    unreachable = false;
    platform.set(id(1), STARTING);
    expect(await madeDueNow(1)).toEqual([id(1)]);
  });

  it('identifies runtimes if the platform does not report liveness', async () => {
    rows = [ready(1), ready(2), ready(3)];
    platform = new Map(rows.map((row) => [row.workspace_id, READY]));
    instances = new Map([
      [id(1), 'i'],
      [id(2), 'another'],
    ]);
    start({ reportsLiveness: false });
    await watch.resync();
    expect(new Set(allMadeDue())).toEqual(new Set([id(2), id(3)]));
  });
});
