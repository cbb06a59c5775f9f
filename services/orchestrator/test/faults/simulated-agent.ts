import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  EntryKind,
  type Resolution,
  ResolutionSchema,
  type RunTurnRequest,
  type TurnEventSchema,
  ToolState,
} from '@uswarm/runtime-proto';
import type { RequestedTool, ToolName } from './schedule.js';

export type EventBody = NonNullable<MessageInitShape<typeof TurnEventSchema>['event']>;
type EntryBody = Extract<EventBody, { case: 'entry' }>['value'];
/** `until`: the agent continues when it returns true. */
export type Emitted = { event: EventBody; barrier?: boolean } | { until: () => boolean };

export interface SimulatedCall<Tool extends ToolName = ToolName> {
  id: string;
  tool: Tool;
}

const isSearch = ({ tool }: SimulatedCall): boolean => tool === 'search';
const isRequest = (call: SimulatedCall): call is SimulatedCall<RequestedTool> => !isSearch(call);

type Entry = { text: string; calls: SimulatedCall[] } | { callId: string };

/** The part of the task that an entry stores: a step's text, which is unique, or a call's id. */
export function partOf({ body }: { body: string }): string {
  const entry = JSON.parse(body) as Entry;
  return 'callId' in entry ? entry.callId : entry.text;
}

/** Tokens that a model call uses, and the runtime's estimate before it. */
const USAGE = { promptTokens: 100, completionTokens: 7 };
const ESTIMATE = { promptTokens: 130n, maxOutputTokens: 40n };
const MODEL = { provider: 'simulated', model: 'simulated' };

/** Arguments are the same in all generations. */
const argumentsOf = ({ id, tool }: SimulatedCall): string => JSON.stringify({ what: `${tool} ${id}` });

export interface AgentTurn {
  committed(): boolean;
  /** Resolves a request, or answers an announced call. */
  outcome(callId: string): Resolution | undefined;
  newCallId(): string;
  /** Called when the model server counts a call. */
  callModel(answer: string, usage: typeof USAGE): void;
  /** Called when the model asks for a request whose step is committed. */
  asked(call: SimulatedCall<RequestedTool>): void;
  /** @param token what the tool server gets */
  search(call: SimulatedCall, token: string): void;
  tell(callId: string, outcome: Resolution): void;
}

/**
 * The agent's model calls tools in the steps of `plan`.
 *
 * @param features with `journal.2`, entries have what is committed with them; with `tool-grants.1`, searches are
 * announced
 */
export function* simulatedAgent(
  request: RunTurnRequest,
  plan: readonly (readonly ToolName[])[],
  features: readonly string[],
  turn: AgentTurn,
): Generator<Emitted, void> {
  const hasParts = features.includes('journal.2');
  const isAnnounced = features.includes('tool-grants.1');
  const journal = request.journal.map(({ body }) => JSON.parse(body) as Entry);
  let number = journal.length;
  let usageStep = request.firstStep - 1;

  function* until(isReached: () => boolean): Generator<Emitted, void> {
    while (!isReached()) yield { until: isReached };
  }

  /** Emits an entry and what it produces: within the entry, or before it. */
  function* entry(
    kind: EntryKind,
    body: Entry,
    { usage, tool, call }: Pick<EntryBody, 'usage' | 'tool' | 'call'>,
    barrier = false,
  ): Generator<Emitted, void> {
    if (!hasParts && usage !== undefined) yield { event: { case: 'usage', value: usage } };
    if (!hasParts && tool !== undefined) yield { event: { case: 'tool', value: tool } };
    number += 1;
    const parts = hasParts ? { usage, tool, call } : {};
    const value = { number, kind, body: JSON.stringify(body), ...parts } as EntryBody;
    yield { event: { case: 'entry', value }, barrier };
  }

  /** A model call is announced, and the model server counts it as soon as it is sent. @returns its usage */
  function* callModel(answer: string) {
    usageStep += 1;
    const call = { step: usageStep, ...MODEL };
    yield { event: { case: 'attempt', value: { ...call, ...ESTIMATE } }, barrier: true } as Emitted;
    yield* until(turn.committed);
    turn.callModel(answer, USAGE);
    yield { event: { case: 'chunk', value: { text: answer } } } as Emitted;
    return {
      ...call,
      promptTokens: BigInt(USAGE.promptTokens),
      completionTokens: BigInt(USAGE.completionTokens),
    };
  }

  const toolEvent = ({ id: callId, tool }: SimulatedCall, state: ToolState) => ({
    callId,
    tool,
    query: callId,
    state,
    description: 'Searching',
  });

  /** Calls one of the runtime's own tools, which was reported as running. */
  function* search(call: SimulatedCall): Generator<Emitted, void> {
    if (isAnnounced) yield* until(() => turn.outcome(call.id) !== undefined);
    const granted = isAnnounced ? turn.outcome(call.id) : undefined;
    const failed = granted?.failed === true;
    if (!failed) turn.search(call, granted?.toolToken ?? request.toolToken);
    turn.tell(call.id, failed ? granted : create(ResolutionSchema, { callId: call.id, text: 'found' }));
    yield* entry(
      EntryKind.RESULT,
      { callId: call.id },
      {
        tool: toolEvent(call, failed ? ToolState.FAILED : ToolState.COMPLETED),
        call: { tool: call.tool, arguments: argumentsOf(call), failed, sources: [] },
      },
    );
  }

  /** Calls a step's tools. The next model call commits the last result. */
  function* callTools(open: readonly SimulatedCall[]): Generator<Emitted, void> {
    for (const call of open) {
      if (isRequest(call)) {
        turn.asked(call);
        const value = { callId: call.id, tool: call.tool, arguments: argumentsOf(call) };
        yield { event: { case: 'request', value } };
      } else yield { event: { case: 'tool', value: toolEvent(call, ToolState.RUNNING) }, barrier: isAnnounced };
    }
    for (const call of open.filter(isSearch)) yield* search(call);
    const requests = open.filter(isRequest);
    if (requests.length > 0) yield { event: { case: 'waiting', value: {} } };
    for (const call of requests) {
      yield* until(() => turn.outcome(call.id) !== undefined);
      const outcome = turn.outcome(call.id)!;
      turn.tell(call.id, outcome);
      const record = { tool: call.tool, arguments: argumentsOf(call), failed: outcome.failed, sources: [] };
      yield* entry(EntryKind.RESULT, { callId: call.id }, { call: record });
    }
  }

  const done = new Set(journal.flatMap((part) => ('callId' in part ? [part.callId] : [])));
  const steps = journal.flatMap((part) => ('calls' in part ? [part] : []));
  const shown = journal.slice(request.shownEntries);
  const text = shown.map((part) => ('text' in part ? part.text : '')).join('');
  if (text !== '') yield { event: { case: 'chunk', value: { text } } };
  for (const [index, tools] of plan.entries()) {
    let step = steps[index];
    if (step === undefined) {
      const answer = `Step ${index}. `;
      const usage = yield* callModel(answer);
      // The next generation does not know the ids in a step that was not committed.
      step = { text: answer, calls: tools.map((tool) => ({ id: turn.newCallId(), tool })) };
      // Announced calls follow, with the barrier.
      const waits = !(isAnnounced && step.calls.every(isSearch));
      yield* entry(EntryKind.STEP, step, { usage }, waits);
      if (waits) yield* until(turn.committed);
    }
    yield* callTools(step.calls.filter(({ id }) => !done.has(id)));
  }
  const usage = yield* callModel('The end.');
  yield { event: { case: 'usage', value: usage } };
}
