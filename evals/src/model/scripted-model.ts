import { createHash } from 'node:crypto';
import { type ModelScript, type ModelServerRequest, type ModelStep, textOf } from '@uswarm/dev-servers';
import type { ScriptStep, ScriptTurn } from '../tasks/task.js';

/** The answer without a script, and after the end of one. */
const NOTHING = 'Done.';
/** A scripted run's user has the run id in their name, which each prompt contains. */
const RUN = /The user's name is "[^"]*\b(run-[a-z0-9]+)"/g;
const AGENT = /^You are .*? \(@([\w-]+)\)/;

/** User name in a scripted run. */
export const scriptedName = (name: string, run: string): string => `${name} ${run}`;

export interface ScriptedModel {
  script: ModelScript;
  /** A run's hold points by name. */
  holds(run: string): string[];
  add(run: string, turns: readonly ScriptTurn[]): void;
  remove(run: string): void;
  /** Script steps that could not be done. */
  problems(run: string): string[];
}

interface Run {
  turns: readonly ScriptTurn[];
  /** Script turn number per product turn, by its prompt; undefined if none is left. */
  assigned: Map<string, number | undefined>;
  /** Script turns that are in use or were. */
  taken: Set<number>;
  problems: string[];
}

const lastUser = ({ messages }: ModelServerRequest): number => messages.findLastIndex(({ role }) => role === 'user');

/** Replaces `{{regular expression}}` by the first group of its last match in what the model has read. @throws Error */
function filled(text: string, read: string): string {
  return text.replaceAll(/\{\{(.+?)\}\}/g, (_, source: string) => {
    const found = [...read.matchAll(new RegExp(source, 'g'))].at(-1)?.[1];
    if (found === undefined) throw new Error(`nothing in the prompt matches {{${source}}}`);
    return found;
  });
}

function filledIn(value: unknown, read: string): unknown {
  if (typeof value === 'string') return filled(value, read);
  if (Array.isArray(value)) return value.map((entry) => filledIn(entry, read));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, filledIn(entry, read)]));
}

const holdName = (run: string, turn: number, step: number): string => `${run}:${turn}:${step}`;

/** A script step as model server steps. */
function modelSteps({ say, call, hold, usage, finish }: ScriptStep, read: string, holdPoint: string): ModelStep[] {
  const text = say === undefined ? '' : filled(say, read);
  const [, first = '', rest = ''] = /^(\S*\s*)(.*)$/s.exec(text) ?? [];
  const calls = [call ?? []].flat().flatMap((one) => Object.entries(one));
  return [
    ...(first === '' ? [] : [{ text: first }]),
    ...(hold === undefined ? [] : [{ hold: holdPoint }]),
    ...(rest === '' ? [] : [{ text: rest }]),
    ...(calls.length === 0
      ? []
      : [{ toolCalls: calls.map(([name, input]) => ({ name, arguments: filledIn(input, read) as object })) }]),
    ...(usage === undefined ? [] : [{ usage }]),
    ...(finish === undefined ? [] : [{ finish }]),
  ];
}

/**
 * The script turn's number for a product turn. A prompt that begins again, because the user regenerates the reply, is
 * another turn.
 */
function assign(
  { turns, assigned, taken }: Run,
  agent: string,
  key: string,
  message: string,
  isFirst: boolean,
): number | undefined {
  const known = assigned.get(key);
  if (assigned.has(key) && !isFirst) return known;
  const free = turns.findIndex(
    (turn, index) => !taken.has(index) && turn.agent === agent && (turn.on === undefined || message.includes(turn.on)),
  );
  const number = free === -1 ? known : free;
  if (number !== undefined) taken.add(number);
  assigned.set(key, number);
  return number;
}

/** The model for all scripted runs, which finds the prompt's run, and follows its script. */
export function createScriptedModel(): ScriptedModel {
  const runs = new Map<string, Run>();

  function stepsOf(run: Run, id: string, request: ModelServerRequest): ModelStep[] {
    const { messages } = request;
    const system = textOf(messages.find(({ role }) => role === 'system')?.content);
    const begin = lastUser(request);
    const agent = AGENT.exec(system)?.[1] ?? '';
    const key = createHash('sha256')
      .update(agent)
      .update(JSON.stringify(messages.slice(0, begin + 1)))
      .digest('hex');
    const number = messages.slice(begin).filter(({ role }) => role === 'assistant').length;
    const turn = assign(run, agent, key, textOf(messages[begin]?.content), number === 0);
    const step = turn === undefined ? undefined : run.turns[turn]?.steps[number];
    if (turn === undefined || step === undefined) return [{ text: NOTHING }];
    return modelSteps(step, messages.map(({ content }) => textOf(content)).join('\n'), holdName(id, turn, number));
  }

  return {
    script(request) {
      const text = request.messages.map(({ content }) => textOf(content)).join('\n');
      const id = [...text.matchAll(RUN)].at(-1)?.[1] ?? '';
      const run = runs.get(id);
      if (run === undefined) return [{ error: { status: 400, message: `no script for this prompt (${id})` } }];
      try {
        return stepsOf(run, id, request);
      } catch (error) {
        const message = (error as Error).message;
        run.problems.push(message);
        return [{ error: { status: 400, message } }];
      }
    },
    holds: (id) =>
      (runs.get(id)?.turns ?? []).flatMap(({ steps }, turn) =>
        steps.flatMap(({ hold }, step) => (hold === undefined ? [] : [holdName(id, turn, step)])),
      ),
    add: (id, turns) => void runs.set(id, { turns, assigned: new Map(), taken: new Set(), problems: [] }),
    remove: (id) => void runs.delete(id),
    problems: (id) => runs.get(id)?.problems ?? [],
  };
}
