import { BenchError } from '../settings.js';
import { memoryMiB } from '../runtime/measure-start.js';
import type { ModelObservation } from './observations.js';
import { messageOf, taskPlan, type TurnPlan } from './plan.js';
import { TURNS_PER_USER, type TurnWorld } from './turn-world.js';

/** 20 tokens per second. */
const PACE_MS = 50;
const SAMPLE_MS = 250;

export interface DelegationFigures {
  /** Milliseconds that tasks add to an answer, without model time, by the number of concurrent tasks. */
  overheads: { tasks: number; times: number[] }[];
  streaming: {
    tasks: number;
    /** Tokens per second that the model server sent, as a share of the intended rate. */
    rate: number;
    /** The runtime's resident memory. */
    restMiB: number;
    peakMiB: number;
  };
}

const NO_CALLS = { calls: 0, tool: 'web_search_tool', stalls: false } as const;

let delegations = 0;

function planOf(changes: Pick<TurnPlan, 'tasks' | 'chunks' | 'paceMs'>): TurnPlan {
  delegations += 1;
  return { ...NO_CALLS, ...changes, id: `delegation-${delegations}` };
}

/** An answer's tasks as the model server sees them. */
async function observe({ observations }: TurnWorld, plan: TurnPlan, tasks: number) {
  const all = (what: ModelObservation['what']) =>
    Promise.all(Array.from({ length: tasks }, (_, n) => observations.saw(what, taskPlan(plan, n).id)));
  return {
    given: (await observations.saw('answered', plan.id, 0)).at,
    begun: (await all('asked')).map(({ at }) => at),
    ended: (await all('answered')).map(({ at }) => at),
    resumed: (await observations.saw('asked', plan.id, tasks)).at,
  };
}

async function measureOverheads(world: TurnWorld, tasks: number, answers: number): Promise<number[]> {
  const user = userOf(world);
  const times: number[] = [];
  for (let n = 0; n < answers; n += 1) {
    const plan = planOf({ tasks, chunks: 5, paceMs: 0 });
    await user.send(user.conversations[n % TURNS_PER_USER] ?? '', messageOf(plan));
    const { given, begun, ended, resumed } = await observe(world, plan, tasks);
    times.push(Math.min(...begun) - given + (resumed - Math.max(...ended)));
    await world.observations.saw('answered', plan.id, tasks);
  }
  return times;
}

const userOf = ({ users: [user] }: TurnWorld) => {
  if (user === undefined) throw new BenchError('The benchmark has no user.');
  return user;
};

async function measureStreaming(
  world: TurnWorld,
  tasks: number,
  chunks: number,
): Promise<DelegationFigures['streaming']> {
  const user = userOf(world);
  const [runtime] = await world.query<{ pid: number }>('SELECT pid FROM runtime_processes WHERE workspace_id = $1', [
    user.workspaceId,
  ]);
  const rss = () => memoryMiB(runtime?.pid ?? Number.NaN, 'VmRSS');
  const restMiB = rss();
  let peakMiB = restMiB;
  const sample = setInterval(() => (peakMiB = Math.max(peakMiB, rss())), SAMPLE_MS);
  const plan = planOf({ tasks, chunks, paceMs: PACE_MS });
  await user.send(user.conversations[0] ?? '', messageOf(plan));
  const { begun, ended } = await observe(world, plan, tasks);
  clearInterval(sample);
  const seconds = begun.map((from, n) => ((ended[n] ?? Number.NaN) - from) / 1_000);
  const slowest = Math.max(...seconds);
  return { tasks, rate: (chunks * PACE_MS) / 1_000 / slowest, restMiB, peakMiB };
}

/** Answers by a manager that gives tasks to sub-agents in the same runtime. */
export async function measureDelegations(
  world: TurnWorld,
  { answers, chunks }: { answers: number; chunks: number },
): Promise<DelegationFigures> {
  const overheads: DelegationFigures['overheads'] = [];
  for (const tasks of [1, 5]) overheads.push({ tasks, times: await measureOverheads(world, tasks, answers) });
  return { overheads, streaming: await measureStreaming(world, 5, chunks) };
}
