import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  AgentActivity,
  type Done,
  HistoryRole,
  Outcome,
  type RunTurnRequest,
  RunTurnRequestSchema,
  ToolState,
} from '@uswarm/runtime-proto';
import { silentLogger } from '@uswarm/service-kit';
import { describe, expect, it } from '@jest/globals';
import { ModelError, type ModelEvent, type ModelRequest, type ToolCall } from '../models/model.js';
import { noTools, type ToolResult, type ToolSource } from '../tools/tool.js';
import { TurnAborted } from '../turns/turn-end.js';
import type { TurnEventBody } from '../turns/turn-events.js';
import { createTurnRunner, MAX_STEPS } from './run-turn.js';

type Step = readonly (ModelEvent | Error | ((signal: AbortSignal) => Promise<void>))[];

const text = (piece: string): ModelEvent => ({ type: 'text', text: piece });
const usage = (promptTokens: number, completionTokens: number): ModelEvent => ({
  type: 'usage',
  model: 'm',
  promptTokens,
  completionTokens,
});
const calls = (...list: ToolCall[]): ModelEvent => ({ type: 'tool_calls', calls: list });
const stop: ModelEvent = { type: 'finish', reason: 'stop' };
const search: ToolCall = { id: 'c1', name: 'web_search_tool', arguments: '{"query":"llamas"}' };

const searchTool = (call: (input: Record<string, unknown>) => ToolResult): ToolSource => ({
  list: () =>
    Promise.resolve([
      { name: 'web_search_tool', description: '', inputSchema: {} },
      { name: 'secret_tool', description: '', inputSchema: {} },
    ]),
  call: (_name, input) => Promise.resolve(call(input)),
});

interface Options {
  tools?: ToolSource;
  request?: Exclude<MessageInitShape<typeof RunTurnRequestSchema>, RunTurnRequest>;
  signal?: AbortSignal;
}

/** Runs one turn with a model that performs one of the given steps per call, and repeats the last one. */
async function run(
  steps: readonly Step[],
  { tools = noTools, request, signal = new AbortController().signal }: Options = {},
) {
  const asked: ModelRequest[] = [];
  const events: TurnEventBody[] = [];
  async function* stream(modelRequest: ModelRequest): AsyncGenerator<ModelEvent> {
    // A copy, because the loop appends to the list that it passed.
    asked.push({ ...modelRequest, messages: [...modelRequest.messages] });
    for (const step of steps[Math.min(asked.length, steps.length) - 1] ?? []) {
      if (step instanceof Error) throw step;
      if (typeof step === 'function') await step(signal);
      else yield step;
    }
  }
  const runner = createTurnRunner({
    model: { name: 'scripted', stream },
    tools: { forTurn: () => tools },
    logger: silentLogger,
  });
  const done: Done = await runner(
    create(RunTurnRequestSchema, {
      turnId: 't',
      generation: 1,
      agent: { id: 'a', slug: 'manager', name: 'Mara' },
      history: [{ role: HistoryRole.USER, text: 'Hello' }],
      tools: ['web_search_tool'],
      firstStep: 1,
      ...request,
    }),
    { emit: (event) => events.push(event), signal, toolToken: () => undefined },
  );
  return { asked, events, done };
}

const brief = (events: readonly TurnEventBody[]): string[] =>
  events.map((event) => {
    if (event.case === 'activity') return `activity ${AgentActivity[event.value.activity]}`;
    if (event.case === 'chunk') return `chunk ${event.value.text}`;
    if (event.case === 'tool') return `tool ${ToolState[event.value.state]} ${event.value.query}`.trim();
    if (event.case === 'usage')
      return `usage ${event.value.step} ${event.value.promptTokens} ${event.value.completionTokens}`;
    return event.case;
  });

describe('the agent loop', () => {
  it('emits reading, thinking, writing and usage before it ends', async () => {
    const { events, done } = await run([[text('Hello '), text('you'), usage(3, 2), stop]]);
    expect(brief(events)).toEqual([
      'activity READING',
      'activity THINKING',
      'activity WRITING',
      'chunk Hello you',
      'usage 1 3 2',
    ]);
    expect(done).toMatchObject({ outcome: Outcome.COMPLETED, text: 'Hello you', errorCode: '' });
  });

  it('runs the tools that the model requests and passes the results back', async () => {
    const inputs: unknown[] = [];
    const tools = searchTool((input) => {
      inputs.push(input);
      return { text: '{"results":[]}', failed: false };
    });
    const { asked, events, done } = await run(
      [
        [text('Let me see.'), calls(search), usage(1, 1), stop],
        [text('Nothing.'), usage(2, 2), stop],
      ],
      {
        tools,
        request: { firstStep: 4 },
      },
    );
    expect(inputs).toEqual([{ query: 'llamas' }]);
    expect(asked[1]?.messages.slice(1)).toEqual([
      { role: 'assistant', text: 'Let me see.', toolCalls: [search] },
      {
        role: 'tool',
        callId: 'c1',
        name: 'web_search_tool',
        text: expect.stringMatching(/^<untrusted id="\w+" source="web_search_tool">\n\{"results":\[\]\}\n<\/untrusted/),
        data: '{"results":[]}',
        failed: false,
      },
    ]);
    expect(brief(events).slice(2)).toEqual([
      'activity WRITING',
      'chunk Let me see.',
      'usage 4 1 1',
      'tool RUNNING llamas',
      'tool COMPLETED llamas',
      'activity THINKING',
      'activity WRITING',
      'chunk \n\nNothing.',
      'usage 5 2 2',
    ]);
    expect(done).toMatchObject({ outcome: Outcome.COMPLETED, text: 'Let me see.\n\nNothing.' });
  });

  it('offers only existing tools that the agent may use', async () => {
    const tools = searchTool(() => ({ text: '', failed: false }));
    expect((await run([[stop]], { tools })).asked[0]?.tools.map(({ name }) => name)).toEqual(['web_search_tool']);
    expect((await run([[stop]], { tools, request: { tools: [] } })).asked[0]?.tools).toEqual([]);
  });

  it.each([
    ['a tool that fails', search, 'web_search_tool: searxng endpoint is not configured'],
    ['malformed arguments', { ...search, arguments: '[1' }, 'web_search_tool: the arguments are not a JSON object.'],
    ['a tool that was not offered', { ...search, name: 'secret_tool' }, 'secret_tool: unknown tool.'],
  ])('continues after %s and reports it to the model', async (_name, call, error) => {
    const tools = searchTool(() => ({ text: 'web_search_tool: searxng endpoint is not configured', failed: true }));
    const { asked, events, done } = await run(
      [
        [calls(call), stop],
        [text('Sorry.'), stop],
      ],
      { tools },
    );
    expect(asked[1]?.messages.at(-1)).toMatchObject({ role: 'tool', callId: 'c1', data: error, failed: true });
    const states = events.flatMap((event) => (event.case === 'tool' ? [event.value] : []));
    expect(states).toMatchObject([{ state: ToolState.RUNNING }, { state: ToolState.FAILED, description: error }]);
    expect(done.outcome).toBe(Outcome.COMPLETED);
  });

  it('continues without tools if the tool server is down, and reports it to the model', async () => {
    const tools: ToolSource = {
      ...noTools,
      list: () => Promise.reject(new Error('The tool server could not be reached.')),
    };
    const { asked, done } = await run([[text('Without.'), stop]], { tools });
    expect(asked[0]?.tools).toEqual([]);
    expect(asked[0]?.system).toContain('The tool server could not be reached.');
    expect(done.outcome).toBe(Outcome.COMPLETED);
  });

  it('ends after the maximum number of steps', async () => {
    const tools = searchTool(() => ({ text: 'more', failed: false }));
    const { asked, done } = await run([[calls(search), stop]], { tools });
    expect(asked).toHaveLength(MAX_STEPS);
    expect(done).toMatchObject({ outcome: Outcome.FAILED, errorCode: 'step_limit_reached' });
  });

  it('limits the calls of one step', async () => {
    const tools = searchTool(() => ({ text: 'fine', failed: false }));
    const many = Array.from({ length: 9 }, (_, index) => ({ ...search, id: `c${index}` }));
    const { asked } = await run(
      [
        [calls(...many), stop],
        [text('ok'), stop],
      ],
      { tools },
    );
    const results = asked[1]?.messages.slice(2) ?? [];
    expect(results.map((message) => message.role === 'tool' && message.failed)).toEqual([
      ...Array(8).fill(false),
      true,
    ]);
  });

  it('ends as failed before any text and as incomplete after some', async () => {
    const error = new ModelError('model_rate_limited', 'Too many.');
    expect((await run([[error]])).done).toMatchObject({
      outcome: Outcome.FAILED,
      text: '',
      errorCode: 'model_rate_limited',
      errorMessage: 'Too many.',
    });
    const { done, events } = await run([[text('Half'), error]]);
    expect(done).toMatchObject({ outcome: Outcome.INCOMPLETE, text: 'Half', errorCode: 'model_rate_limited' });
    expect(brief(events)).toContain('chunk Half');
  });

  it('hides the details of an unexpected error', async () => {
    const { done } = await run([[new TypeError('password=hunter2')]]);
    expect(done).toMatchObject({
      outcome: Outcome.FAILED,
      errorCode: 'internal_error',
      errorMessage: expect.not.stringContaining('hunter2'),
    });
  });

  it('ends as silent if the model returns no text', async () => {
    expect((await run([[stop]])).done).toMatchObject({ outcome: Outcome.SILENT, text: '' });
  });

  it.each([
    ['stopped' as const, { outcome: Outcome.STOPPED, errorCode: '' }],
    ['too_long' as const, { outcome: Outcome.INCOMPLETE, errorCode: 'internal_error' }],
  ])('keeps the text if the turn is aborted because it was %s', async (why, end) => {
    const controller = new AbortController();
    const abort = (): Promise<void> => {
      controller.abort(new TurnAborted(why));
      return Promise.resolve();
    };
    const { done } = await run([[text('Some'), abort, text(' more')]], { signal: controller.signal });
    expect(done).toMatchObject({ ...end, text: 'Some' });
  });

  describe('with an action card', () => {
    const card = (input: unknown): ToolCall => ({
      id: 'k1',
      name: 'action_card_tool',
      arguments: typeof input === 'string' ? input : JSON.stringify(input),
    });
    const QUESTION = { title: 'Which?', actions: [{ label: 'A' }] };
    const request = { tools: ['action_card_tool'] };

    it('emits a separate message with the id of the call, and no tool status', async () => {
      const { events, done } = await run(
        [
          [calls(card(QUESTION)), stop],
          [text('Choose.'), stop],
        ],
        { request },
      );
      expect(events.filter((event) => event.case === 'message').map(({ value }) => value)).toEqual([
        expect.objectContaining({
          key: 'k1',
          agentId: 'a',
          content: expect.objectContaining({ type: 'action_card', title: 'Which?' }),
        }),
      ]);
      expect(events.filter((event) => event.case === 'tool')).toEqual([]);
      expect(done.text).toBe('Choose.');
    });

    it.each([['no JSON'], [{ title: '' }]])(
      'emits no message and reports invalid arguments to the model: %j',
      async (input) => {
        const { events, asked } = await run(
          [
            [calls(card(input)), stop],
            [text('Sorry.'), stop],
          ],
          { request },
        );
        expect(events.filter((event) => event.case === 'message')).toEqual([]);
        expect(asked[1]?.messages.at(-1)).toMatchObject({ role: 'tool', callId: 'k1', failed: true });
      },
    );

    it('rejects the call if the tool is disabled', async () => {
      const { events, asked } = await run(
        [
          [calls(card(QUESTION)), stop],
          [text('Well.'), stop],
        ],
        {
          request: { tools: [] },
        },
      );
      expect(asked[0]?.tools).toEqual([]);
      expect(events.filter((event) => event.case === 'message')).toEqual([]);
    });

    it('offers the tool if the tool server is down', async () => {
      const tools: ToolSource = { ...noTools, list: () => Promise.reject(new Error('It is down.')) };
      const { asked } = await run([[stop]], { tools, request: { tools: ['web_search_tool', 'action_card_tool'] } });
      expect(asked[0]?.tools.map(({ name }) => name)).toEqual(['action_card_tool']);
      expect(asked[0]?.system).toContain('It is down.');
    });
  });
});
