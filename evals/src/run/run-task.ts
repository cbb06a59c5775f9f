import { randomUUID } from 'node:crypto';
import { judge } from '../score/judge.js';
import { HarnessError } from '../stack/local-program.js';
import type { Stack } from '../stack/stack.js';
import type { ScriptTurn, Task } from '../tasks/task.js';
import { agentsOf, memoriesOf, outsideState, readFinalState } from './final-state.js';
import { createTaskUser, type TaskUser } from './user.js';
import { StepFailed, takeSteps } from './user-steps.js';

/** One task run. */
export interface Trial {
  task: string;
  category: string;
  passed: boolean;
  /** Differences from what the task expects. */
  problems: string[];
  /** Why the run could not be judged. */
  harnessError?: string;
  promptTokens: number;
  completionTokens: number;
  modelCalls: number;
  seconds: number;
}

/** A script, or undefined for the stack's model. */
export type Script = readonly ScriptTurn[];

export interface RunOptions {
  /** Milliseconds after which a run counts as failed. */
  deadlineMs: number;
}

const NOTHING = { promptTokens: 0, completionTokens: 0, modelCalls: 0 };

async function runAndJudge(stack: Stack, task: Task, user: TaskUser, run: string | undefined, signal: AbortSignal) {
  const initial = {
    calendar: outsideState(user.google).calendar,
    memories: await memoriesOf(user),
    agents: await agentsOf(user),
  };
  const { scripted } = stack;
  const problems: string[] = [];
  const release = (): void => {
    if (run !== undefined) for (const hold of scripted?.model.holds(run) ?? []) scripted?.server.release(hold);
  };
  try {
    await takeSteps({ stack, user, signal, release }, task.user);
  } catch (error) {
    if (signal.aborted) problems.push('the run exceeded its time');
    else if (error instanceof StepFailed) problems.push(`user: ${error.message}`);
    else throw error;
  }
  const state = await readFinalState(user, stack.local.url);
  const { promptTokens, completionTokens, modelCalls } = state.usage;
  problems.push(...judge(task, initial, state));
  if (run !== undefined) problems.push(...(scripted?.model.problems(run) ?? []).map((text) => `script: ${text}`));
  return { problems, promptTokens, completionTokens, modelCalls };
}

/** Runs a task once with a new user, and judges the state afterwards. */
export async function runTask(
  stack: Stack,
  task: Task,
  script: Script | undefined,
  options: RunOptions,
): Promise<Trial> {
  const startedAt = performance.now();
  const run = script === undefined ? undefined : `run-${randomUUID().replaceAll('-', '').slice(0, 12)}`;
  if (run !== undefined) stack.scripted?.model.add(run, script ?? []);
  const trial = { task: task.id, category: task.category };
  const seconds = (): number => (performance.now() - startedAt) / 1_000;
  let user: TaskUser | undefined;
  try {
    user = await createTaskUser(stack, task, run);
    const judged = await runAndJudge(stack, task, user, run, AbortSignal.timeout(options.deadlineMs));
    return { ...trial, ...judged, passed: judged.problems.length === 0, seconds: seconds() };
  } catch (error) {
    const harnessError = error instanceof HarnessError ? error.message : String((error as Error).stack ?? error);
    return { ...trial, ...NOTHING, passed: false, problems: [], harnessError, seconds: seconds() };
  } finally {
    await user?.remove().catch(() => undefined);
    if (run !== undefined) stack.scripted?.model.remove(run);
  }
}
