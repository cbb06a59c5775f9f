import type { Stack } from '../stack/stack.js';
import type { Task } from '../tasks/task.js';
import type { ScriptName } from '../settings.js';
import { inParallel } from './in-parallel.js';
import { runTask, type Script, type Trial } from './run-task.js';

/** The script with this name. With the empty one, the model only answers `Done.`. */
export const scriptOf = ({ script, wrong }: Task, name: ScriptName): Script =>
  ({ reference: script, empty: [], wrong })[name];

export interface RunAllOptions {
  tasks: readonly Task[];
  repeat: number;
  /** Undefined: the stack's model. */
  script: ScriptName | undefined;
  concurrency: number;
  deadlineMs: number;
  onTrial?: (trial: Trial) => void;
}

/** Runs each task several times. */
export async function runAll(stack: Stack, options: RunAllOptions): Promise<Trial[]> {
  const { tasks, repeat, script, concurrency, deadlineMs, onTrial } = options;
  const jobs = Array.from({ length: repeat }, () => tasks)
    .flat()
    .map((task) => async () => {
      const trial = await runTask(stack, task, script && scriptOf(task, script), { deadlineMs });
      onTrial?.(trial);
      return trial;
    });
  return Promise.all(inParallel(jobs, concurrency));
}
