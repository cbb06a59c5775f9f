import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { DialectResult } from '@uswarm/dev-servers';
import { type Habit, type HabitRun, habitsOf, type SeenHabit, startHabits } from '../test/model-habits.js';

const PROTOCOLS = ['openai', 'anthropic'] as const;

/** Characters per reply. */
const LONGEST_REPLY = 1_000_000;

/** The model's text after the tool results. */
const AFTER_CALLS = expect.stringMatching(/Done\.$/);

const failed = (error: string | undefined, text: string): object => ({
  status: 'failed',
  error,
  // A failure without text is described by a sentence.
  text: text === '' ? expect.stringMatching(/^[A-Z].*\.$/) : expect.stringContaining(text),
});

/** Returns the expected message for a dialect's result. */
function outcomeOf({ text, finish, error }: DialectResult): object {
  if (text.length > LONGEST_REPLY) return failed('reply_too_long', '');
  if (finish === 'answered') return { status: 'delivered', error: null, text };
  if (finish === 'calls') return { status: 'delivered', error: null, text: AFTER_CALLS };
  if (finish === 'length') return failed('output_limit_reached', text);
  if (finish === 'unknown') return failed('model_unavailable', text);
  return failed(finish === 'refused' ? 'model_refused' : error, text);
}

const isResult = ({ type }: { type: string }): boolean => type === 'tool_result';

/** Counts the tool results in the last request. */
const resultsIn = ({ requests }: SeenHabit): number =>
  (requests.at(-1)?.body.messages ?? []).filter(
    ({ role, content }) => role === 'tool' || (Array.isArray(content) && content.some(isResult)),
  ).length;

const hasCalls = ({ dialect: { expected } }: Habit): boolean => expected.calls !== undefined;

describe.each(PROTOCOLS)('a swarm whose model server speaks the protocol of %s', (protocol) => {
  const habits = habitsOf(protocol);
  let run: HabitRun;
  /** By model name. All questions are asked at the beginning, some of them at the same time. */
  const seen = new Map<string, Promise<SeenHabit>>();
  const seenOf = (model: string): Promise<SeenHabit> => seen.get(model) ?? Promise.reject(new Error('not asked'));
  beforeAll(async () => {
    run = await startHabits(protocol);
    for (const habit of habits) seen.set(habit.model, run.see(habit));
    await Promise.allSettled(seen.values());
  });
  afterAll(() => run?.close());

  it.each(habits.map(({ group, model, dialect }) => ({ group, model, ...dialect })))(
    'shows the outcome of a habit in the group $group: $name',
    async ({ model, expected }) => {
      const { replies } = await seenOf(model);
      expect(replies).toEqual([outcomeOf(expected)]);
    },
  );

  it.each(habits.filter(hasCalls).map(({ model, dialect }) => ({ model, ...dialect })))(
    'returns a result for each call: $name',
    async ({ model, expected }) => {
      expect(resultsIn(await seenOf(model))).toBe(expected.calls?.length);
    },
  );
});
