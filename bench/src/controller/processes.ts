import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '@uswarm/dev-servers';
import type { CloseStack } from '@uswarm/service-kit';
import { request } from 'undici';
import { BenchError } from '../settings.js';
import { answers, cpuSeconds, ended, endWithThisProcess, program } from '../world/processes.js';
import { RUNTIME_NAMESPACE } from './simulated-cluster.js';

const SYNC_TOKEN = randomBytes(24).toString('hex');
const DEADLINE_MS = 300_000;
/** Each check reads the metrics, which costs the controller some milliseconds. */
const POLL_MS = 500;
/** As in the image, and V8's choice with the chart's memory limit. */
const NODE_ARGS = ['--max-semi-space-size=16', '--max-old-space-size=192'];

/** The controller's work since its start. */
export interface Reading {
  cpuS: number;
  /** Seconds of garbage collection on the main thread. */
  collectionS: number;
  syncs: number;
  writes: number;
  /** Number of UserSwarms in its cache, and of Ready ones. */
  all: number;
  ready: number;
}

export interface ControllerProcess {
  pid: number;
  read(): Promise<Reading>;
  close(): Promise<void>;
}

export interface ControllerOptions {
  kubeconfig: string;
  syncUrl: string;
  resyncS: number;
  /** The folder for a CPU profile, written at its end. */
  profile: string | undefined;
}

/** Starts the production entry point. @throws BenchError */
export async function startController(
  { kubeconfig, syncUrl, resyncS, profile }: ControllerOptions,
  stack: CloseStack,
): Promise<ControllerProcess> {
  const port = await freePort();
  const env = {
    NODE_ENV: 'production',
    KUBECONFIG: kubeconfig,
    SYNC_URL: syncUrl,
    SYNC_TOKEN,
    RUNTIME_NAMESPACES: RUNTIME_NAMESPACE,
    RESYNC_S: String(resyncS),
    START_MAX_CONCURRENT: '0',
    LEADER_ELECTION: 'false',
    OPS_PORT: String(port),
  };
  const profiled = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`];
  const main = program('../../../services/uswarm-controller/dist/main.js');
  const child = spawn(process.execPath, [...NODE_ARGS, ...profiled, main], { env, stdio: 'ignore' });
  endWithThisProcess(child);
  stack.defer('controller', () => ended(child));
  const url = `http://127.0.0.1:${port}`;
  await until('the controller is ready', () => isOk(`${url}/readyz`, child));
  const pid = child.pid ?? 0;
  const read = async (): Promise<Reading> => {
    const metrics = await (await request(`${url}/metrics`)).body.text();
    return { cpuS: cpuSeconds(pid) ?? Number.NaN, ...readMetrics(metrics) };
  };
  return { pid, read, close: () => ended(child) };
}

function readMetrics(metrics: string): Omit<Reading, 'cpuS'> {
  const lines = metrics.split('\n');
  const sum = (start: string): number =>
    lines.filter((line) => line.startsWith(start)).reduce((total, line) => total + Number(line.split(' ')[1]), 0);
  return {
    collectionS: sum('nodejs_gc_duration_seconds_sum{'),
    syncs: sum('uswarm_controller_sync_duration_seconds_count{'),
    writes: sum('uswarm_controller_api_writes_total{'),
    all: sum('uswarm_userswarms{'),
    ready: sum('uswarm_userswarms{phase="Ready"'),
  };
}

/** Starts the sync hook of production. @returns its URL */
export async function startWebhook(folder: string, stack: CloseStack): Promise<string> {
  const policy = join(folder, 'policy');
  mkdirSync(policy);
  writeFileSync(join(policy, 'runtimeNamespaces'), `${RUNTIME_NAMESPACE}\n`);
  const { publicKey } = generateKeyPairSync('ed25519');
  const port = await freePort();
  const env = {
    NODE_ENV: 'production',
    HTTP_PORT: String(port),
    OPS_PORT: '0',
    SYNC_TOKEN,
    POLICY_DIRECTORY: policy,
    USWARM_CALL_PUBLIC_KEY: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    SVC_AGENT_RUNTIME_IMAGE: 'simulated.invalid/agent-runtime:1',
    SVC_ORCHESTRATOR_ENDPOINT: 'http://orchestrator.invalid:8082',
    SVC_MCP_ENDPOINT: 'http://search.invalid:8080/mcp',
  };
  const child = spawn(process.execPath, [program('../../../services/uswarm-webhook/dist/main.js')], {
    env,
    stdio: 'ignore',
  });
  endWithThisProcess(child);
  stack.defer('webhook', () => ended(child));
  const url = `http://127.0.0.1:${port}`;
  await until('the sync hook is ready', () => isOk(`${url}/healthz`, child));
  return `${url}/sync`;
}

async function isOk(url: string, child: ChildProcess): Promise<boolean> {
  if (child.exitCode !== null) throw new BenchError(`A process of the benchmark exited with ${child.exitCode}.`);
  return answers(url);
}

/** @throws BenchError when `what` does not hold in time */
export async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new BenchError(`Not within ${DEADLINE_MS / 1_000} s: ${what}.`);
    await sleep(POLL_MS);
  }
}
