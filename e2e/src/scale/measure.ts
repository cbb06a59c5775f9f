import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../eventually.js';
import { type AuditLog, readAuditLog, type Requests } from './audit.js';
import type { Figures } from './figures.js';
import type { RunningService } from './processes.js';
import { type ProcessReport, scaleTable, type ScaleReport } from './report.js';
import { openWorld, type ScaleWorld, type Target } from './world.js';

export interface ScaleOptions extends Target {
  swarms: number;
  limitsLifted: boolean;
  /** What the API server writes down, if it can be read here. */
  auditLog?: string | undefined;
  /** Folder for the report, and for logs of the processes. */
  artifacts: string;
  say: (line: string) => void;
  /** Ends it early; what was made in the cluster goes all the same. */
  signal?: AbortSignal;
}

/** Seconds: syncs until Ready are those that something was the cause of, none of them a resync. */
const NO_RESYNC_S = 24 * 3_600;
const REST_PERIODS = 3;
/** Seconds of a resync period at rest: short, and long enough for a small machine to look at all of them in it. */
const restResyncS = (swarms: number): number => Math.max(5, Math.ceil(swarms / 50));
const POLL = 500;
const withinMs = (swarms: number): number => 180_000 + swarms * 1_500;

/**
 * Makes so many UserSwarms, waits until they are Ready, watches them at rest, and deletes them. What was
 * found is written to `scale-<swarms>.json` among the artefacts.
 */
export async function measureScale(options: ScaleOptions): Promise<ScaleReport> {
  const { artifacts, signal, swarms, say } = options;
  const world = await openWorld(options, path.join(artifacts, `scale-${swarms}`));
  const ended = Promise.withResolvers<never>();
  const end = (): void => ended.reject(new Error('The measurement was ended.'));
  signal?.addEventListener('abort', end);
  if (signal?.aborted === true) end();
  try {
    const report = await Promise.race([live(world, options), ended.promise]);
    await mkdir(artifacts, { recursive: true });
    await writeFile(path.join(artifacts, `scale-${swarms}.json`), `${JSON.stringify(report, undefined, 2)}\n`);
    say(scaleTable(report));
    return report;
  } finally {
    signal?.removeEventListener('abort', end);
    await world.close();
  }
}

async function live(world: ScaleWorld, options: ScaleOptions): Promise<ScaleReport> {
  const audit = options.auditLog === undefined ? undefined : readAuditLog(options.auditLog, world.user);
  const ramp = await measureRamp(world, audit, options);
  const rest = await measureRest(world, audit, ramp.controller, options);
  const gone = await measureDeletion(world, options.swarms);
  return summarise(world, options, { ramp, rest, gone });
}

interface Ramp {
  controller: RunningService;
  seconds: Omit<ScaleReport['seconds'], 'gone'>;
  objects: Record<string, number>;
  syncs: number;
  written: Written;
  audited: Requests | undefined;
  peak: number | undefined;
  cpu: Record<'controller' | 'webhook', number>;
}

async function measureRamp(world: ScaleWorld, audit: AuditLog | undefined, options: ScaleOptions): Promise<Ramp> {
  const { swarms, say } = options;
  const { api, paths, webhook } = world;
  const controller = await world.startController(NO_RESYNC_S);
  const mark = await audit?.mark();
  const started = performance.now();
  const passed = (): number => (performance.now() - started) / 1_000;
  const creating = world.create(swarms).then(passed);
  const wait = { withinMs: withinMs(swarms), everyMs: POLL };
  await eventually('all children are made', wait, async () => is((await api.count(paths.deployments)) >= swarms));
  const childrenMade = passed();
  say(`  children of ${swarms} UserSwarms after ${childrenMade.toFixed(1)} s`);
  const isReady = async (): Promise<true | undefined> =>
    is((await controller.figures()).sum('uswarm_userswarms', { phase: 'Ready' }) >= swarms);
  await eventually(`all ${swarms} UserSwarms are Ready`, wait, isReady);
  const ready = passed();
  say(`  all Ready after ${ready.toFixed(1)} s`);
  const figures = await settled(controller);
  return {
    controller,
    seconds: { created: await creating, childrenMade, ready },
    objects: await countObjects(world),
    syncs: syncsIn(figures),
    written: writesIn(figures),
    audited: mark === undefined ? undefined : await audit?.since(mark),
    peak: controller.memory().peak,
    cpu: { controller: cpuOf(figures), webhook: cpuOf(await webhook.figures()) },
  };
}

/** A controller that remembers nothing has to find everything as it should be, and then again at each resync. */
async function measureRest(
  world: ScaleWorld,
  audit: AuditLog | undefined,
  former: RunningService,
  { swarms }: ScaleOptions,
): Promise<ScaleReport['rest'] & { resting: number | undefined; peak: number | undefined }> {
  await former.stop();
  const mark = await audit?.mark();
  const resyncS = restResyncS(swarms);
  const controller = await world.startController(resyncS);
  const wait = { withinMs: withinMs(swarms), everyMs: POLL };
  await eventually('all were looked at once', wait, async () => is(syncsIn(await controller.figures()) >= swarms));
  const before = await controller.figures();
  await sleep((REST_PERIODS * resyncS + 1) * 1_000);
  const after = await controller.figures();
  const { now: resting, peak } = controller.memory();
  const audited = mark === undefined ? undefined : await audit?.since(mark);
  return {
    periods: REST_PERIODS,
    resyncS,
    syncs: syncsIn(after) - syncsIn(before),
    // From its start on, not only since everything was looked at.
    counted: writesIn(after).all,
    audited: audited === undefined ? undefined : total(audited.writes),
    resting,
    peak,
  };
}

/** @returns seconds until nothing was left */
async function measureDeletion({ api, paths }: ScaleWorld, swarms: number): Promise<number> {
  const started = performance.now();
  await api.call('DELETE', paths.swarms);
  const { swarms: parents, services, deployments, pods } = paths;
  for (const collection of [parents, deployments, services, pods]) {
    const none = async (): Promise<true | undefined> => is((await api.count(collection)) === 0);
    await eventually(`nothing is left of ${collection}`, { withinMs: withinMs(swarms), everyMs: POLL }, none);
  }
  return (performance.now() - started) / 1_000;
}

function summarise(
  world: ScaleWorld,
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
      reads: audited === undefined ? undefined : audited.reads / swarms,
    },
    writes: {
      counted: written.all,
      audited: audited === undefined ? undefined : total(audited.writes),
      byResource: Object.fromEntries(audited?.writes ?? []),
    },
    refused: audited?.refused,
    rest: atRest,
    processes,
  };
}

/** Until the controller has done nothing for a while. */
async function settled(controller: RunningService): Promise<Figures> {
  const look = async (): Promise<Figures | undefined> => {
    const before = await controller.figures();
    await sleep(2_000);
    const after = await controller.figures();
    return syncsIn(before) === syncsIn(after) ? after : undefined;
  };
  return eventually('the controller has nothing to do', { withinMs: 120_000, everyMs: 0 }, look);
}

async function countObjects({ api, paths }: ScaleWorld): Promise<Record<string, number>> {
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

const is = (holds: boolean): true | undefined => (holds ? true : undefined);
const syncsIn = (figures: Figures): number => figures.sum('uswarm_controller_sync_duration_seconds_count');
const cpuOf = (figures: Figures): number => figures.sum('process_cpu_seconds_total');
const total = (counts: ReadonlyMap<string, number>): number =>
  [...counts.values()].reduce((sum, count) => sum + count, 0);

interface Written {
  all: number;
  events: number;
}

const WRITES = 'uswarm_controller_api_writes_total';
const writesIn = (figures: Figures): Written => ({
  all: figures.sum(WRITES),
  events: figures.sum(WRITES, { resource: 'events' }),
});
