import { fork } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { CloseStack, silentLogger } from '@uswarm/service-kit';
import { memoryMiB } from '../runtime/measure-start.js';
import { BenchError, USAGE } from '../settings.js';
import { answerOf, ended } from '../world/processes.js';
import type { Command } from './cluster-main.js';
import { controllerTable, type ControllerFigures, type PhaseFigures } from './controller-table.js';
import { type ControllerProcess, startController, startWebhook, until } from './processes.js';

const NO_RESYNC_S = 24 * 3_600;
const REST_RESYNC_S = 10;
const REST_PERIODS = 3;

/**
 * `npm run bench -- controller`: measures the controller's processor time for each UserSwarm, with a simulated cluster:
 * until it is Ready, at rest, and until it is deleted. Prints a table and a JSON line.
 *
 * @throws BenchError
 */
export async function runController(args: string[], say: (line: string) => void): Promise<void> {
  const settings = readSettings(args);
  if (process.platform !== 'linux') throw new BenchError('Only supported on Linux: CPU time is read from /proc.');
  const folder = mkdtempSync(join(tmpdir(), 'uswarm-bench-'));
  const stack = new CloseStack(silentLogger);
  stack.defer('folder', () => rmSync(folder, { recursive: true }));
  try {
    const figures = await measure(folder, settings, stack);
    say(`${controllerTable(figures)}\n\n${JSON.stringify(figures)}`);
  } finally {
    await stack.close();
  }
}

interface ClusterProcess {
  kubeconfig: string;
  send(command: Command): void;
}

async function measure(
  folder: string,
  { swarms, profile }: ControllerSettings,
  stack: CloseStack,
): Promise<ControllerFigures> {
  const cluster = await startCluster(folder, stack);
  const syncUrl = await startWebhook(folder, stack);
  const begin = (resyncS: number): Promise<ControllerProcess> =>
    startController({ kubeconfig: cluster.kubeconfig, syncUrl, resyncS, profile }, stack);
  const first = await begin(NO_RESYNC_S);
  const ready = await costOf(first, async () => {
    cluster.send({ create: swarms });
    await until('all UserSwarms are Ready', async () => (await first.read()).ready >= swarms);
    await settled(first);
  });
  const peakMiB = memoryMiB(first.pid, 'VmHWM');
  await first.close();
  const second = await begin(REST_RESYNC_S);
  await until('all UserSwarms are reconciled', async () => (await second.read()).syncs >= swarms);
  const rest = await costOf(second, () => sleep(REST_PERIODS * REST_RESYNC_S * 1_000));
  const deleted = await costOf(second, async () => {
    cluster.send({ deleteAll: true });
    await until('all UserSwarms are deleted', async () => (await second.read()).all === 0);
  });
  await second.close();
  return { swarms, peakMiB, phases: { ready, rest, deleted } };
}

async function startCluster(folder: string, stack: CloseStack): Promise<ClusterProcess> {
  const child = fork(fileURLToPath(new URL('cluster-main.js', import.meta.url)));
  stack.defer('cluster', () => ended(child));
  const { kubeconfig: text } = await answerOf<{ kubeconfig: string }>(child);
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, text);
  return { kubeconfig, send: (command) => void child.send(command) };
}

async function costOf(controller: ControllerProcess, work: () => Promise<unknown>): Promise<PhaseFigures> {
  const started = performance.now();
  const before = await controller.read();
  await work();
  const after = await controller.read();
  return {
    cpuS: after.cpuS - before.cpuS,
    collectionS: after.collectionS - before.collectionS,
    syncs: after.syncs - before.syncs,
    writes: after.writes - before.writes,
    seconds: (performance.now() - started) / 1_000,
  };
}

/** Waits until the controller has nothing to do. */
async function settled(controller: ControllerProcess): Promise<void> {
  for (let before = -1, after = 0; before !== after;) {
    before = (await controller.read()).syncs;
    await sleep(1_000);
    after = (await controller.read()).syncs;
  }
}

interface ControllerSettings {
  swarms: number;
  /** The folder for CPU profiles. */
  profile: string | undefined;
}

function readSettings(args: string[]): ControllerSettings {
  try {
    const { values } = parseArgs({
      args,
      options: { swarms: { type: 'string', default: '1000' }, profile: { type: 'string' } },
    });
    const swarms = Number(values.swarms);
    if (!Number.isInteger(swarms) || swarms < 1) throw new Error('--swarms must be a positive integer.');
    return { swarms, profile: values.profile };
  } catch (error) {
    throw new BenchError(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  }
}
