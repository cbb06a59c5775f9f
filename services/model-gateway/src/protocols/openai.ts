import { z } from 'zod';
import { bearerOf } from './bearer.js';
import { invalidRequest } from './invalid-request.js';
import { countOf, listOf, objectOf, textTokens } from './json.js';
import type { Protocol } from './protocol.js';

const limit = z.int().min(1).nullish();

/** Only the fields that matter for cost and safety. */
const requestSchema = z.looseObject({
  model: z.string().min(1).max(256),
  messages: z.array(z.unknown()).min(1),
  stream: z.boolean().nullish(),
  max_tokens: limit,
  max_completion_tokens: limit,
  // Each choice costs as much as a call.
  n: z.literal(1).nullish(),
  // Tools that the provider executes have additional costs and reach the internet.
  tools: z.array(z.looseObject({ type: z.literal('function') })).nullish(),
  web_search_options: z.undefined().optional(),
  plugins: z.undefined().optional(),
  // Servers that route calls use other models after a failure.
  models: z.undefined().optional(),
  fallbacks: z.undefined().optional(),
  // Others cost more than the model's price.
  service_tier: z.enum(['auto', 'default', 'flex']).nullish(),
});

/** Newer name for the output limit, which OpenAI's models require and other servers do not know. */
const OPENAI_HOST = 'api.openai.com';

/** The chat completions protocol. */
export const openai: Protocol = {
  path: '/chat/completions',
  baseUrlOf: (setting) => setting.replace(/\/+$/, ''),
  requestHeaders: [],

  tokenOf: (headers) => bearerOf(headers),
  credentials: (apiKey) => ({ authorization: `Bearer ${apiKey}` }),

  readRequest(body) {
    const request = requestSchema.safeParse(body);
    if (!request.success) throw invalidRequest(request.error);
    const { model, max_tokens: older, max_completion_tokens: newer } = request.data;
    return { model, maxOutputTokens: older === undefined && newer === undefined ? undefined : maximum(older, newer) };
  },

  prepare(body, { model, maxOutputTokens }, { baseUrl, askForUsage }) {
    const names = ['max_tokens', 'max_completion_tokens'].filter((name) => typeof body[name] === 'number');
    const missing = new URL(baseUrl).host === OPENAI_HOST ? 'max_completion_tokens' : 'max_tokens';
    const limits = (names.length === 0 ? [missing] : names).map((name) => [
      name,
      Math.min(maxOutputTokens, countOf(body[name]) ?? maxOutputTokens),
    ]);
    const options = objectOf(body['stream_options']);
    const asksForUsage = askForUsage && body['stream'] === true && options['include_usage'] !== true;
    const usage = asksForUsage ? { stream_options: { ...options, include_usage: true } } : {};
    return { body: { ...body, model, ...Object.fromEntries(limits), ...usage }, asksForUsage };
  },

  meter(metered, event) {
    const { choices, usage } = objectOf(event);
    let hasOutput = false;
    for (const choice of listOf(choices)) {
      const { delta, message } = objectOf(choice);
      const { role: _, ...output } = objectOf(delta ?? message);
      const tokens = textTokens(output);
      metered.outputTokens += tokens;
      metered.ended ||= isFinished(choice);
      hasOutput ||= tokens > 0;
    }
    // Usage before further output was not the last one.
    if (hasOutput) metered.complete = false;
    const { prompt_tokens, completion_tokens, prompt_tokens_details, completion_tokens_details } = objectOf(usage);
    const promptTokens = countOf(prompt_tokens);
    const completionTokens = countOf(completion_tokens);
    if (promptTokens === undefined || completionTokens === undefined) return;
    // Some servers report the usage so far in each chunk; only the last one is complete. Others add an empty choice to it.
    metered.complete = listOf(choices).every((choice) => isFinished(choice)) || (metered.ended && !hasOutput);
    metered.usage = {
      promptTokens,
      completionTokens,
      cachedTokens: countOf(objectOf(prompt_tokens_details)['cached_tokens']) ?? 0,
      reasoningTokens: countOf(objectOf(completion_tokens_details)['reasoning_tokens']) ?? 0,
    };
  },

  errorBody: ({ code, message }) => ({ error: { message, type: code, code } }),
};

const isFinished = (choice: unknown): boolean => typeof objectOf(choice)['finish_reason'] === 'string';

const maximum = (...limits: (number | null | undefined)[]): number | undefined => {
  const given = limits.filter((value) => typeof value === 'number');
  return given.length === 0 ? undefined : Math.max(...given);
};
