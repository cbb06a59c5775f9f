import {
  AgentActivity,
  type Agent,
  type Done,
  type HistoryMessage,
  type Resolution,
  type RunTurnRequest,
} from '@uswarm/runtime-proto';
import { seesPictures } from '../context/attached-files.js';
import type { ContextLimits } from '../tokens/budget.js';
import type { Step } from '../models/port.js';
import { createOffer } from '../tools/offer.js';
import type { ToolSource } from '../tools/tool.js';
import { usageEvent } from '../turns/turn-events.js';
import { createCallModel, type ModelCallDeps } from './call-model.js';
import { createJournal, stateOf } from './journal.js';
import { waitingEvent } from '../turns/turn-events.js';
import { completed, failed, refused, silent } from './outcome.js';
import { repeatedCalls } from './repeated-calls.js';
import { createSteering } from './steering.js';
import { areAnnounced, executeToolCalls, type ToolCallDeps } from './tool-calls.js';
import { afterResult, afterSteering, afterStep, stepEntry, type TurnState, withNote } from './turn-state.js';

/** Model calls per turn. The last one has to answer. */
export const MAX_STEPS = 24;
/** Milliseconds after which the next model call has to answer: the orchestrator ends a turn after 30 minutes. */
const MAX_RUNNING_MS = 25 * 60_000;
/** Model calls with only invalid tool calls, in a row, after which the next one has to answer. */
const MAX_INVALID_STEPS = 3;

export interface ConverseDeps extends ModelCallDeps {
  tools: ToolSource;
  limits: ContextLimits;
  /** Outcome of a tool request, or the answer to an announced call. */
  resolution: (callId: string) => Promise<Resolution>;
  /** The answer to an announced call for which the user is asked. */
  decision: (callId: string) => Promise<Resolution>;
  /** Messages that steer the turn, oldest first. */
  steering: () => readonly HistoryMessage[];
  /** Monotonic clock in milliseconds. */
  now: () => number;
}

/** For a turn's last model call. */
const LAST_STEP =
  '[This is your last step: no tool can be called any more. Answer now with what you have, and state what is missing.]';

const limitSentence = `The agent did not finish within ${MAX_STEPS} steps.`;

/** Calls the model and the tools that it requests, until it answers. Continues after the request's journal. */
export async function converse(request: RunTurnRequest, agent: Agent, deps: ConverseDeps): Promise<Done> {
  const { tools: source, limits, writer, untrusted, signal, now } = deps;
  const startedAt = now();
  writer.activity(AgentActivity.READING);
  const offer = await createOffer(request, agent, { source, limits, signal });
  const { builtIn, problem: toolProblem } = offer;
  const images = seesPictures(request);
  const steering = createSteering(deps.steering, { untrusted, images });
  let state = stateOf(request, steering.prompts);
  const journal = createJournal(request, { ...deps, announced: request.budgeted && deps.model.announces === true });
  // Without a complete journal, the next generation would repeat steps.
  const onLongWait = request.canWait
    ? (ms: number) => {
        if (!journal.ended) writer.event(waitingEvent(ms));
      }
    : undefined;
  const callModel = createCallModel({ request, agent, toolProblem, limits }, { ...deps, onLongWait });
  const { resolution, decision } = deps;
  const requests = { names: offer.requested, journal, resolution, decision };
  const madeRequests = ({ open }: TurnState): string[] =>
    (open?.calls ?? []).map(({ name }) => name).filter((name) => offer.requested.has(name));
  const calling = (): Omit<ToolCallDeps, 'onResult'> => ({
    tools: source,
    builtIn,
    requests,
    // Calls that the model has made run, even if fewer tools fit now.
    offered: new Set([...offer.names, ...madeRequests(state)]),
    repeated: repeatedCalls(state),
    agentId: agent.id,
    writer,
    untrusted,
    images,
    signal,
    // Without a journal, the orchestrator is of release 0.2: it commits nothing, and the process has a token for calls.
    announced: request.journaled,
  });
  writer.restore(state.text);
  let wasEmpty = false;

  const mustAnswer = (): boolean =>
    state.steps + 1 === MAX_STEPS || state.invalidSteps === MAX_INVALID_STEPS || now() - startedAt > MAX_RUNNING_MS;

  /** The turn end after a step without tool calls; undefined if the model is called again. */
  function afterText({ finish, text }: Step): Done | undefined {
    if (finish === 'refused') return refused(writer.text);
    if (finish === 'unknown')
      return failed(writer.text, 'model_unavailable', 'The model provider ended the answer without a known reason.');
    if (finish === 'length') {
      if (state.continues)
        return failed(writer.text, 'output_limit_reached', 'The answer reached the length limit of the model.');
      return state.steps + 1 >= MAX_STEPS ? failed(writer.text, 'step_limit_reached', limitSentence) : undefined;
    }
    if (text.trim() !== '' || writer.text.trim() !== '') return completed(writer.text);
    // A card asks the user without further text.
    if (state.messages > 0) return silent();
    if (wasEmpty) return failed('', 'model_unavailable', 'The model returned an empty answer.');
    wasEmpty = true;
    return state.steps + 1 >= MAX_STEPS ? failed(writer.text, 'step_limit_reached', limitSentence) : undefined;
  }

  function endOf(step: Step, forced: boolean): Done | undefined {
    if (step.calls.length === 0) return afterText(step);
    return forced ? failed(writer.text, 'step_limit_reached', limitSentence) : undefined;
  }

  /** @returns the turn end; undefined if it continues */
  async function callStep(): Promise<Done | undefined> {
    const forced = mustAnswer();
    const start = writer.mark();
    const before = start.length;
    const { turn, continues } = state;
    const { step, usage } = await callModel({
      turn: forced ? withNote(turn, LAST_STEP) : turn,
      tools: offer.after(turn),
      listed: offer.listed,
      toolChoice: forced ? 'none' : 'auto',
      continues,
    });
    // White space is not a reply.
    if (step.calls.length === 0 && writer.text.trim() === '') writer.retract(start);
    const done = endOf(step, forced);
    if (done !== undefined) {
      if (usage !== undefined) writer.event(usageEvent(usage));
      return done;
    }
    const entry = stepEntry(step, writer.text.slice(before));
    state = afterStep(state, entry);
    await journal.step(entry, { usage, isAnnounced: areAnnounced(step.calls, calling()) });
    return undefined;
  }

  async function runCalls({ calls, results }: NonNullable<TurnState['open']>): Promise<void> {
    await executeToolCalls(calls, new Set(results.keys()), {
      ...calling(),
      async onResult(result, produced) {
        const kept = journal.kept(result);
        state = afterResult(state, kept);
        await journal.result(kept, { isLast: state.open === undefined, produced });
      },
    });
  }

  /** Without the journal, another runtime would not know that the messages were read. They are answered afterwards. */
  async function takeMessages(): Promise<void> {
    const entry = state.continues || journal.ended ? undefined : steering.next(state);
    if (entry === undefined) return;
    state = afterSteering(state, entry, steering.prompts);
    await journal.steering(entry);
  }

  for (;;) {
    if (state.open !== undefined) await runCalls(state.open);
    // A killed runtime's journal can end with the decision to be silent.
    if (state.silent) return writer.text === '' ? silent() : completed(writer.text);
    await takeMessages();
    const done = await callStep();
    if (done !== undefined) return done;
  }
}
