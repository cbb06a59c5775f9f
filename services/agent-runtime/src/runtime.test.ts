import { type ModelScript, type ModelServer, startModelServer, words } from '@uswarm/dev-servers';
import { HistoryRole, Outcome, ToolState, type TurnEvent } from '@uswarm/runtime-proto';
import { type McpAnswer, startMcpServer } from '@uswarm/testkit/mcp-server';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { buildRuntime, startRuntimeProcess } from '../test/runtime-process.js';

const results = [
  { title: 'Llamas of Peru', url: 'https://llama.example/?a=1&b=2', snippet: 'Wool.', engine: 'one' },
  { title: 'More llamas', url: 'https://more.example/', snippet: 'Hooves.', engine: 'two' },
];
const notConfigured = 'web_search_tool: searxng endpoint is not configured';

const TOKEN = 'tool-token-of-the-turn';

describe('a runtime with tools', () => {
  let cleanup = new AsyncDisposableStack();
  beforeAll(buildRuntime);
  afterEach(async () => {
    await cleanup.disposeAsync();
    cleanup = new AsyncDisposableStack();
  });

  /** A runtime, its tool server, and its model server if there is a script. */
  async function setUp(answer: (query: string) => McpAnswer | Promise<McpAnswer>, script?: ModelScript) {
    const accepted = new Set([TOKEN]);
    const mcp = await startMcpServer({ tool: 'web_search_tool', token: accepted, answer });
    cleanup.defer(mcp.close);
    const env: Record<string, string> = { SVC_MCP_ENDPOINT: mcp.endpoint, LOG_LEVEL: 'trace' };
    let model: ModelServer | undefined;
    if (script !== undefined) {
      model = await startModelServer({ script });
      cleanup.defer(model.close);
      Object.assign(env, { OPENAI_BASE_URL: model.baseUrl, OPENAI_API_KEY: 'model-key', OPENAI_MODEL: 'real-model' });
    }
    const running = await startRuntimeProcess(env);
    cleanup.defer(running.end);
    return { running, model, mcp, accepted };
  }

  async function ask(
    { running }: Awaited<ReturnType<typeof setUp>>,
    text: string,
    more: { turnId?: string; toolToken?: string } = {},
  ) {
    const events: TurnEvent['event'][] = [];
    const history = [{ role: HistoryRole.USER, text }];
    const agent = { id: 'a', slug: 'researcher', name: 'Rita', model: 'flash' };
    const turn = { turnId: 't', generation: 1, toolToken: TOKEN, ...more };
    const request = { ...turn, agent, history, tools: ['web_search_tool'], firstStep: 7 };
    for await (const { event } of running.runtime.runTurn(request)) events.push(event);
    const done = events.at(-1);
    if (done?.case !== 'done') throw new Error('no done');
    return {
      done: done.value,
      tools: events.flatMap((event) => (event.case === 'tool' ? [event.value] : [])),
      usage: events.flatMap((event) => (event.case === 'usage' ? [event.value] : [])),
    };
  }

  it('runs a search for the model and passes on the results', async () => {
    const script: ModelScript = ({ messages }) =>
      messages.some(({ role }) => role === 'tool')
        ? [{ fromTool: (text) => `Found: ${text}` }, { usage: { prompt: 30, completion: 4 } }]
        : [
            ...words('One moment.'),
            { toolCalls: [{ name: 'web_search_tool', arguments: { query: 'llamas' } }] },
            { usage: { prompt: 20, completion: 3 } },
          ];
    const setup = await setUp((query) => ({ text: '', structured: { query, results } }), script);
    const { done, tools, usage } = await ask(setup, 'Tell me about llamas');
    expect(done).toMatchObject({
      outcome: Outcome.COMPLETED,
      // Without the tags of the block that the model copied.
      text: `One moment.\n\nFound: \n${JSON.stringify({ query: 'llamas', results })}`,
    });
    expect(tools).toMatchObject([
      { state: ToolState.RUNNING, tool: 'web_search_tool', query: 'llamas' },
      { state: ToolState.COMPLETED, tool: 'web_search_tool', query: 'llamas' },
    ]);
    expect(usage).toMatchObject([
      { step: 7, provider: 'openai', model: 'real-model', promptTokens: 20n, completionTokens: 3n },
      { step: 8, provider: 'openai', model: 'real-model', promptTokens: 30n, completionTokens: 4n },
    ]);
    expect(setup.model?.usageReported).toEqual({ answers: 2, promptTokens: 50, completionTokens: 7 });
    expect(setup.model?.requests[0]?.authorization).toBe('Bearer model-key');
  });

  it('runs a search for the demo model, which lists the sources', async () => {
    const queries: string[] = [];
    const setup = await setUp((query) => {
      queries.push(query);
      return { text: '', structured: { results } };
    });
    const { done, usage } = await ask(setup, 'Search the web for llamas and answer with sources');
    expect(queries).toEqual(['llamas']);
    expect(done.text).toMatch(/^\[demo\] /);
    expect(done.text).toContain(
      '1. Llamas of Peru - https://llama.example/?a=1&b=2\n2. More llamas - https://more.example/',
    );
    expect(usage.map(({ step }) => step)).toEqual([7, 8]);
  });

  it('uses a tool token that was renewed during the turn', async () => {
    const searching = Promise.withResolvers<void>();
    const renewed = Promise.withResolvers<void>();
    const script: ModelScript = ({ messages }) =>
      messages.filter(({ role }) => role === 'tool').length === 2
        ? words('Done.')
        : [{ toolCalls: [{ name: 'web_search_tool', arguments: { query: 'llamas' } }] }];
    const setup = await setUp(async () => {
      searching.resolve();
      await renewed.promise;
      return { text: '', structured: { results } };
    }, script);
    const asked = ask(setup, 'Search twice');
    await searching.promise;
    // The first token expires now.
    setup.accepted.clear();
    setup.accepted.add('renewed-token');
    await setup.running.runtime.renewToolToken({ turnId: 't', generation: 1, toolToken: 'renewed-token' });
    renewed.resolve();
    const { done, tools } = await asked;
    expect([done.text, tools.map(({ state }) => state)]).toEqual([
      'Done.',
      [ToolState.RUNNING, ToolState.COMPLETED, ToolState.RUNNING, ToolState.COMPLETED],
    ]);
    expect(setup.mcp.shown().at(-1)).toBe('renewed-token');
  });

  it('answers without tools if the orchestrator sends no token', async () => {
    const setup = await setUp(() => ({ text: '' }));
    const { done, tools } = await ask(setup, 'Hello', { toolToken: '' });
    expect({ outcome: done.outcome, tools }).toEqual({ outcome: Outcome.COMPLETED, tools: [] });
  });

  it('does not log the tool token, also if the tool server rejects it', async () => {
    const setup = await setUp(() => ({ text: '', structured: { results } }));
    await ask(setup, 'Search the web for llamas');
    await expect(
      setup.running.runtime.renewToolToken({ turnId: 'x', generation: 1, toolToken: TOKEN }),
    ).rejects.toThrow();
    setup.accepted.clear();
    await ask(setup, 'Search the web for llamas', { turnId: 'second', toolToken: 'refused-token' });
    await setup.running.end();
    expect(setup.running.log()).toContain('turn ended');
    expect(setup.running.log()).not.toMatch(/tool-token-of-the-turn|refused-token/);
  });

  it('reports the error of the search tool', async () => {
    const setup = await setUp(() => ({ text: notConfigured, isError: true }));
    const { done, tools } = await ask(setup, 'Search the web for llamas');
    expect(done).toMatchObject({ outcome: Outcome.COMPLETED, text: `[demo] The search failed: ${notConfigured}` });
    expect(tools.at(-1)).toMatchObject({ state: ToolState.FAILED, description: notConfigured });
  });

  it('fails with a stable code if the model rejects the call, without the key or the text of the provider', async () => {
    const setup = await setUp(
      () => ({ text: '' }),
      () => [{ error: { status: 401, message: 'Incorrect API key model-key' } }],
    );
    const { done } = await ask(setup, 'Hello');
    expect(done).toMatchObject({
      outcome: Outcome.FAILED,
      errorCode: 'model_rejected',
      errorMessage: expect.not.stringContaining('model-key'),
    });
  });

  it('ends as incomplete if the model closes the connection', async () => {
    const setup = await setUp(
      () => ({ text: '' }),
      () => [...words('Half of'), { disconnect: true }],
    );
    const { done } = await ask(setup, 'Hello');
    expect(done).toMatchObject({ outcome: Outcome.INCOMPLETE, text: 'Half of', errorCode: 'model_unavailable' });
  });
});
