import { estimatePromptTokens, estimateTokens, TOKENS_IN_FLIGHT } from '@uswarm/service-kit';
import type { Announcement, StepRequest, StepUsage } from './port.js';

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

/** Counts in a chat completions or Messages chunk. */
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

/** What a request can cost at most, by script. */
export const announcementOf = (
  model: string,
  requestBody: string,
  { maxOutputTokens }: Pick<StepRequest, 'maxOutputTokens'>,
): Announcement => ({ model, maxOutputTokens, promptTokens: Math.ceil(estimatePromptTokens(requestBody)) });

/** Counts the tokens of one attempt, also if it is cut before the provider reports them. */
export interface UsageMeter {
  /** A chunk as the provider sent it: some report usage in each chunk. */
  observe(chunk: unknown): void;
  /** Model output of any kind. */
  output(text: string): void;
  /** @param complete whether the response arrived as a whole */
  result(sent: { model: string; requestBody: string; complete: boolean }): StepUsage;
}

export function createUsageMeter(): UsageMeter {
  let seen: Counts = { prompt: undefined, completion: undefined, cached: 0, reasoning: 0 };
  let outputTokens = 0;
  /** Numbers in the current chunk, in the last one with usage, and in the last one with output. */
  const chunks = { current: 0, usage: 0, output: 0 };
  return {
    observe(chunk) {
      chunks.current += 1;
      const counts = countsOf(chunk);
      if (counts === undefined) return;
      chunks.usage = chunks.current;
      seen = {
        prompt: larger(seen.prompt, counts.prompt),
        completion: larger(seen.completion, counts.completion),
        cached: Math.max(seen.cached, counts.cached),
        reasoning: Math.max(seen.reasoning, counts.reasoning),
      };
    },
    output(text) {
      chunks.output = chunks.current;
      outputTokens += estimateTokens(text);
    },
    result({ model, requestBody, complete }) {
      const { prompt, completion, cached, reasoning } = seen;
      const sent = outputTokens + (complete ? 0 : TOKENS_IN_FLIGHT);
      // Usage before further output does not count it.
      const isReported = complete && completion !== undefined && chunks.output <= chunks.usage;
      return {
        model,
        promptTokens: prompt ?? estimatePromptTokens(requestBody),
        completionTokens: isReported ? completion : Math.max(completion ?? 0, sent),
        cachedTokens: cached,
        reasoningTokens: reasoning,
        estimated: !isReported || prompt === undefined,
      };
    },
  };
}
