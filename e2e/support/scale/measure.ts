import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { unlessAborted } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { type AuditedRequest, isWrite, openAuditLog } from '../audit.js';
import { sumOf } from '../metrics.js';
import { everyOneSynced } from '../rest.js';
import type { RunningService } from './processes.js';
import { type ProcessReport, scaleTable, type ScaleReport } from './report.js';
import { openScaleEnvironment, type ScaleEnvironment, type Target } from './environment.js';

export interface ScaleOptions extends Target {
  swarms: number;
  limitsLifted: boolean;
  /** API server audit log, if it is readable. */
  auditLog?: string | undefined;
  /** Folder for the report, and for process logs. */
  artifacts: string;
  say: (line: string) => void;
  /** Ends the measurement early; the created objects are still deleted. */
  signal?: AbortSignal;
}

/** Resync period in seconds during creation: long, so that no sync is a resync. */
const NO_RESYNC_S = 24 * 3_600;
const REST_PERIODS = 3;
/** Resync period in seconds at rest: short, and long enough to sync all UserSwarms on a small machine. */
const restResyncS = (swarms: number): number => Math.max(5, Math.ceil(swarms / 50));
const POLL = 500;
const withinMs = (swarms: number): number => 180_000 + swarms * 1_500;

/**
 * Creates the UserSwarms, waits until they are Ready, observes them at rest, and deletes them. Writes the report to
 * `scale-<swarms>.json` in the artifacts folder.
 */
export async function measureScale(options: ScaleOptions): Promise<ScaleReport> {
  const { artifacts, signal, swarms, say } = options;
  const world = await openScaleEnvironment(options, path.join(artifacts, `scale-${swarms}`));
  try {
    const report = await unlessAborted(live(world, options), signal);
    await mkdir(artifacts, { recursive: true });
    await writeFile(path.join(artifacts, `scale-${swarms}.json`), `${JSON.stringify(report, undefined, 2)}\n`);
    say(scaleTable(report));
    return report;
  } finally {
    await world.close();
  }
}

async function live(world: ScaleEnvironment, options: ScaleOptions): Promise<ScaleReport> {
  const audit = options.auditLog === undefined ? undefined : auditOf(options.auditLog, world.user);
  const ramp = await measureRamp(world, audit, options);
  const rest = await measureRest(world, audit, ramp.controller, options);
  const gone = await measureDeletion(world, options.swarms);
  return summarise(world, options, { ramp, rest, gone });
}

interface Audit {
  /** Starts to count the controller's requests. @returns a function that returns the counts */
  begin(): Promise<() => Promise<AuditedRequest[]>>;
}

function auditOf(file: string, user: string): Audit {
  const log = openAuditLog(file);
  return {
    async begin() {
      const mark = await log.mark();
      return () => log.requestsSince(mark, user);
    },
  };
}

interface Ramp {
  controller: RunningService;
  seconds: Omit<ScaleReport['seconds'], 'gone'>;
  objects: Record<string, number>;
  syncs: number;
  written: Written;
  audited: AuditedRequest[] | undefined;
  peak: number | undefined;
  cpu: Record<'controller' | 'webhook', number>;
}

async function measureRamp(world: ScaleEnvironment, audit: Audit | undefined, options: ScaleOptions): Promise<Ramp> {
  const { swarms, say } = options;
  const { api, paths, webhook } = world;
  const controller = await world.startController(NO_RESYNC_S);
  const audited = await audit?.begin();
  const started = performance.now();
  const passed = (): number => (performance.now() - started) / 1_000;
  await world.create(swarms);
  const created = passed();
  const wait = { timeoutMs: withinMs(swarms), intervalMs: POLL };
  await eventually(async () => (await api.count(paths.deployments)) >= swarms, {
    description: 'all children are created',
    ...wait,
  });
  const childrenMade = passed();
  say(`  children of ${swarms} UserSwarms after ${childrenMade.toFixed(1)} s`);
  const isReady = async (): Promise<boolean> =>
    sumOf(await controller.scrape(), 'uswarm_userswarms', { phase: 'Ready' }) >= swarms;
  await eventually(isReady, { description: `all ${swarms} UserSwarms are Ready`, ...wait });
  const ready = passed();
  say(`  all Ready after ${ready.toFixed(1)} s`);
  const figures = await settled(controller);
  return {
    controller,
    seconds: { created, childrenMade, ready },
    objects: await countObjects(world),
    syncs: syncsIn(figures),
    written: writesIn(figures),
    audited: await audited?.(),
    peak: controller.memory().peak,
    cpu: { controller: cpuOf(figures), webhook: cpuOf(await webhook.scrape()) },
  };
}

/** A restarted controller must not write anything, neither initially nor at resyncs. */
async function measureRest(
  world: ScaleEnvironment,
  audit: Audit | undefined,
  former: RunningService,
  { swarms }: ScaleOptions,
): Promise<ScaleReport['rest'] & { resting: number | undefined; peak: number | undefined }> {
  await former.stop();
  const audited = await audit?.begin();
  const resyncS = restResyncS(swarms);
  const controller = await world.startController(resyncS);
  const wait = { timeoutMs: withinMs(swarms), intervalMs: POLL };
  await eventually(async () => syncsIn(await controller.scrape()) >= swarms, {
    description: 'each UserSwarm is synced once',
    ...wait,
  });
  const before = await controller.scrape();
  const over = performance.now() + REST_PERIODS * resyncS * 1_000;
  await everyOneSynced({ scrape: controller.scrape, times: REST_PERIODS, resyncS });
  await sleep(Math.max(0, over - performance.now()));
  const after = await controller.scrape();
  const { now: resting, peak } = controller.memory();
  const requests = await audited?.();
  return {
    periods: REST_PERIODS,
    resyncS,
    syncs: syncsIn(after) - syncsIn(before),
    // Counted from its start, including the initial sync.
    counted: writesIn(after).all,
    audited: requests?.filter(isWrite).length,
    resting,
    peak,
  };
}

/** @returns seconds until all objects were deleted */
async function measureDeletion({ api, deleteAll, paths }: ScaleEnvironment, swarms: number): Promise<number> {
  const started = performance.now();
  await deleteAll();
  const { swarms: parents, services, deployments, pods } = paths;
  for (const collection of [parents, deployments, services, pods]) {
    const none = async (): Promise<boolean> => (await api.count(collection)) === 0;
    await eventually(none, {
      description: `nothing is left of ${collection}`,
      timeoutMs: withinMs(swarms),
      intervalMs: POLL,
    });
  }
  return (performance.now() - started) / 1_000;
}

function summarise(
  world: ScaleEnvironment,
  { swarms, limitsLifted }: ScaleOptions,
  { ramp, rest, gone }: { ramp: Ramp; rest: Awaited<ReturnType<typeof measureRest>>; gone: number },
): ScaleReport {
  const { resting, peak, ...atRest } = rest;
  const { written, audited } = ramp;
  const webhook = world.webhook.memory();
  const processes: Record<'controller' | 'webhook', ProcessReport> = {
    controller: { peak: Math.max(ramp.peak ?? 0, peak ?? 0) || undefined, resting, cpu: ramp.cpu.controller },
    webhook: { peak: webhook.peak, resting: webhook.now, cpu: ramp.cpu.webhook },
  };
  return {
    swarms,
    nodes: world.nodes.count,
    limitsLifted,
    processors: availableParallelism(),
    seconds: { ...ramp.seconds, gone },
    objects: ramp.objects,
    perSwarm: {
      syncs: ramp.syncs / swarms,
      writes: (written.all - written.events) / swarms,
      events: written.events / swarms,
      reads: audited === undefined ? undefined : audited.filter((request) => !isWrite(request)).length / swarms,
    },
    writes: {
      counted: written.all,
      audited: audited?.filter(isWrite).length,
      byResource: byResource(audited?.filter(isWrite) ?? []),
    },
    refused: audited?.filter(({ status }) => status >= 400).length,
    rest: atRest,
    processes,
  };
}

/** Waits until the controller is idle. */
async function settled(controller: RunningService): Promise<string> {
  const look = async (): Promise<string | undefined> => {
    const before = await controller.scrape();
    await sleep(2_000);
    const after = await controller.scrape();
    const worked = syncsIn(before) !== syncsIn(after) || writesIn(before).all !== writesIn(after).all;
    return worked ? undefined : after;
  };
  return eventually(look, { description: 'the controller has nothing to do', timeoutMs: 120_000, intervalMs: 0 });
}

async function countObjects({ api, paths }: ScaleEnvironment): Promise<Record<string, number>> {
  const phases = (await api.list(paths.swarms)).filter(({ status }) => status?.phase === 'Ready');
  const accounts = (await api.list(paths.accounts)).filter(({ metadata }) => metadata.name !== 'default');
  return {
    ready: phases.length,
    serviceAccounts: accounts.length,
    services: await api.count(paths.services),
    deployments: await api.count(paths.deployments),
    replicaSets: await api.count(paths.replicaSets),
    pods: await api.count(paths.pods),
  };
}

const syncsIn = (metrics: string): number => sumOf(metrics, 'uswarm_controller_sync_duration_seconds_count');
const cpuOf = (metrics: string): number => sumOf(metrics, 'process_cpu_seconds_total');

interface Written {
  all: number;
  events: number;
}

const WRITES = 'uswarm_controller_api_writes_total';
const writesIn = (metrics: string): Written => ({
  all: sumOf(metrics, WRITES),
  events: sumOf(metrics, WRITES, { resource: 'events' }),
});

function byResource(requests: readonly AuditedRequest[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { resource } of requests) counts[resource] = (counts[resource] ?? 0) + 1;
  return counts;
}
