import { type ChildProcess, spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '@uswarm/dev-servers';
import type { CloseStack } from '@uswarm/service-kit';
import { BenchError } from '../settings.js';
import { answers, ended, endWithThisProcess, program } from '../world/processes.js';

/** A gateway that is started again at the same ports. */
export interface GatewayProcess {
  url: string;
  readonly pid: number;
  start(): Promise<void>;
  /** SIGTERM: the gateway closes its connections at its set rate. */
  stop(): Promise<void>;
  kill(): Promise<void>;
}

export interface GatewayOptions {
  environment: Record<string, string>;
  logFile: string;
  /** Arguments of Node.js. */
  args?: readonly string[];
}

const START_DEADLINE_MS = 30_000;
/** Same value as in hack/images/services.mjs. */
const NODE_ARGS = ['--max-semi-space-size=2'];

/** Starts the program of production in a separate process. */
export async function startGateway(options: GatewayOptions, stack: CloseStack): Promise<GatewayProcess> {
  const [port, opsPort] = [await freePort(), await freePort()];
  const log = openSync(options.logFile, 'w');
  const env = {
    ...options.environment,
    GATEWAY_HOST: '127.0.0.1',
    GATEWAY_PORT: String(port),
    OPS_PORT: String(opsPort),
    NODE_ENV: 'production',
  };
  let child: ChildProcess | undefined;
  const start = async (): Promise<void> => {
    const main = program('../../../services/realtime-gateway/dist/main.js');
    const started = spawn(process.execPath, [...NODE_ARGS, ...(options.args ?? []), main], {
      env,
      stdio: ['ignore', log, log],
    });
    child = started;
    endWithThisProcess(started);
    const deadline = performance.now() + START_DEADLINE_MS;
    while (!(await answers(`http://127.0.0.1:${opsPort}/readyz`))) {
      if (started.exitCode !== null || performance.now() > deadline) {
        throw new BenchError(`A gateway did not start, see ${options.logFile}.`);
      }
      await sleep(100);
    }
  };
  const stop = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<void> => {
    if (child !== undefined) await ended(child, signal);
  };
  await start();
  stack.defer('gateway', () => stop('SIGKILL'));
  return {
    url: `http://127.0.0.1:${port}`,
    get pid() {
      return child?.pid ?? 0;
    },
    start,
    stop: () => stop('SIGTERM'),
    kill: () => stop('SIGKILL'),
  };
}
