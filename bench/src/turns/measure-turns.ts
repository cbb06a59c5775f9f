import { setTimeout as sleep } from 'node:timers/promises';
import { BenchError } from '../settings.js';
import { cpuSeconds } from '../world/processes.js';
import { monotonicMs, repeatedCalls, stepTimes } from './observations.js';
import { messageOf, type TurnPlan } from './plan.js';
import { TURNS_PER_USER, type TurnWorld } from './turn-world.js';
import type { BenchUser } from './users.js';

const PLAN: TurnPlan = { id: '', calls: 0, tool: 'web_search_tool', stalls: false, chunks: 5, paceMs: 0 };
/** 20 tokens per second. */
const PACE_MS = 50;
const TOKENS_PER_SECOND = 1_000 / PACE_MS;

let plans = 0;

function newPlan(changes: Partial<TurnPlan>): TurnPlan {
  plans += 1;
  return { ...PLAN, ...changes, id: `turn-${plans}` };
}

const userAt = ({ users }: TurnWorld, at: number): BenchUser => {
  const user = users[at];
  if (user === undefined) throw new BenchError(`The benchmark has no user ${at}.`);
  return user;
};

/** Waits until a message's turn has ended. @returns its status */
async function endOf(world: TurnWorld, messageId: string): Promise<string> {
  for (;;) {
    const [turn] = await world.query<{ status: string }>('SELECT status FROM turns WHERE user_message_id = $1', [
      messageId,
    ]);
    if (turn !== undefined && turn.status !== 'queued' && turn.status !== 'running') return turn.status;
    await sleep(20);
  }
}

async function completed(world: TurnWorld, messageId: string): Promise<void> {
  const status = await endOf(world, messageId);
  if (status !== 'done') throw new BenchError(`A turn ended as ${status}.`);
}

/** Milliseconds per step with a tool, without tool time. One turn at a time, after `warmUps` that do not count. */
export async function measureSteps(
  world: TurnWorld,
  { turns, calls, warmUps }: { turns: number; calls: number; warmUps: number },
): Promise<number[]> {
  const user = userAt(world, 0);
  const first = world.observations.all.length;
  const all = warmUps + turns;
  for (let n = 0; n < all; n += 1) {
    const plan = newPlan({ calls });
    const messageId = await user.send(user.conversations[n % TURNS_PER_USER] ?? '', messageOf(plan));
    // Waiting for the end would query Postgres in each step, with a new connection.
    await world.observations.saw('answered', plan.id, calls);
    await completed(world, messageId);
  }
  const times = stepTimes(world.observations.all.slice(first));
  if (times.length !== all * calls) throw new BenchError(`Only ${times.length} of ${all * calls} steps were seen.`);
  return times.slice(warmUps * calls);
}

/** Milliseconds from the request that stops a reply until the connection to the model server is closed. */
export async function measureStops(world: TurnWorld, stops: number): Promise<number[]> {
  const user = userAt(world, 1);
  const times: number[] = [];
  for (let n = 0; n < stops; n += 1) {
    const plan = newPlan({ chunks: 10_000, paceMs: PACE_MS });
    const messageId = await user.send(user.conversations[n % TURNS_PER_USER] ?? '', messageOf(plan));
    await world.observations.saw('asked', plan.id);
    await sleep(500);
    const from = monotonicMs();
    await user.stop(messageId);
    times.push((await world.observations.saw('cut', plan.id)).at - from);
    await endOf(world, messageId);
  }
  return times;
}

export interface KillFigures {
  /** Milliseconds from each kill to the model call that continues the turn. */
  times: number[];
  /** Model and tool calls that were repeated although they were completed. */
  repeated: number;
}

/** Kills the runtime after each step. */
export async function measureKills(world: TurnWorld, turns: number, kills: number): Promise<KillFigures> {
  const user = userAt(world, 2);
  const { observations } = world;
  const figures: KillFigures = { times: [], repeated: 0 };
  for (let n = 0; n < turns; n += 1) {
    const plan = newPlan({ calls: kills, stalls: true });
    const messageId = await user.send(user.conversations[n] ?? '', messageOf(plan));
    for (let step = 1; step <= kills; step += 1) {
      await observations.saw('asked', plan.id, step);
      const [runtime] = await world.query<{ pid: number }>(
        'SELECT pid FROM runtime_processes WHERE workspace_id = $1',
        [user.workspaceId],
      );
      const from = monotonicMs();
      process.kill(runtime?.pid ?? Number.NaN, 'SIGKILL');
      figures.times.push((await observations.saw('asked', plan.id, step, from)).at - from);
    }
    await completed(world, messageId);
    figures.repeated += repeatedCalls(observations.all, plan.id, kills);
  }
  return figures;
}

const OPEN_CARD = `
  SELECT a.card_message_id AS id FROM tool_approvals a JOIN turns t ON t.id = a.turn_id
  WHERE t.user_message_id = $1 AND a.status = 'open' AND t.status NOT IN ('queued', 'running')`;

/** Milliseconds from the request with the user's choice to the model call that continues the turn. */
export async function measureChoices(world: TurnWorld, choices: number): Promise<number[]> {
  const user = userAt(world, 3);
  await user.askBeforeMemories();
  const times: number[] = [];
  for (let n = 0; n < choices; n += 1) {
    const plan = newPlan({ calls: 1, tool: 'remember' });
    const messageId = await user.send(user.conversations[n % TURNS_PER_USER] ?? '', messageOf(plan));
    const cardId = await openCard(world, messageId);
    const from = monotonicMs();
    await user.choose(cardId, 'approve');
    times.push((await world.observations.saw('asked', plan.id, 1)).at - from);
    await world.observations.saw('answered', plan.id, 1);
  }
  return times;
}

const CARD_WITHIN_MS = 60_000;

async function openCard(world: TurnWorld, messageId: string): Promise<string> {
  const deadline = performance.now() + CARD_WITHIN_MS;
  while (performance.now() < deadline) {
    const [card] = await world.query<{ id: string }>(OPEN_CARD, [messageId]);
    if (card !== undefined) return card.id;
    await sleep(20);
  }
  throw new BenchError('The card of a call was not stored in time.');
}

export interface LoadFigures {
  turns: number;
  /** The orchestrator's event-loop lag in milliseconds. */
  lag: { p50: number; p99: number; max: number };
  /** Tokens per second that the model server sent, as a share of the intended rate. */
  rate: number;
  /** Processor cores that the orchestrator used. */
  orchestratorCores: number;
}

/** Milliseconds in which the turns settle after the last one has begun. */
const SETTLE_MS = 3_000;

interface StreamingTurn {
  user: BenchUser;
  messageId: string;
  plan: TurnPlan;
}

/** Starts a turn in each conversation, one after the other, so that they do not compete for the database. */
async function startStreams({ users, observations }: TurnWorld): Promise<StreamingTurn[]> {
  const turns: StreamingTurn[] = [];
  for (let n = 0; n < TURNS_PER_USER; n += 1) {
    for (const user of users) {
      const plan = newPlan({ chunks: 100_000, paceMs: PACE_MS });
      turns.push({ user, plan, messageId: await user.send(user.conversations[n] ?? '', messageOf(plan)) });
    }
    await Promise.all(turns.slice(-users.length).map(({ plan }) => observations.saw('asked', plan.id)));
  }
  return turns;
}

/** Streams in all conversations concurrently. */
export async function measureLoad(world: TurnWorld, seconds: number): Promise<LoadFigures> {
  const turns = await startStreams(world);
  await sleep(SETTLE_MS);

  await world.metrics();
  const [from, tokens, cpu] = [
    monotonicMs(),
    await world.tokensSent(),
    cpuSeconds(world.orchestratorPid) ?? Number.NaN,
  ];
  await sleep(seconds * 1_000);
  const metrics = await world.metrics();
  const passed = (monotonicMs() - from) / 1_000;
  const rate = ((await world.tokensSent()) - tokens) / passed / (turns.length * TOKENS_PER_SECOND);
  const orchestratorCores = ((cpuSeconds(world.orchestratorPid) ?? Number.NaN) - cpu) / passed;
  const lag = (name: string): number => (metrics.get(`nodejs_eventloop_lag_${name}_seconds`) ?? Number.NaN) * 1_000;

  for (const { user, messageId } of turns) await user.stop(messageId);
  for (const { messageId } of turns) {
    const status = await endOf(world, messageId);
    if (status !== 'stopped') throw new BenchError(`A turn ended as ${status} under load.`);
  }
  return { turns: turns.length, lag: { p50: lag('p50'), p99: lag('p99'), max: lag('max') }, rate, orchestratorCores };
}
