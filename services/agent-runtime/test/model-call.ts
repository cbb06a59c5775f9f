import { delta, type RawHandler, startRawModelServer } from './raw-model-server.js';
import { createModelPort } from '../src/models/model-port.js';
import type { ModelError, Prompt, Step, StepEvent, StepRequest, StepUsage } from '../src/models/port.js';
import { createAnthropicAdapter } from '../src/models/providers/anthropic.js';
import { createOpenAiCompatible } from '../src/models/providers/openai-compatible.js';

export const NEVER: AbortSignal = new AbortController().signal;
export const LIMITS = { firstByteMs: 60_000, betweenBytesMs: 60_000, totalMs: 60_000 };
export const names = { byId: {}, fallback: 'scripted', variable: 'OPENAI_MODEL' };
const tool = (name: string): StepRequest['tools'][number] => ({
  type: 'function',
  name,
  description: '',
  inputSchema: { type: 'object', properties: {} },
});
export const QUESTION: Prompt = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: [{ type: 'text', text: 'Hello' }] },
];
export const REQUEST: StepRequest = {
  model: '',
  prompt: QUESTION,
  tools: [tool('search'), tool('open')],
  toolChoice: 'auto',
  maxOutputTokens: 100,
};

export interface Outcome {
  text: string;
  shown: string[];
  usage: StepUsage[];
  step?: Step;
  error?: ModelError;
  waits: number[];
  requests: { path: string; headers: Record<string, unknown>; body: Record<string, unknown> }[];
}

export interface Options {
  provider?: 'openai' | 'anthropic';
  request?: Partial<StepRequest>;
  signal?: AbortSignal;
  limits?: typeof LIMITS;
  token?: () => string | undefined;
  steps?: number;
  onText?: () => void;
  onLongWait?: (ms: number) => void;
}

/** Makes model calls against a server; waits before retries are recorded and not waited for. */
export async function call(handle: RawHandler, options: Options = {}): Promise<Outcome> {
  await using server = await startRawModelServer(handle);
  const { provider = 'openai', signal = NEVER, limits = LIMITS, token, onText, onLongWait } = options;
  const deps = { slug: provider, baseUrl: server.url, apiKey: 'key', names };
  const adapter = provider === 'openai' ? createOpenAiCompatible(deps) : createAnthropicAdapter(deps);
  const waits: number[] = [];
  const port = createModelPort({
    adapter,
    limits,
    wait: (ms) => {
      waits.push(ms);
      return Promise.resolve();
    },
  });
  const outcome: Outcome = { text: '', shown: [], usage: [], waits, requests: server.requests as Outcome['requests'] };
  const note = (event: StepEvent): void => {
    if (event.type === 'text') {
      outcome.text += event.text;
      outcome.shown.push(event.text);
      onText?.();
    } else if (event.type === 'retracted') {
      outcome.text = '';
      outcome.shown.push('retracted');
    } else if (event.type === 'usage') outcome.usage.push(event.usage);
    else if (event.type === 'end') outcome.step = event.step;
  };
  try {
    const stepOptions = { signal, onLongWait, ...(token === undefined ? {} : { token }) };
    for await (const event of port.step({ ...REQUEST, ...options.request }, stepOptions)) note(event);
  } catch (error) {
    outcome.error = error as ModelError;
  }
  return outcome;
}

export const answer = (text: string): object[] => [delta({ content: text }), delta({}, 'stop')];
export const toolCalls = (...calls: object[]): object => delta({ tool_calls: calls });
export const fn = (name: string, input: unknown): object => ({ name, arguments: input });
