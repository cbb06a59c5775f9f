import { execFileSync } from 'node:child_process';
import { cpus, platform, release, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { type Case, CASES } from './cases.js';
import {
  figuresOf,
  type Measurements,
  ratiosOf,
  type Result,
  type Round,
  sideOf,
  type SideName,
} from './report/result.js';
import { BenchError, type Settings } from './settings.js';
import { cpuSeconds, measure } from './world/processes.js';
import { startWorld, type World } from './world/world.js';

export type Say = (line: string) => void;

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FOLDER = fileURLToPath(new URL('../../.cache/bench', import.meta.url));

/**
 * Starts the servers and measures all cases, or only the named one.
 *
 * @throws BenchError if a request failed
 */
export async function run(settings: Settings, only: string | undefined, say: Say): Promise<Result> {
  const world = await startWorld(settings, FOLDER, say);
  try {
    const measurements: Measurements = {};
    for (const each of CASES) {
      if (only === undefined || each.name === only)
        measurements[each.name] = await measureCase(world, each, settings, say);
    }
    const ratios = ratiosOf(measurements);
    return {
      format: 1,
      date: new Date().toISOString(),
      commit: git('rev-parse', 'HEAD'),
      changed: git('status', '--porcelain') !== '',
      machine: { ...machine(), postgres: world.postgres },
      settings,
      measurements,
      ratios,
      figures: figuresOf(measurements, ratios),
    };
  } finally {
    await world.close();
  }
}

/** The sides alternate and the first side changes, so that other load on the machine affects both equally. */
async function measureCase(world: World, each: Case, settings: Settings, say: Say) {
  const rounds: Record<SideName, Round[]> = { orchestrator: [], floor: [] };
  for (let round = 0; round < settings.rounds; round += 1) {
    const order: SideName[] = round % 2 === 0 ? ['floor', 'orchestrator'] : ['orchestrator', 'floor'];
    for (const side of order) {
      await world.settle();
      const seen = await measureOnce(world, side, each, settings);
      rounds[side].push(seen);
      const { perSecond, latency, generatorCores } = seen;
      const times = `p95 ${latency.p95.toFixed(1)} ms, p99 ${latency.p99.toFixed(1)} ms`;
      say(`${each.name} ${side}: ${perSecond.toFixed(0)}/s, ${times}, generator ${generatorCores.toFixed(2)} cores`);
    }
  }
  return { orchestrator: sideOf(rounds.orchestrator), floor: sideOf(rounds.floor) };
}

async function measureOnce(world: World, name: SideName, each: Case, settings: Settings): Promise<Round> {
  const side = world[name];
  const { tokens, signatureSecret } = world;
  const { seconds, warmUpSeconds, connections } = settings;
  const requests = world.requests[each.requests];
  const [began, cpu] = [performance.now(), cpuSeconds(side.pid)];
  const job = {
    url: side.url,
    requests,
    tokens,
    signatureSecret,
    schedule: each.schedule,
    seconds,
    warmUpSeconds,
    connections,
  };
  const measured = await measure(job);
  const spent = cpuSeconds(side.pid);
  if (Object.keys(measured.failures).length > 0) {
    throw new BenchError(`${each.name}: requests to the ${name} failed: ${JSON.stringify(measured.failures)}`);
  }
  const passed = (performance.now() - began) / 1_000;
  return { ...measured, serverCores: cpu === undefined || spent === undefined ? null : (spent - cpu) / passed };
}

function machine(): Omit<Result['machine'], 'postgres'> {
  const all = cpus();
  return {
    cpus: all.length,
    model: all[0]?.model ?? '',
    memoryGiB: Math.round(totalmem() / 1024 ** 3),
    system: `${platform()} ${release()}`,
    node: process.version,
  };
}

function git(...args: string[]): string {
  try {
    return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return 'unknown';
  }
}
