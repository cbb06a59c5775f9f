import type { StepUsage } from './port.js';

/** Most text has at least three bytes per token, and the request also has names and brackets of JSON. */
const PROMPT_BYTES_PER_TOKEN = 3;
/** Less than in almost any text, so that the estimate is not below the count of the provider. */
const OUTPUT_BYTES_PER_TOKEN = 2;
/** What a provider can have sent, and counted, before it notices that the connection is closed. */
const TOKENS_IN_FLIGHT = 50;

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

interface Counts {
  prompt: number | undefined;
  completion: number | undefined;
  cached: number;
  reasoning: number;
}

const count = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;

function detail(value: unknown, name: string): number {
  return (isObject(value) ? count(value[name]) : undefined) ?? 0;
}

/** The counts in a chunk of the chat completions or the Messages protocol. */
function countsOf(chunk: unknown): Counts | undefined {
  if (!isObject(chunk)) return undefined;
  const message = isObject(chunk['message']) ? chunk['message'] : {};
  const usage = chunk['usage'] ?? message['usage'];
  if (!isObject(usage)) return undefined;
  const input = count(usage['input_tokens']);
  const read = count(usage['cache_read_input_tokens']) ?? 0;
  const written = count(usage['cache_creation_input_tokens']) ?? 0;
  return {
    prompt: count(usage['prompt_tokens']) ?? (input === undefined ? undefined : input + read + written),
    completion: count(usage['completion_tokens']) ?? count(usage['output_tokens']),
    cached: Math.max(read, detail(usage['prompt_tokens_details'], 'cached_tokens')),
    reasoning: detail(usage['completion_tokens_details'], 'reasoning_tokens'),
  };
}

const larger = (left: number | undefined, right: number | undefined): number | undefined =>
  left === undefined || right === undefined ? (left ?? right) : Math.max(left, right);

/** Counts the tokens of one attempt, also if it is cut before the provider reports them. */
export interface UsageMeter {
  /** A chunk as the provider sent it: some report usage in each chunk. */
  observe(chunk: unknown): void;
  /** Output of the model, of any kind. */
  output(text: string): void;
  /** @param complete whether the response arrived as a whole */
  result(sent: { model: string; requestBytes: number; complete: boolean }): StepUsage;
}

export function createUsageMeter(): UsageMeter {
  let seen: Counts = { prompt: undefined, completion: undefined, cached: 0, reasoning: 0 };
  let outputBytes = 0;
  return {
    observe(chunk) {
      const counts = countsOf(chunk);
      if (counts === undefined) return;
      seen = {
        prompt: larger(seen.prompt, counts.prompt),
        completion: larger(seen.completion, counts.completion),
        cached: Math.max(seen.cached, counts.cached),
        reasoning: Math.max(seen.reasoning, counts.reasoning),
      };
    },
    output: (text) => void (outputBytes += Buffer.byteLength(text)),
    result({ model, requestBytes, complete }) {
      const { prompt, completion, cached, reasoning } = seen;
      const sent = Math.ceil(outputBytes / OUTPUT_BYTES_PER_TOKEN) + (complete ? 0 : TOKENS_IN_FLIGHT);
      const estimated = prompt === undefined || completion === undefined || !complete;
      return {
        model,
        promptTokens: prompt ?? Math.ceil(requestBytes / PROMPT_BYTES_PER_TOKEN),
        completionTokens: complete && completion !== undefined ? completion : Math.max(completion ?? 0, sent),
        cachedTokens: cached,
        reasoningTokens: reasoning,
        estimated,
      };
    },
  };
}
