import { LIMITS, messageError, type TurnStep, type TurnSteps } from '@uswarm/contract';
import type { ListPosition } from '../../records/list-cursor.js';
import { oneLine } from '../../records/one-line.js';
import type { SafeMarkdown } from '../content/reply-text.js';
import { type Beginning, beginningOf, type JournalCall, type JournalPart } from './journal-parts.js';
import type {
  ApprovalRow,
  ModelCallRow,
  OutcomeRow,
  ReceiptRow,
  StepRecords,
  TaskRow,
  TurnChain,
} from './steps.store.js';

export interface ListedStep {
  step: TurnStep;
  position: ListPosition;
}

export interface StepSources {
  chain: TurnChain;
  records: StepRecords;
  /** In journal order. */
  parts: readonly JournalPart[];
  /** As told to the agent that gave the task, if the turn worked on one and has ended. */
  taskResult: Beginning | undefined;
}

export interface StepRules {
  markdown: Pick<SafeMarkdown, 'text'>;
  /** Tools that change uswarm data. Their arguments are not shown: users can delete what agents have written. */
  ownTools: ReadonlySet<string>;
}

/** Orders steps that begin at the same time. */
const ORDER: Record<TurnStep['type'], number> = { model_call: 0, text: 1, tool_call: 2, approval: 3, delegation: 4 };
/** Exceeds the number of calls per step. */
const CALLS = 1_000;

const time = (at: Date | string): string => new Date(at).toISOString();
const timeOrNull = (at: string | null): string | null => (at === null ? null : time(at));

type Details = {
  [Type in TurnStep['type']]: { type: Type } & Record<Type, NonNullable<TurnStep[Type]>>;
}[TurnStep['type']];
type Times = Pick<TurnStep, 'started_at' | 'finished_at'>;

const NONE = { model_call: null, text: null, tool_call: null, approval: null, delegation: null };

/**
 * @param place breaks ties between steps of this type that begin at the same time
 * @param at determines the position, if the shown time is another one
 */
function listed(
  id: string,
  details: Details,
  times: Times,
  place: number,
  at: Date | string = times.started_at,
): ListedStep {
  const key = `${ORDER[details.type]}${String(place).padStart(8, '0')}`;
  return { step: { ...NONE, ...details, id, ...times }, position: { time: time(at), key } };
}

export const isBehind = (one: ListPosition, other: ListPosition): boolean =>
  one.time === other.time ? one.key > other.key : one.time > other.time;

type TurnState = Pick<TurnSteps, 'status' | 'started_at' | 'finished_at'>;

const ENDS = { queued: 'queued', running: 'running', done: 'completed', failed: 'failed', stopped: 'stopped' } as const;

function stateOf({ turns }: TurnChain): TurnState {
  const last = turns.at(-1);
  const status = last === undefined ? 'completed' : last.waits ? 'waiting' : ENDS[last.status];
  const started = turns.find(({ started_at: at }) => at !== null)?.started_at ?? null;
  const isOpen = status === 'queued' || status === 'running' || status === 'waiting';
  return {
    status,
    started_at: timeOrNull(started),
    finished_at: isOpen ? null : timeOrNull(last?.finished_at ?? null),
  };
}

/** True if no turn in the chain runs or will run. */
export const hasEnded = (chain: TurnChain): boolean => stateOf(chain).finished_at !== null;

/** Pure. @throws TypeError for a chain without turns */
export function turnView(
  conversationId: string,
  { chain, records: { owner } }: Pick<StepSources, 'chain' | 'records'>,
): Omit<TurnSteps, 'steps'> {
  const [first, last] = [chain.turns[0], chain.turns.at(-1)];
  if (first === undefined || last === undefined) throw new TypeError('a chain has at least one turn');
  const state = stateOf(chain);
  const failed = state.status === 'failed' || state.status === 'stopped';
  return {
    turn_id: chain.turnId,
    conversation_id: conversationId,
    agent: last.agent,
    error: failed ? messageError(last.error_code ?? (state.status === 'stopped' ? 'stopped' : 'internal_error')) : null,
    delegated_by: owner?.turn_id ?? null,
    task: owner === null ? null : taskLine(owner.task),
    created_at: time(first.created_at),
    ...state,
  };
}

const taskLine = (task: string): string => oneLine(task).slice(0, LIMITS.taskPreview).toWellFormed();

/** A call that was counted when it ended has no recorded start: it began after what precedes it. */
function startOf(row: ModelCallRow, { chain, parts }: StepSources): string {
  const at = Date.parse(row.created_at);
  if (row.finished_at === null || Date.parse(row.finished_at) > at) return time(row.created_at);
  const before = [
    ...chain.turns.map(({ started_at: started }) => (started === null ? Number.NaN : Date.parse(started))),
    ...parts.map((part) => part.at.getTime()),
  ].filter((earlier) => earlier < at);
  return before.length === 0 ? time(row.created_at) : new Date(Math.max(...before)).toISOString();
}

function modelCalls(sources: StepSources, isActive: boolean): ListedStep[] {
  const rows = sources.records.model_calls;
  const last = rows.at(-1);
  return rows.map((row) => {
    const { step, kind: purpose, reserved, created_at: at, finished_at: end, ...usage } = row;
    const status = !reserved ? 'completed' : isActive && row === last ? 'running' : 'unknown';
    const times = { started_at: startOf(row, sources), finished_at: timeOrNull(end) };
    return listed(`model:${step}`, { type: 'model_call', model_call: { purpose, status, ...usage } }, times, step, at);
  });
}

/** The journal's texts, and the rest of the reply if the journal lacks it. */
function texts(sources: StepSources, state: TurnState, { markdown }: StepRules): ListedStep[] {
  const { chain, parts, records, taskResult } = sources;
  const shown = chain.turns.at(-1)?.shown_entries ?? 0;
  let written = '';
  const steps = parts.flatMap((part) => {
    if (part.kind !== 'step') return [];
    if (part.number > shown || taskResult !== undefined) written += part.text;
    const text = markdown.text(part.text).trim();
    if (text === '') return [];
    return [textStep(`text:${part.number}`, beginningOf(text), time(part.at), null, part.number)];
  });
  const messageId = records.reply?.message_id ?? null;
  const whole = taskResult?.text ?? (records.reply?.failed === true ? '' : records.reply?.text);
  if (whole === undefined || state.finished_at === null) return steps;
  const before = markdown.text(written).trimEnd();
  const all = markdown.text(whole);
  const rest = (all.startsWith(before) ? all.slice(before.length) : all).trim();
  if (rest === '') return steps;
  const beginning = beginningOf(rest);
  const truncated = beginning.truncated || taskResult?.truncated === true;
  return [...steps, textStep('text:last', { ...beginning, truncated }, state.finished_at, messageId, CALLS)];
}

function textStep(id: string, text: Beginning, at: string, messageId: string | null, place: number): ListedStep {
  const details = { type: 'text', text: { ...text, message_id: messageId } } as const;
  return listed(id, details, { started_at: at, finished_at: at }, place);
}

interface CallFacts {
  result: (JournalPart & { kind: 'result' }) | undefined;
  outcome: OutcomeRow | undefined;
  receipt: ReceiptRow | undefined;
  approval: ApprovalRow | undefined;
  task: TaskRow | undefined;
}

type CallDetails = NonNullable<TurnStep['tool_call']>;

function statusOf({ result, outcome, receipt, approval }: CallFacts, isOpen: boolean): CallDetails['status'] {
  const ended = result ?? outcome;
  if (receipt?.status === 'unknown') return 'unknown';
  if (ended !== undefined) return ended.failed ? 'failed' : 'completed';
  if (receipt !== undefined && receipt.status !== 'sent') return receipt.status === 'failed' ? 'failed' : 'completed';
  if (!isOpen) return 'unknown';
  return approval?.status === 'open' ? 'waiting' : 'running';
}

function callDetails(call: JournalCall, facts: CallFacts, isOpen: boolean, ownTools: ReadonlySet<string>): CallDetails {
  const { result, outcome, receipt } = facts;
  const isOwn = receipt?.effect === 'own' || ownTools.has(call.tool);
  const told = outcome?.text ?? receipt?.outcome ?? undefined;
  const read = result?.text ?? (told === undefined ? undefined : beginningOf(told));
  return {
    call_id: call.id,
    tool: call.tool,
    status: statusOf(facts, isOpen),
    arguments: isOwn ? null : (call.arguments?.text ?? null),
    arguments_truncated: !isOwn && (call.arguments?.truncated ?? false),
    result: read?.text ?? null,
    result_truncated: read?.truncated ?? false,
    receipt_id: receipt?.id ?? null,
  };
}

const endOf = ({ result, outcome, receipt, task }: CallFacts): Date | string | null =>
  result?.at ?? outcome?.created_at ?? receipt?.finished_at ?? task?.finished_at ?? null;

function toolCalls({ parts, records }: StepSources, isOpen: boolean, { ownTools }: StepRules): ListedStep[] {
  const of = <Item extends { call_id: string | null }>(rows: readonly Item[], id: string): Item | undefined =>
    rows.find(({ call_id: callId }) => callId === id);
  const results = new Map(parts.flatMap((part) => (part.kind === 'result' ? [[part.callId, part] as const] : [])));
  const factsOf = (id: string): CallFacts => ({
    result: results.get(id),
    outcome: of(records.outcomes, id),
    receipt: of(records.receipts, id),
    approval: of(records.approvals, id),
    task: of(records.tasks, id),
  });
  const asked = parts.flatMap((part) =>
    part.kind === 'step'
      ? part.calls.map((call, index) => ({ call, at: part.at, place: part.number * CALLS + index }))
      : [],
  );
  const known = new Set(asked.map(({ call }) => call.id));
  // Receipts outlive the journal.
  const others = records.receipts
    .filter(({ call_id: id }) => !known.has(id))
    .map(({ call_id: id, tool, sent_at: at }, place) => ({ call: { id, tool, arguments: undefined }, at, place }));
  return [...asked, ...others].map(({ call, at, place }) => {
    const facts = factsOf(call.id);
    const end = endOf(facts);
    const details = { type: 'tool_call', tool_call: callDetails(call, facts, isOpen, ownTools) } as const;
    const times = { started_at: time(at), finished_at: end === null ? null : time(end) };
    return listed(`call:${call.id}`, details, times, place);
  });
}

function approvals({ approvals: rows }: StepRecords): ListedStep[] {
  return rows.map(({ message_id, call_id: callId, status, granted_tokens: tokens, ...row }, place) => {
    const call_id = tokens === null ? callId : null;
    const details = { message_id, call_id, status, tokens, expires_at: time(row.expires_at) };
    const times = { started_at: time(row.created_at), finished_at: timeOrNull(row.decided_at) };
    return listed(`approval:${message_id}`, { type: 'approval', approval: details }, times, place);
  });
}

function delegations({ tasks }: StepRecords): ListedStep[] {
  return tasks.map(({ started_at: start, finished_at: end, task, ...row }, place) => {
    const details = { type: 'delegation', delegation: { ...row, task: taskLine(task) } } as const;
    return listed(
      `delegation:${row.turn_id}`,
      details,
      { started_at: time(start), finished_at: timeOrNull(end) },
      place,
    );
  });
}

/** Oldest first. Pure. */
export function listSteps(sources: StepSources, rules: StepRules): ListedStep[] {
  const { chain, records } = sources;
  const state = stateOf(chain);
  const isActive = state.status === 'queued' || state.status === 'running';
  const steps = [
    ...modelCalls(sources, isActive),
    ...texts(sources, state, rules),
    ...toolCalls(sources, isActive || state.status === 'waiting', rules),
    ...approvals(records),
    ...delegations(records),
  ];
  return steps.toSorted((one, other) => (isBehind(one.position, other.position) ? 1 : -1));
}
