import { describe, expect, it } from '@jest/globals';
import { loadTasks, readTasks, TaskError } from './load-tasks.js';
import { SELECTIONS } from './selections.js';
import { CATEGORIES } from './task.js';

const NOW = new Date('2030-01-01T12:00:00Z');
const TASK = `
- id: a-task
  shows: Something.
  user: [{ say: Hello }]
  expect: {}
  script: [{ say: Hello }]
  wrong: [{ say: Bye }]
`;

/** The message about a file's tasks. */
function problemsOf(text: string): string {
  try {
    readTasks('tools', text, NOW);
  } catch (error) {
    if (error instanceof TaskError) return error.message;
    throw error;
  }
  throw new Error('no error was thrown');
}

describe('the tasks', () => {
  const tasks = loadTasks();

  it('are at least 150, with unique ids, in all categories', () => {
    expect(tasks.length).toBeGreaterThanOrEqual(150);
    expect(new Set(tasks.map(({ id }) => id)).size).toBe(tasks.length);
    for (const category of CATEGORIES)
      expect(tasks.filter((task) => task.category === category).length).toBeGreaterThanOrEqual(8);
  });

  it.each(Object.keys(SELECTIONS))(
    'include each task in the selection %s, whose name is not that of a task',
    (name) => {
      const ids = tasks.map(({ id }) => id);
      expect(SELECTIONS[name]?.filter((id) => !ids.includes(id))).toEqual([]);
      expect([...ids, ...CATEGORIES]).not.toContain(name);
    },
  );
});

describe('a file of tasks', () => {
  it('makes a list of steps one turn of the manager', () => {
    expect(readTasks('tools', TASK, NOW)[0]?.script).toEqual([{ agent: 'manager', steps: [{ say: 'Hello' }] }]);
  });

  it('has dates relative to the day in the time zone of the user', () => {
    const world = 'world: { time_zone: Pacific/Kiritimati }\n  user: [{ say: "@{+0} @{+1 weekday}" }]';
    const [task] = readTasks('tools', TASK.replace('user: [{ say: Hello }]', world), NOW);
    expect(task?.user).toEqual([{ say: '2030-01-02 Thursday' }]);
  });

  it.each([
    ['a: 1', 'tools.yaml: must be a list of tasks'],
    [TASK + TASK, 'tools.yaml: the id a-task is used twice'],
    [TASK.replace('say: Hello', 'sya: Hello'), /task 1 \(a-task\): user\.0: must have one of say, card, stop/],
    [
      TASK.replace('expect: {}', 'expect: { sent: [{ too: x }] }'),
      /\(a-task\): expect\.sent\.0: Unrecognized key: "too"/,
    ],
    [TASK.replace('[{ say: Bye }]', '[]'), /\(a-task\): wrong\.0\.steps: .*>=1/],
    [TASK.replace('[{ say: Bye }]', '[{ hold: true }]'), /wrong\.0\.steps\.0: needs say, call or finish/],
    [
      TASK.replace('expect: {}', 'expect: { reply: { text: "/(/" } }'),
      /expect\.reply\.text: is not a valid regular expression/,
    ],
    [TASK.replace('  shows: Something.\n', ''), /\(a-task\): shows: .*expected string/],
    ['- [', /^tools\.yaml: .*at line 1/],
  ])('is refused with a message that names file, task and field: %j', (text, message) => {
    expect(problemsOf(text)).toMatch(message);
  });
});
