import type { components, MessageData } from '@uswarm/client';
import { closedText, isOpenCard } from '../session/open-cards.js';

type UsageGroup = components['schemas']['UsageGroup'];
export type Amount = components['schemas']['UsageAmount'];
export type TaskState = 'running' | 'waiting' | 'pending' | 'completed' | 'failed' | 'cancelled';

/** An agent's work: the reply, another agent's task, or a workflow step. */
export interface Task {
  key: string;
  slug: string;
  agent: string;
  agentId: string | null;
  /** Empty for the reply itself. */
  title: string;
  state: TaskState;
  /** Reason for a failure; empty if unknown. */
  problem: string;
  /** The message whose stop ends this task; null for a step, which ends with its workflow. */
  messageId: string | null;
  /** Time of the message's last change. */
  at: string | null;
  /** Null until a model has answered. */
  turnId: string | null;
  own: Amount | null;
  /** Includes the tasks below; null until a model has answered. */
  total: Amount | null;
  children: Task[];
}
export interface TreeMessage {
  id: string | null;
  message: Pick<MessageData, 'turn_id' | 'in_reply_to' | 'agent' | 'extended_status' | 'updated_at' | 'error'> | null;
  content: MessageData['content'];
}
/** Agent names by slug, for steps. */
export type Names = ReadonlyMap<string, { id: string; name: string }>;

/** A task for another agent, and the turn that gave it. */
interface Delegation extends Task {
  givenBy: string | undefined;
  givenByAgent: string | undefined;
}

const NOTHING = { problem: '', messageId: null, turnId: null, own: null, total: null };

const lastOf = (own: readonly TreeMessage[]): TreeMessage | undefined =>
  own.findLast(({ content }) => content.type !== 'delegation' && content.type !== 'workflow');

/** A reply waits while it writes nothing, but a task or the user is not done. */
function stateOfReply(own: readonly TreeMessage[], children: readonly Task[]): TaskState {
  const last = lastOf(own);
  if (own.some(({ content, message }) => content.type === 'loading' || message?.extended_status === 'pending'))
    return 'running';
  const asks = last?.message && isOpenCard({ content: last.content, error: last.message.error });
  if (asks || waitsFor(children)) return 'waiting';
  return last?.message?.extended_status === 'failed' ? 'failed' : 'completed';
}

function workflowOf({ content, id, message }: TreeMessage, names: Names): Task[] {
  if (content.type !== 'workflow' || !('steps' in content)) return [];
  const { workflow_name: title, status: state, steps } = content;
  const children = steps.map((step): Task => {
    const slug = step.agent_slug;
    const agent = names.get(slug);
    const who = { slug, agent: agent?.name ?? slug, agentId: agent?.id ?? null };
    const at = step.finished_at ?? step.started_at;
    return { ...NOTHING, ...who, at, key: `${id}/${step.step_id}`, title: step.name, state: step.status, children: [] };
  });
  const who = { slug: '', agent: 'Workflow', agentId: null, at: message?.updated_at ?? null };
  return [{ ...NOTHING, ...who, key: id ?? '', title, state, messageId: state === 'running' ? id : null, children }];
}

function delegationOf({ content, id, message }: TreeMessage): Delegation[] {
  if (content.type !== 'delegation' || !('task_preview' in content)) return [];
  const { to, from, status: state, task_preview: title } = content;
  const who = { slug: to?.slug ?? '', agent: to?.name ?? 'An agent', agentId: to?.id ?? null };
  const given = { givenBy: message?.turn_id, givenByAgent: from?.slug };
  const messageId = state === 'running' ? id : null;
  const at = message?.updated_at ?? null;
  return [{ ...NOTHING, ...who, ...given, at, key: id ?? '', title, state, messageId, children: [] }];
}

/**
 * Messages name the turn that gave a task, and the report lists the turns that ran tasks: an agent's n-th task is its
 * n-th turn.
 */
function addUsage(tasks: readonly Task[], givenBy: string, oldestFirst: readonly UsageGroup[]): void {
  const own = oldestFirst.filter(({ turn }) => turn?.delegated_by === givenBy);
  for (const task of tasks) {
    const at = own.findIndex(({ turn }) => turn?.agent_id === task.agentId);
    const [group] = at < 0 ? [] : own.splice(at, 1);
    if (group === undefined) continue;
    Object.assign(task, { turnId: group.key, own: group.usage, total: group.turn?.total ?? null });
    addUsage(task.children, group.key, oldestFirst);
  }
}

/** Finds the task whose turn gave another one. Without usage, it is the agent's last task. */
function findReceiver(
  { givenBy, givenByAgent }: Delegation,
  given: readonly Delegation[],
  oldestFirst: readonly UsageGroup[],
): Delegation | undefined {
  const turn = oldestFirst.find(({ key }) => key === givenBy)?.turn;
  if (!turn) {
    const isKnown = given.some((task) => task.givenBy === givenBy);
    return isKnown ? undefined : given.findLast(({ slug }) => slug === givenByAgent);
  }
  const isSame = (row: UsageGroup): boolean =>
    row.turn?.delegated_by === turn.delegated_by && row.turn.agent_id === turn.agent_id;
  const at = oldestFirst.filter(isSame).findIndex(({ key }) => key === givenBy);
  return given.filter((task) => task.givenBy === turn.delegated_by && task.agentId === turn.agent_id)[at];
}

/**
 * The agents that answer a question.
 *
 * @param messages the conversation's, oldest first
 * @param usage the report grouped by turn, newest first
 */
export function treeOf(
  question: string,
  messages: readonly TreeMessage[],
  usage: readonly UsageGroup[],
  names: Names,
): Task[] {
  const answers = messages.filter(({ message }) => message?.in_reply_to === question);
  const turns = [...new Set(answers.flatMap(({ message }) => message?.turn_id ?? []))];
  const oldestFirst = usage.toReversed();
  const given: Delegation[] = [];
  const receiverOf = new Map<string, Delegation>();
  // A sub-agent that gives a task received one earlier, and has its own turn.
  for (const task of answers.flatMap(delegationOf)) {
    const turn = task.givenBy ?? '';
    const receiver = receiverOf.get(turn) ?? findReceiver(task, given, oldestFirst);
    if (receiver !== undefined) receiverOf.set(turn, receiver).get(turn)?.children.push(task);
    given.push(task);
  }
  // Newest first, because tasks are given from top to bottom.
  for (const task of given.toReversed())
    if (task.state === 'running' && waitsFor(task.children)) task.state = 'waiting';
  const isTask = (turn: string, slug: string | undefined): boolean =>
    receiverOf.has(turn) ||
    usage.some(({ key, turn: row }) => key === turn && row?.delegated_by) ||
    given.some((task) => task.slug === slug && task.givenBy !== turn);
  return turns.flatMap((turnId): Task[] => {
    const own = answers.filter(({ message }) => message?.turn_id === turnId);
    const agent = own.find(({ message }) => message?.agent)?.message?.agent;
    if (isTask(turnId, agent?.slug)) return [];
    const children = own.flatMap((one) => [...given.filter(({ key }) => key === one.id), ...workflowOf(one, names)]);
    addUsage(children, turnId, oldestFirst);
    const group = usage.find(({ key }) => key === turnId);
    const state = stateOfReply(own, children);
    const isRunning = state === 'running' || state === 'waiting';
    const messageId = isRunning ? (own.findLast(({ content }) => content.type !== 'delegation')?.id ?? null) : null;
    const who = { slug: agent?.slug ?? '', agent: agent?.name ?? 'An agent', agentId: agent?.id ?? null };
    const spent = { own: group?.usage ?? null, total: group?.turn?.total ?? null };
    const at = own.at(-1)?.message?.updated_at ?? null;
    const last = lastOf(own);
    const problem =
      state === 'failed' && last ? closedText({ content: last.content, error: last.message?.error ?? null }) : '';
    return [{ ...who, ...spent, at, problem, key: turnId, turnId, title: '', state, messageId, children }];
  });
}

/** An agent that gave a task waits for its result. */
const waitsFor = (children: readonly Task[]): boolean =>
  children.some(({ state }) => state === 'running' || state === 'waiting');

/** Flattens the tasks below, too. */
export const flat = (tasks: readonly Task[]): Task[] => tasks.flatMap((task) => [task, ...flat(task.children)]);
