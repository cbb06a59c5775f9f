import { describe, expect, it } from '@jest/globals';
import {
  type Dialect,
  type DialectCall,
  type DialectResult,
  dialects,
  type ModelServer,
  startModelServer,
} from '@uswarm/dev-servers';
import { createModelPort } from './model-port.js';
import type { ModelError, ModelPort, Prompt, PromptMessage, Step, StepUsage } from './port.js';
import { createAnthropicAdapter } from './providers/anthropic.js';
import { createOpenAiCompatible } from './providers/openai-compatible.js';

const PROVIDERS = ['openai', 'anthropic'] as const;
type Provider = (typeof PROVIDERS)[number];

const TOOLS = ['web_search', 'read_page', 'list_pages'].map((name) => ({
  type: 'function' as const,
  name,
  description: 'Answers.',
  inputSchema: { type: 'object' as const, properties: {} },
}));

const MAX_STEPS = 4;
const SILENCE_MS = 30_000;

interface Outcome {
  step: Step | undefined;
  error: ModelError | undefined;
  text: string;
  usage: StepUsage[];
  waits: number[];
}

/** Makes one step; waits before retries are recorded and not waited for. */
async function runStep(port: ModelPort, prompt: Prompt, waits: number[]): Promise<Outcome> {
  const outcome: Outcome = { step: undefined, error: undefined, text: '', usage: [], waits };
  const request = { model: 'scripted', prompt, tools: TOOLS, toolChoice: 'auto' as const, maxOutputTokens: 100 };
  try {
    for await (const event of port.step(request, { signal: new AbortController().signal })) {
      if (event.type === 'text') outcome.text += event.text;
      else if (event.type === 'retracted') outcome.text = '';
      else if (event.type === 'usage') outcome.usage.push(event.usage);
      else outcome.step = event.step;
    }
  } catch (error) {
    outcome.error = error as ModelError;
  }
  return outcome;
}

function startServer({ script }: Dialect): Promise<ModelServer> {
  return startModelServer({
    strict: true,
    script: (_request, index, received) =>
      script(index, received) ?? [{ text: 'Done.' }, { usage: { prompt: 30, completion: 2 } }],
  });
}

function createPort(
  provider: Provider,
  { baseUrl }: ModelServer,
  { silenceMs = SILENCE_MS }: Dialect,
  waits: number[],
) {
  const names = { byId: {}, fallback: 'scripted', variable: 'MODEL' };
  const deps = { baseUrl, apiKey: 'key', names };
  const limits = { firstByteMs: silenceMs, betweenBytesMs: silenceMs, totalMs: SILENCE_MS };
  return createModelPort({
    adapter: provider === 'openai' ? createOpenAiCompatible(deps) : createAnthropicAdapter(deps),
    limits,
    wait: (ms) => {
      waits.push(ms);
      return Promise.resolve();
    },
  });
}

/** The results of the calls, as the loop appends them. */
const resultsOf = ({ calls, message }: Step): PromptMessage[] => [
  message,
  {
    role: 'tool',
    content: calls.map(({ id }, index) => ({
      type: 'tool-result',
      toolCallId: id,
      toolName:
        message.content.filter((part) => part.type !== 'text' && part.type === 'tool-call')[index]?.toolName ?? '',
      output: { type: 'text', value: 'A result.' },
    })),
  },
];

interface Conversation {
  first: Outcome;
  requests: number;
  calls: DialectCall[];
  /** The text of the last step. */
  last: string;
  refusals: readonly string[];
}

/** Makes steps until one has no calls, with the server of the dialect. */
async function converse(provider: Provider, dialect: Dialect): Promise<Conversation> {
  const server = await startServer(dialect);
  const waits: number[] = [];
  const port = createPort(provider, server, dialect, waits);
  const prompt: Prompt = (dialect.questions ?? ['Hello']).map((text) => ({
    role: 'user',
    content: [{ type: 'text', text }],
  }));
  try {
    const first = await runStep(port, prompt, waits);
    const conversation = { first, requests: server.requests.length, calls: [] as DialectCall[], last: first.text };
    let outcome = first;
    for (let steps = 1; outcome.step?.finish === 'calls' && steps < MAX_STEPS; steps += 1) {
      conversation.calls.push(...outcome.step.calls.map(({ name, input }) => ({ name, input })));
      prompt.push(...resultsOf(outcome.step));
      outcome = await runStep(port, prompt, waits);
      if (outcome.error !== undefined) throw outcome.error;
      conversation.last = outcome.text;
    }
    return { ...conversation, refusals: server.refusals };
  } finally {
    await server.close();
  }
}

/** The waits, with those of the expectation that they differ from by less than it allows. */
function inTolerance(waits: readonly number[], { waits: expected = [], waitsWithinMs = 0 }: DialectResult): number[] {
  return waits.map((ms, index) => {
    const wanted = expected[index] ?? NaN;
    return Math.abs(ms - wanted) <= waitsWithinMs ? wanted : ms;
  });
}

/** The outcome in the form of the expectation. */
function summarize({ first, requests, calls }: Conversation, expected: DialectResult): DialectResult {
  const { step, error, text, usage, waits } = first;
  const reported = usage.at(-1);
  const cached = expected.tokens?.cached === undefined ? {} : { cached: reported?.cachedTokens ?? 0 };
  return {
    text,
    ...(step === undefined ? {} : { finish: step.finish }),
    ...(calls.length === 0 ? {} : { calls }),
    ...(error === undefined ? {} : { error: error.code }),
    ...(error?.contextOverflow === true ? { contextOverflow: true as const } : {}),
    requests,
    usage: usage.map(({ estimated }) => (estimated ? 'estimated' : 'reported')),
    ...(expected.tokens === undefined
      ? {}
      : { tokens: { prompt: reported?.promptTokens ?? 0, completion: reported?.completionTokens ?? 0, ...cached } }),
    ...(expected.waits === undefined ? {} : { waits: inTolerance(waits, expected) }),
    ...(expected.waitsWithinMs === undefined ? {} : { waitsWithinMs: expected.waitsWithinMs }),
  };
}

const speaks = ({ protocol }: Dialect, provider: Provider): boolean => protocol === 'both' || protocol === provider;

describe.each(PROVIDERS)('the %s provider', (provider) => {
  const cases = Object.entries(dialects).flatMap(([group, members]) =>
    members.filter((dialect) => speaks(dialect, provider)).map((dialect) => [group, dialect.name, dialect] as const),
  );
  it.each(cases)('understands a server in the group %s: %s', async (_group, _name, dialect) => {
    const conversation = await converse(provider, dialect);
    expect(summarize(conversation, dialect.expected)).toEqual(dialect.expected);
    expect(conversation.refusals).toEqual([]);
    expect(conversation.last).toBe(dialect.expected.calls === undefined ? dialect.expected.text : 'Done.');
  });
});
