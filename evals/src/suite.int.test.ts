import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { byTier } from '@uswarm/testkit/tier';
import { inParallel } from './run/in-parallel.js';
import { scriptOf } from './run/run-all.js';
import { runTask, type Trial } from './run/run-task.js';
import { SCRIPTS, type ScriptName } from './settings.js';
import { type Stack, startStack } from './stack/stack.js';
import { loadTasks } from './tasks/load-tasks.js';
import type { Task } from './tasks/task.js';

/** Concurrent runs. Each has a runtime process, so they mostly wait for each other. */
const CONCURRENCY = 8;
/** Milliseconds; only ends what hangs. */
const DEADLINE_MS = 300_000;

const allTasks = loadTasks();

/** The first tasks of each category. */
const firstTasks = (most: number): Task[] =>
  allTasks.filter(
    (task, index) => allTasks.slice(0, index).filter(({ category }) => category === task.category).length < most,
  );

const tasks = byTier({ core: firstTasks(2), all: allTasks });
/** The tasks that also run with the scripts that must fail. */
const failedTasks = byTier({ core: firstTasks(1), all: allTasks });

/** Task runs share only the processes: each has its own user, workspace and world. */
describe('the tasks, with the product in local mode and a scripted model', () => {
  let stack: Stack;
  const trials = new Map<string, Promise<Trial>>();
  const trialOf = (id: string, script: ScriptName) => trials.get(`${id} ${script}`);

  beforeAll(async () => {
    stack = await startStack('scripted');
    const runs = tasks.flatMap((task) =>
      SCRIPTS.filter((script) => script === 'reference' || failedTasks.includes(task)).map((script) => ({
        task,
        script,
      })),
    );
    const jobs = runs.map(
      ({ task, script }) =>
        () =>
          runTask(stack, task, scriptOf(task, script), { deadlineMs: DEADLINE_MS }),
    );
    for (const [index, trial] of inParallel(jobs, CONCURRENCY).entries())
      trials.set(`${runs[index]!.task.id} ${runs[index]!.script}`, trial);
  });
  afterAll(async () => {
    await Promise.all(trials.values());
    await stack?.close();
  });

  describe.each(tasks)('$category: $id', ({ id }) => {
    it('is passed with the reference script', async () => {
      const trial = await trialOf(id, 'reference');
      expect({ problems: trial?.problems, harnessError: trial?.harnessError }).toEqual({
        problems: [],
        harnessError: undefined,
      });
    });
  });

  describe.each(failedTasks)('$category: $id', ({ id }) => {
    it.each(['empty', 'wrong'] as const)('is failed with the %s script', async (script) => {
      const trial = await trialOf(id, script);
      expect({ passed: trial?.passed, harnessError: trial?.harnessError }).toEqual({
        passed: false,
        harnessError: undefined,
      });
      // It fails for its effects, and not because the script itself is broken.
      expect(trial?.problems.filter((problem) => !problem.startsWith('script:'))).not.toEqual([]);
      expect(trial?.problems.filter((problem) => problem.startsWith('script:'))).toEqual([]);
    });
  });
});
