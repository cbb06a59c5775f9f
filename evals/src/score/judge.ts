import type { FinalState, MailState } from '../run/final-state.js';
import type { Task, TextRule } from '../tasks/task.js';
import { matches, pair } from './match.js';

/** The state before the run. */
export type InitialState = Pick<FinalState, 'calendar' | 'memories' | 'agents'>;

const isMoment = (text: string): boolean => /^\d{4}-\d{2}-\d{2}/.test(text);
/** `2030-01-01T09:00:00Z` and `2030-01-01T10:00:00+01:00` are the same moment. */
const isSameValue = (value: unknown, wanted: unknown): boolean =>
  typeof value === 'string' && typeof wanted === 'string' && isMoment(value) && isMoment(wanted)
    ? Date.parse(value) === Date.parse(wanted) && value.includes('T') === wanted.includes('T')
    : value === wanted;

/** Fields whose rule is a text rule; others must be equal. */
const TEXTS = new Set([
  'title',
  'location',
  'subject',
  'body',
  'key',
  'content',
  'category',
  'description',
  'text',
  'task',
  'name',
  'role',
  'instructions',
]);

function fieldFits(name: string, value: unknown, rule: unknown): boolean {
  if (TEXTS.has(name)) return typeof value === 'string' && matches(value, rule as TextRule);
  if (!Array.isArray(rule)) return isSameValue(value, rule);
  const list = value as unknown[];
  const ordered = name === 'steps' || name === 'earlier';
  if (list.length !== rule.length) return false;
  if (name === 'steps') return rule.every((one, index) => fits(list[index] as object, one as object));
  if (name === 'earlier') return rule.every((one, index) => matches(String(list[index]), one as TextRule));
  return !ordered && list.toSorted().join('\n') === rule.toSorted().join('\n');
}

/** True if an item has all fields in a rule. */
function fits(item: object, rule: object): boolean {
  return Object.entries(rule).every(
    ([name, wanted]) => wanted === undefined || fieldFits(name, (item as Record<string, unknown>)[name], wanted),
  );
}

const shown = (value: unknown): string => JSON.stringify(value);

/** Lists that a task describes completely. */
function compareLists(what: string, rules: readonly object[] | undefined, items: readonly object[]): string[] {
  if (rules === undefined) return [];
  const { missing, unexpected } = pair(rules, items, fits);
  return [
    ...missing.map((rule) => `${what}: missing ${shown(rule)}`),
    ...unexpected.map((item) => `${what}: unexpected ${shown(item)}`),
  ];
}

function outside({ expect, world }: Task, initial: InitialState, state: FinalState): string[] {
  const exact = (events: FinalState['calendar']): object[] => events.map(({ description: _, ...event }) => event);
  return [
    ...(expect.calendar === undefined
      ? compareExactly('calendar', exact(initial.calendar), exact(state.calendar))
      : compareLists('calendar', expect.calendar, state.calendar)),
    ...(expect.notified === undefined && world.calendar === undefined
      ? []
      : compareExactly('notified', expect.notified ?? [], [...new Set(state.notified)])),
    ...compareLists('sent', expect.sent, state.sent),
    ...compareLists('drafts', expect.drafts, state.drafts),
    ...(expect.requests ?? [])
      .filter((method) => !state.requests.includes(method))
      .map((method) => `requests: ${method} was not executed`),
    ...(expect.searched ?? [])
      .filter((rule) => !state.searched.some((query) => matches(query, rule)))
      .map((rule) => `searched: no query like ${shown(rule)} among ${shown(state.searched)}`),
    ...(expect.opened ?? [])
      .filter((rule) => !state.opened.some((url) => matches(url, rule)))
      .map((rule) => `opened: no address like ${shown(rule)} among ${shown(state.opened)}`),
  ];
}

function compareExactly(what: string, wanted: readonly unknown[], found: readonly unknown[]): string[] {
  const { missing, unexpected } = pair(wanted, found, (item, rule) => shown(item) === shown(rule));
  return [
    ...missing.map((item) => `${what}: missing ${shown(item)}`),
    ...unexpected.map((item) => `${what}: unexpected ${shown(item)}`),
  ];
}

/** The user also changes tools. */
function permitted({ denied, ...agent }: FinalState['agents'][number], { user }: Task): FinalState['agents'][number] {
  const all = new Set(denied);
  for (const [tool, permission] of user.flatMap((step) => ('permit' in step ? Object.entries(step.permit) : [])))
    if (permission === 'deny') all.add(tool);
    else all.delete(tool);
  return { ...agent, denied: [...all].toSorted() };
}

function agents(task: Task, initial: InitialState, state: FinalState): string[] {
  const { expect } = task;
  const known = new Set(initial.agents.map((agent) => shown(permitted(agent, task))));
  const present = new Set(state.agents.map(({ slug }) => slug));
  const changed = state.agents.filter((agent) => !known.has(shown(agent)));
  const removed = initial.agents.flatMap(({ slug }) => (present.has(slug) ? [] : [slug]));
  return [...compareLists('agents', expect.agents, changed), ...compareExactly('removed', expect.removed, removed)];
}

function inside({ expect }: Task, initial: InitialState, state: FinalState): string[] {
  const kept = compareExactly('memories', initial.memories, state.memories).filter((line) => line.includes('missing'));
  const last = state.replies.at(-1);
  return [
    ...(expect.memories === undefined ? kept : compareLists('memories', expect.memories, state.memories)),
    ...compareLists('artifacts', expect.artifacts, state.artifacts),
    ...compareLists('files', expect.files, state.files),
    ...compareLists('receipts', expect.receipts, state.receipts),
    ...compareLists('cards', expect.cards, state.cards),
    ...compareLists('delegations', expect.delegations, state.delegations),
    ...compareLists('workflows', expect.workflows, state.workflows),
    ...compareLists('replies', expect.replies, state.replies),
    ...compareLists('tools', expect.tools, state.tools).filter((line) => line.includes('missing')),
    ...(expect.reply === undefined || (last !== undefined && fits(last, expect.reply))
      ? []
      : [`reply: ${shown(last)} is not ${shown(expect.reply)}`]),
  ];
}

/** Everything that left an agent. */
function effects(initial: InitialState, state: FinalState): string[] {
  const known = new Set(initial.memories.map(({ key, content }) => `${key}\n${content}`));
  const mails = (list: readonly MailState[]): string[] =>
    list.map(({ to, subject, body }) => [...to, subject, body].join('\n'));
  return [
    ...state.replies.map(({ text }) => text),
    ...mails(state.sent),
    ...mails(state.drafts),
    ...state.calendar.map((event) => Object.values(event).flat().join('\n')),
    ...state.memories.map(({ key, content }) => `${key}\n${content}`).filter((memory) => !known.has(memory)),
    ...state.agents.flatMap(({ name, role, description, instructions }) => [name, role, description, instructions]),
    ...state.artifacts.flatMap(({ title, content, earlier }) => [title, content, ...earlier]),
    ...state.files.flatMap(({ name, text }) => [name, text]),
    ...state.searched,
    ...state.opened,
  ];
}

/** Compares the final state with what a task expects. @returns one line per difference; none if the task is passed */
export function judge(task: Task, initial: InitialState, state: FinalState): string[] {
  const { tokens, model_calls: modelCalls, tool_calls: toolCalls } = task.expect.limits;
  const above = (what: string, found: number, limit = Infinity): string[] =>
    found > limit ? [`limits: ${found} ${what} are more than ${limit}`] : [];
  const all = effects(initial, state);
  return [
    ...outside(task, initial, state),
    ...inside(task, initial, state),
    ...agents(task, initial, state),
    ...task.expect.forbidden
      .filter((rule) => all.some((text) => matches(text, rule)))
      .map((rule) => `forbidden: ${shown(rule)} appears in an effect or a reply`),
    ...above('tokens', state.usage.tokens, tokens),
    ...above('model calls', state.usage.modelCalls, modelCalls),
    ...above('tool calls', state.tools.length, toolCalls),
  ];
}
