import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { CloseStack, silentLogger } from '@uswarm/service-kit';
import { latencyOf, median } from '../load/percentiles.js';
import { measureStart, memoryMiB, REST_MS } from '../runtime/measure-start.js';
import { BARE_NODE, type RuntimeImage, writeRuntimeImage } from '../runtime/start-cases.js';
import { BenchError, USAGE } from '../settings.js';
import { type AgentFigures, agentTables } from './agent-tables.js';
import { type Ask, askRuntime, askServer, FAST_MODEL, PACED_MODEL } from './answers.js';
import { firstTexts, throughput } from './measure-answers.js';
import { directly, startGateway, startModel, startRuntime, throughGateway } from './servers.js';
import { FEW_TURNS, measureTurns, type TurnSettings, TURNS } from '../turns/run-turns.js';
import { turnTables } from '../turns/turn-tables.js';

const FOLDER = fileURLToPath(new URL('../../../.cache/bench-agents', import.meta.url));

interface AgentSettings {
  /** Answers per side whose time to the first text is measured. */
  answers: number;
  /** Throughput measurement duration, after the warm-up. */
  seconds: number;
  /** Throughput measurements per case and side; the result is the median. */
  rounds: number;
  /** Concurrent turns in the throughput measurements. */
  turns: readonly number[];
  /** The part to measure; default: both. */
  part: Part | undefined;
  turnSettings: TurnSettings;
}

const PARTS = ['answers', 'turns'] as const;
type Part = (typeof PARTS)[number];

/**
 * `npm run bench -- agents`: compares answers by the agent runtime, and model calls through the model gateway, with
 * direct calls to the model server, and measures turns with tools, stops, crashes and approvals. Prints tables and a
 * JSON line.
 *
 * @throws BenchError
 */
export async function runAgents(args: string[], say: (line: string) => void): Promise<void> {
  const settings = readSettings(args);
  if (process.platform !== 'linux') throw new BenchError('Only supported on Linux: memory is read from /proc.');
  const folder = mkdtempSync(join(tmpdir(), 'uswarm-bench-'));
  const stack = new CloseStack(silentLogger);
  stack.defer('folder', () => rmSync(folder, { recursive: true }));
  try {
    const image = await writeRuntimeImage(folder);
    const answers = settings.part === 'turns' ? undefined : await measureAnswers(settings, image, say);
    const turns =
      settings.part === 'answers' ? undefined : await measureTurns(settings.turnSettings, image, stack, say);
    const tables = [
      ...(answers === undefined ? [] : [agentTables(answers)]),
      ...(turns === undefined ? [] : [turnTables(turns)]),
    ];
    say(`\n${tables.join('\n\n')}\n\n${JSON.stringify({ settings, figures: { ...answers, turns } })}`);
  } finally {
    await stack.close();
  }
}

/** Stops its servers before the next part is measured. */
async function measureAnswers(
  settings: AgentSettings,
  image: RuntimeImage,
  say: (line: string) => void,
): Promise<AgentFigures> {
  const stack = new CloseStack(silentLogger);
  try {
    const url = await startModel(stack);
    return {
      ...(await measureRuntime(settings, { image, url }, stack, say)),
      throughGateway: await measureGateway(settings, { image, url }, stack, say),
    };
  } finally {
    await stack.close();
  }
}

interface Measured {
  image: RuntimeImage;
  /** Of the model server, with `/v1`. */
  url: string;
}

async function measureRuntime(
  settings: AgentSettings,
  { image, url }: Measured,
  stack: CloseStack,
  say: (line: string) => void,
) {
  const { residentMiB: bareMiB } = await measureStart(BARE_NODE);
  const { client, pid } = await startRuntime(image, directly(url), stack);
  await sleep(REST_MS);
  const atRestMiB = memoryMiB(pid, 'VmRSS');
  const sides = { floor: askServer(url), runtime: askRuntime(client) };
  // Loads the provider.
  for await (const _ of sides.runtime(FAST_MODEL));
  await sleep(REST_MS);
  const afterAnswerMiB = memoryMiB(pid, 'VmRSS');

  say(`Time to the first text: ${settings.answers} answers of each side`);
  const times = await firstTexts(sides, FAST_MODEL, settings.answers);
  const firstText = { floor: latencyOf(times.floor), runtime: latencyOf(times.runtime) };
  const rates: AgentFigures['throughput'] = [];
  let peakMiB = 0;
  for (const turns of settings.turns) {
    say(`Throughput: ${turns} concurrent turns`);
    const sample = setInterval(() => (peakMiB = Math.max(peakMiB, memoryMiB(pid, 'VmRSS'))), 250);
    rates.push({ turns, ...(await measureThroughput(sides, turns, settings)) });
    clearInterval(sample);
  }
  return { firstText, throughput: rates, memory: { bareMiB, atRestMiB, afterAnswerMiB, peakMiB } };
}

/** Characters per second of both sides, which alternate. */
async function measureThroughput(
  sides: Record<'floor' | 'runtime', Ask>,
  turns: number,
  { seconds, rounds }: AgentSettings,
) {
  const job = { model: PACED_MODEL, concurrent: turns, seconds, warmUpSeconds: 2 } as const;
  const rates = { floor: [] as number[], runtime: [] as number[] };
  for (let round = 0; round < rounds; round += 1) {
    for (const side of round % 2 === 0 ? (['floor', 'runtime'] as const) : (['runtime', 'floor'] as const)) {
      rates[side].push(await throughput(sides[side], job));
    }
  }
  return { floor: median(rates.floor), runtime: median(rates.runtime) };
}

/** The path of production: runtime, gateway, model server. */
async function measureGateway(
  { answers }: AgentSettings,
  { image, url }: Measured,
  stack: CloseStack,
  say: (line: string) => void,
): Promise<AgentFigures['throughGateway']> {
  say('Starting Postgres, Valkey, the orchestrator and the model gateway');
  const gateway = await startGateway(url, FOLDER, stack);
  const { client } = await startRuntime(image, throughGateway(gateway.origin), stack);
  const token = await gateway.token();
  say(`Time to the first text through the gateway: ${answers} answers of each side`);
  const times = await firstTexts(
    {
      floor: askServer(url),
      gateway: askServer(`${gateway.origin}/openai/v1`, token),
      runtime: askRuntime(client, token),
    },
    FAST_MODEL,
    answers,
  );
  return { floor: latencyOf(times.floor), gateway: latencyOf(times.gateway), runtime: latencyOf(times.runtime) };
}

const OPTIONS = { answers: '500', seconds: '12', rounds: '3' };
const SMALL: typeof OPTIONS = { answers: '10', seconds: '4', rounds: '1' };

function readSettings(args: string[]): AgentSettings {
  const text = { type: 'string' } as const;
  try {
    const { values } = parseArgs({
      args,
      options: { answers: text, seconds: text, rounds: text, part: text, small: { type: 'boolean' } },
    });
    const small = values.small === true;
    const number = (name: keyof typeof OPTIONS): number => {
      const value = Number(values[name] ?? (small ? SMALL : OPTIONS)[name]);
      if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} must be a positive integer.`);
      return value;
    };
    const part = PARTS.find((name) => name === values.part);
    if (values.part !== part) throw new Error(`--part must be one of ${PARTS.join(', ')}.`);
    return {
      answers: number('answers'),
      seconds: number('seconds'),
      rounds: number('rounds'),
      turns: [1, 100],
      part,
      turnSettings: small ? FEW_TURNS : TURNS,
    };
  } catch (error) {
    throw new BenchError(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  }
}
