import {
  type Dialect,
  type DialectCall,
  type DialectResult,
  type ModelServer,
  startModelServer,
} from '@uswarm/dev-servers';
import type {
  FunctionTool,
  ModelError,
  ModelPort,
  Prompt,
  PromptMessage,
  Step,
  StepUsage,
} from '../src/models/port.js';

const tool = (
  name: string,
  properties: FunctionTool['inputSchema']['properties'],
  required: string[],
): FunctionTool => ({
  type: 'function',
  name,
  description: 'Answers.',
  inputSchema: { type: 'object', properties: properties ?? {}, required },
});

/** The tools that dialects call. */
export const TOOLS: readonly FunctionTool[] = [
  tool('web_search', { query: { type: 'string' } }, ['query']),
  tool(
    'read_page',
    {
      url: { type: 'string' },
      depth: { type: 'integer' },
      whole: { type: 'boolean' },
      format: { enum: ['text', 'markdown'] },
      parts: { type: 'array', items: { type: 'string' } },
    },
    ['url'],
  ),
  tool('list_pages', {}, []),
];

const MAX_STEPS = 4;
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
  const request = { model: '', prompt, tools: TOOLS, toolChoice: 'auto' as const, maxOutputTokens: 100 };
  try {
    for await (const event of port.step(request, { signal: new AbortController().signal })) {
      if (event.type === 'text') outcome.text += event.text;
      else if (event.type === 'retracted') outcome.text = '';
      else if (event.type === 'usage') outcome.usage.push(event.usage);
      else if (event.type === 'end') outcome.step = event.step;
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

/** The call results, as the loop appends them. */
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

/** A client's reading of a dialect's responses. */
export interface Conversation {
  first: Outcome;
  requests: number;
  calls: DialectCall[];
  /** Text of the last step. */
  last: string;
  refusals: readonly string[];
  /** Model names that the server was asked for. */
  models: readonly string[];
}

const CACHED = { anthropic: { cacheControl: { type: 'ephemeral' } } };
const IMAGE = { type: 'file' as const, mediaType: 'image/png', data: { type: 'data' as const, data: 'iVBORw0KGgo=' } };

function promptOf({ questions = ['Hello'], system, image }: Dialect): Prompt {
  const said = questions.map((text, index): PromptMessage => {
    const images = image === true && index === questions.length - 1 ? [IMAGE] : [];
    return { role: 'user', content: [{ type: 'text', text }, ...images] };
  });
  return [
    ...(system === undefined ? [] : [{ role: 'system' as const, content: system, providerOptions: CACHED }]),
    ...said,
  ];
}

/**
 * Makes steps until one has no calls, with the dialect's server.
 *
 * @param connect the port for the server; `wait` records the waits before retries
 */
export async function converse(
  dialect: Dialect,
  connect: (server: ModelServer, wait: (ms: number) => Promise<void>) => ModelPort,
): Promise<Conversation> {
  const server = await startServer(dialect);
  const waits: number[] = [];
  const port = connect(server, (ms) => {
    waits.push(ms);
    return Promise.resolve();
  });
  const prompt = promptOf(dialect);
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
    const models = [...new Set(server.requests.map(({ body }) => body.model))];
    return { ...conversation, refusals: server.refusals, models };
  } finally {
    await server.close();
  }
}

/** The waits, replaced by the expected ones that they differ from by less than allowed. */
function inTolerance(waits: readonly number[], { waits: expected = [], waitsWithinMs = 0 }: DialectResult): number[] {
  return waits.map((ms, index) => {
    const wanted = expected[index] ?? NaN;
    return Math.abs(ms - wanted) <= waitsWithinMs ? wanted : ms;
  });
}

const saidBy = (message: string, part: string): string => (message.includes(part) ? part : message);

/** The outcome in the expectation's form. */
export function summarize({ first, requests, calls }: Conversation, expected: DialectResult): DialectResult {
  const { step, error, text, usage, waits } = first;
  const reported = usage.at(-1);
  const cached = expected.tokens?.cached === undefined ? {} : { cached: reported?.cachedTokens ?? 0 };
  return {
    text,
    ...(step === undefined ? {} : { finish: step.finish }),
    ...(calls.length === 0 ? {} : { calls }),
    ...(error === undefined ? {} : { error: error.code }),
    ...(error?.contextOverflow === true ? { contextOverflow: true as const } : {}),
    ...(expected.contextLimit === undefined ? {} : { contextLimit: error?.contextLimit ?? 0 }),
    ...(expected.says === undefined ? {} : { says: saidBy(error?.message ?? '', expected.says) }),
    requests,
    usage: usage.map(({ estimated }) => (estimated ? 'estimated' : 'reported')),
    ...(expected.tokens === undefined
      ? {}
      : { tokens: { prompt: reported?.promptTokens ?? 0, completion: reported?.completionTokens ?? 0, ...cached } }),
    ...(expected.waits === undefined ? {} : { waits: inTolerance(waits, expected) }),
    ...(expected.waitsWithinMs === undefined ? {} : { waitsWithinMs: expected.waitsWithinMs }),
  };
}
