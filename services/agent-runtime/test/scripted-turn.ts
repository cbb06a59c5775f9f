import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { ToolResult } from '@uswarm/mcp-client';
import {
  AgentActivity,
  type Done,
  HistoryRole,
  type Resolution,
  ResolutionSchema,
  type RunTurnRequest,
  RunTurnRequestSchema,
  ToolState,
  AgentRole,
} from '@uswarm/runtime-proto';
import { silentLogger } from '@uswarm/service-kit';
import {
  type AssistantMessage,
  type PromptMessage,
  type Step,
  type StepEvent,
  type StepOptions,
  type StepRequest,
  type ToolCall,
} from '../src/models/port.js';
import { noTools, type ToolSource } from '../src/tools/tool.js';
import type { TurnEventBody } from '../src/turns/turn-events.js';
import { createAgentLoop } from '../src/agent/run-turn.js';

type ModelMove = readonly (StepEvent | Error | ((signal: AbortSignal, options: StepOptions) => Promise<void>))[];

export const text = (piece: string): StepEvent => ({ type: 'text', text: piece });
export const usage = (promptTokens: number, completionTokens: number, estimated = false): StepEvent => ({
  type: 'usage',
  usage: { model: 'm', promptTokens, completionTokens, cachedTokens: 0, reasoningTokens: 0, estimated },
});

export function end(finish: Step['finish'], said: string, calls: readonly ToolCall[] = []): StepEvent {
  const content: AssistantMessage['content'] = [
    ...(said === '' ? [] : [{ type: 'text' as const, text: said }]),
    ...calls.map(({ id, name, input = {} }) => ({ type: 'tool-call' as const, toolCallId: id, toolName: name, input })),
  ];
  return { type: 'end', step: { finish, text: said, calls, message: { role: 'assistant', content } } };
}
/** A model call that answers with the text. */
export const answer = (said: string, finish: Step['finish'] = 'answered'): ModelMove => [text(said), end(finish, said)];
/** A model call that requests tools. */
export const request = (...calls: ToolCall[]): ModelMove => [end('calls', '', calls)];
export const search: ToolCall = { id: 'c1', name: 'web_search_tool', input: { query: 'llamas' } };

export const searchTool = (call: (input: Record<string, unknown>) => ToolResult): ToolSource => ({
  list: () =>
    Promise.resolve([
      { type: 'function', name: 'web_search_tool', description: '', inputSchema: {} },
      { type: 'function', name: 'read_page_tool', description: '', inputSchema: {} },
      { type: 'function', name: 'secret_tool', description: '', inputSchema: {} },
    ]),
  call: (_name, input) => Promise.resolve(call(input)),
});

interface Options {
  tools?: ToolSource;
  turn?: Exclude<MessageInitShape<typeof RunTurnRequestSchema>, RunTurnRequest>;
  signal?: AbortSignal;
  now?: () => number;
  /** Resolves when the orchestrator has committed the events so far. Default: immediately. */
  committed?: () => Promise<void>;
  /** The answer to an announced call. Default: the token for it. */
  announced?: (callId: string) => Exclude<MessageInitShape<typeof ResolutionSchema>, Resolution>;
  /** The answer after the user was asked. */
  decision?: (callId: string) => Promise<Exclude<MessageInitShape<typeof ResolutionSchema>, Resolution>>;
  /** Outcome of a tool request. Default: no tool is requested. */
  resolution?: (
    callId: string,
  ) =>
    | Exclude<MessageInitShape<typeof ResolutionSchema>, Resolution>
    | Promise<Exclude<MessageInitShape<typeof ResolutionSchema>, Resolution>>;
}

/** For turns without tools that the orchestrator executes. */
export const noToolRequests = (callId: string): Promise<never> =>
  Promise.reject(new Error(`the call ${callId} was not expected`));

/** Runs one turn with a model that makes one given move per call, and repeats the last one. */
export async function run(moves: readonly ModelMove[], options: Options = {}) {
  const { tools = noTools, turn, signal = new AbortController().signal, now = () => 0, resolution, decision } = options;
  const { committed = () => Promise.resolve(), announced = () => ({ toolToken: 'token' }) } = options;
  const asked: StepRequest[] = [];
  const events: TurnEventBody[] = [];
  async function* step(stepRequest: StepRequest, stepOptions: StepOptions): AsyncGenerator<StepEvent> {
    asked.push(stepRequest);
    for (const event of moves[Math.min(asked.length, moves.length) - 1] ?? []) {
      if (event instanceof Error) throw event;
      if (typeof event === 'function') await event(signal, stepOptions);
      else yield event;
      signal.throwIfAborted();
    }
  }
  const runner = createAgentLoop({
    model: { provider: 'scripted', step },
    tools: { forTurn: () => tools },
    logger: silentLogger,
    now,
  });
  const done: Done = await runner(
    create(RunTurnRequestSchema, {
      turnId: 't',
      generation: 1,
      agent: { id: 'a', slug: 'manager', name: 'Mara', role: AgentRole.MANAGER },
      history: [{ role: HistoryRole.USER, text: 'Hello' }],
      tools: ['web_search_tool'],
      firstStep: 1,
      ...turn,
    }),
    {
      emit: (event) => events.push(event),
      committed,
      async resolution(callId) {
        if (events.some(({ case: name, value }) => name === 'tool' && value.callId === callId)) {
          await committed();
          return create(ResolutionSchema, { callId, ...announced(callId) });
        }
        return create(ResolutionSchema, { callId, ...(await (resolution ?? noToolRequests)(callId)) });
      },
      decision: async (callId) => create(ResolutionSchema, { callId, ...(await (decision ?? noToolRequests)(callId)) }),
      signal,
      steering: () => [],
      toolToken: () => undefined,
      modelToken: () => undefined,
    },
  );
  return { asked, events, done };
}

export const system = ({ prompt }: StepRequest): unknown => prompt[0]?.content;
export const words = (stepRequest: StepRequest | undefined): string => JSON.stringify(stepRequest?.prompt);
export const lastMessage = (stepRequest: StepRequest | undefined): PromptMessage | undefined =>
  stepRequest?.prompt.at(-1);
export const toolNames = (stepRequest: StepRequest | undefined): string[] | undefined =>
  stepRequest?.tools.map(({ name }) => name);

export const brief = (events: readonly TurnEventBody[]): string[] =>
  events.map((event) => {
    if (event.case === 'activity') return `activity ${AgentActivity[event.value.activity]}`;
    if (event.case === 'chunk') return `chunk ${event.value.offset} ${event.value.text}`;
    if (event.case === 'tool') return `tool ${ToolState[event.value.state]} ${event.value.query}`.trim();
    if (event.case === 'usage')
      return `usage ${event.value.step} ${event.value.promptTokens} ${event.value.completionTokens}`;
    return event.case;
  });
