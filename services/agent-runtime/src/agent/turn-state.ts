import type { AssistantMessage, FinishReason, PromptMessage, Step, ToolCall } from '../models/port.js';

export type ToolMessage = Extract<PromptMessage, { role: 'tool' }>;
export type ResultPart = Extract<ToolMessage['content'][number], { type: 'tool-result' }>;

/** A model call that ended. */
export interface StepEntry {
  finish: FinishReason;
  /** The step's addition to the reply. */
  text: string;
  message: AssistantMessage;
  calls: readonly ToolCall[];
}

/** Outcome of one call in the last step. */
export interface ResultEntry {
  callId: string;
  /** For the model. */
  part: ResultPart;
  /** Whether the call did not run: its tool was not offered, or its arguments are not an object. */
  invalid: boolean;
  /** The number of separate messages that the call showed, such as cards. */
  messages: number;
  /** True if the call ends the turn without a reply. */
  silent: boolean;
}

/** Messages of the user that arrived during the turn. */
export interface SteeringEntry {
  messageIds: readonly string[];
}

/** Turn state between two model calls, or between two results. */
export interface TurnState {
  /** Steps and results so far, for the prompt. */
  turn: readonly PromptMessage[];
  /** The reply so far. */
  text: string;
  /** The number of model calls. */
  steps: number;
  /** The last model call reached the output limit, and the next one continues its text. */
  continues: boolean;
  /** Model calls with only invalid tool calls, in a row. */
  invalidSteps: number;
  /** The number of separate messages. */
  messages: number;
  silent: boolean;
  /** By message id. */
  steeredBy: readonly string[];
  /** The last step's calls, until all have a result. */
  open: { calls: readonly ToolCall[]; results: ReadonlyMap<string, ResultEntry> } | undefined;
}

export const INITIAL_STATE: TurnState = {
  turn: [],
  text: '',
  steps: 0,
  continues: false,
  invalidSteps: 0,
  messages: 0,
  silent: false,
  steeredBy: [],
  open: undefined,
};

const CONTINUE = 'Continue exactly where your text stopped. Do not repeat anything.';

function noted(part: ResultPart, note: string): ResultPart {
  const { output } = part;
  if (output.type === 'text' || output.type === 'error-text')
    return { ...part, output: { ...output, value: `${output.value}\n\n${note}` } };
  if (output.type !== 'content') return part;
  return { ...part, output: { ...output, value: [...output.value, { type: 'text', text: note }] } };
}

/** The turn with a note at its end. Some servers reject a user message after tool results, so the last result has the note. */
export function withNote(turn: readonly PromptMessage[], note: string): PromptMessage[] {
  const last = turn.at(-1);
  if (last?.role !== 'tool') return [...turn, { role: 'user', content: [{ type: 'text', text: note }] }];
  const content = last.content.map((part, index) =>
    index === last.content.length - 1 && part.type === 'tool-result' ? noted(part, note) : part,
  );
  return [...turn.slice(0, -1), { ...last, content }];
}

/** `text`: what the step added to the reply */
export const stepEntry = ({ finish, message, calls }: Step, text: string): StepEntry => ({
  finish,
  text,
  message,
  calls,
});

/** The state after a model call. Pure. */
export function afterStep(state: TurnState, { finish, text, message, calls }: StepEntry): TurnState {
  const hasContent = message.content.length > 0;
  const continues = calls.length === 0 && finish === 'length';
  // Without a text to continue, the call is repeated: some servers reject a user message after tool results.
  const note: PromptMessage[] =
    continues && hasContent ? [{ role: 'user', content: [{ type: 'text', text: CONTINUE }] }] : [];
  return {
    ...state,
    turn: [...state.turn, ...(hasContent ? [message] : []), ...note],
    text: state.text + text,
    steps: state.steps + 1,
    continues,
    open: calls.length === 0 ? undefined : { calls, results: new Map() },
  };
}

/** The state after a result. With the last one, all results become one message, in call order. Pure. */
export function afterResult(state: TurnState, result: ResultEntry): TurnState {
  const { open } = state;
  if (open === undefined) return state;
  const results = new Map(open.results).set(result.callId, result);
  const next = { ...state, messages: state.messages + result.messages, silent: state.silent || result.silent };
  const all = open.calls.map(({ id }) => results.get(id)).filter((one) => one !== undefined);
  if (all.length < open.calls.length) return { ...next, open: { calls: open.calls, results } };
  return {
    ...next,
    turn: [...state.turn, { role: 'tool', content: all.map(({ part }) => part) }],
    invalidSteps: all.every(({ invalid }) => invalid) ? state.invalidSteps + 1 : 0,
    open: undefined,
  };
}

/** Precedes the messages, because some servers reject a user message after tool results. */
const ARRIVED: PromptMessage = {
  role: 'assistant',
  content: [{ type: 'text', text: '[The user has sent another message. I take it into account.]' }],
};

/** The state after messages that steer the turn. Deleted ones are left out. Pure. */
export function afterSteering(
  state: TurnState,
  { messageIds }: SteeringEntry,
  prompts: (id: string) => PromptMessage | undefined,
): TurnState {
  const said = messageIds.map(prompts).filter((one) => one !== undefined);
  return {
    ...state,
    turn: [...state.turn, ...(said.length === 0 ? [] : [ARRIVED, ...said])],
    steeredBy: [...state.steeredBy, ...messageIds],
  };
}
