import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, YAMLParseError } from 'yaml';
import { z } from 'zod';
import { datesIn } from './dates.js';
import { CATEGORIES, type Category, Task } from './task.js';

/** The files; the paths are the same from `src` and `dist`. */
const TASKS = join(import.meta.dirname, '..', '..', 'tasks');

/** Tasks that do not have the documented form. The message has one line per problem. */
export class TaskError extends Error {
  override name = 'TaskError';
}

const Entry = z.looseObject({
  id: z.string().catch('without id'),
  world: z.looseObject({ time_zone: z.string() }).catch({ time_zone: 'UTC' }),
});

function parseFile(file: string, text: string): unknown[] {
  try {
    const entries: unknown = parse(text);
    if (Array.isArray(entries)) return entries;
  } catch (error) {
    if (error instanceof YAMLParseError) throw new TaskError(`${file}: ${error.message}`, { cause: error });
    throw error;
  }
  throw new TaskError(`${file}: must be a list of tasks`);
}

/**
 * Reads the tasks of one file, whose name is the category. Dates in them are relative to `now`.
 *
 * @throws TaskError
 */
export function readTasks(category: Category, text: string, now: Date): Task[] {
  const file = `${category}.yaml`;
  const problems: string[] = [];
  const tasks = parseFile(file, text).flatMap((entry, index) => {
    const { id, world } = Entry.catch({ id: 'without id', world: { time_zone: 'UTC' } }).parse(entry);
    const { data, error } = Task.safeParse(datesIn(entry, now, world.time_zone));
    for (const { path, message } of error?.issues ?? [])
      problems.push(
        `${file}: task ${index + 1} (${id}): ${[...path, ''].join('.').slice(0, -1) || 'task'}: ${message}`,
      );
    return data === undefined ? [] : [{ ...data, category }];
  });
  const ids = tasks.map(({ id }) => id);
  for (const id of new Set(ids.filter((one, index) => ids.indexOf(one) < index)))
    problems.push(`${file}: the id ${id} is used twice`);
  if (problems.length > 0) throw new TaskError(problems.join('\n'));
  return tasks;
}

function loadFolder(folder: string, now: Date): Task[] {
  const files = readdirSync(folder);
  return CATEGORIES.filter((category) => files.includes(`${category}.yaml`)).flatMap((category) =>
    readTasks(category, readFileSync(join(folder, `${category}.yaml`), 'utf8'), now),
  );
}

/** @throws TaskError */
export const loadTasks = (now = new Date()): Task[] => loadFolder(TASKS, now);
