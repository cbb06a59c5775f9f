import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Scenario } from './scenario.js';
import { listen } from './server/listen.js';
import { ScriptedServer } from './server/scripted-server.js';
import type { Transport } from './server/seen.js';
import { Stage } from './stage.js';

export interface Result {
  scenario: string;
  passed: boolean;
  /** The failure, and the client's standard error. */
  problem: string | undefined;
  log: string;
  ms: number;
}

export interface RunOptions {
  command: readonly string[];
  /** The folder in which the command runs. */
  cwd: string;
  transport: Transport;
  /** Maximum number of concurrent scenarios. */
  jobs: number;
  patienceMs: number;
  onResult?: (result: Result) => void;
}

const PINGS = { intervalMs: 25_000, timeoutMs: 10_000 };

/** Runs each scenario with its own server and its own client processes. @returns the results in scenario order */
export async function runScenarios(scenarios: readonly Scenario[], options: RunOptions): Promise<Result[]> {
  const results = new Map<Scenario, Result>();
  const waiting = [...scenarios];
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const result = await runScenario(next, options);
      results.set(next, result);
      options.onResult?.(result);
    }
  };
  await Promise.all(Array.from({ length: options.jobs }, work));
  return scenarios.map((scenario) => results.get(scenario)).filter((result) => result !== undefined);
}

async function runScenario(scenario: Scenario, options: RunOptions): Promise<Result> {
  const store = await mkdtemp(join(tmpdir(), 'uswarm-client-'));
  const server = new ScriptedServer();
  const started = performance.now();
  const stage = new Stage(server, { ...options, store });
  let problem: string | undefined;
  let close = () => undefined as void;
  try {
    close = await listen(server, scenario.pings ?? PINGS);
    await scenario.run(stage);
    const [violation] = server.seen.violations;
    if (violation !== undefined) throw new Error(violation);
  } catch (error) {
    problem = error instanceof Error ? error.message : String(error);
  } finally {
    await stage.close();
    close();
    await rm(store, { recursive: true, force: true });
  }
  const ms = Math.round(performance.now() - started);
  return { scenario: scenario.name, passed: problem === undefined, problem, log: stage.log, ms };
}
