import { anthropicBaseUrl } from '@uswarm/contract/providers';
import { z } from 'zod';
import { bearerOf } from './bearer.js';
import { invalidRequest } from './invalid-request.js';
import { countOf, objectOf, textTokens } from './json.js';
import type { Protocol, ReportedUsage } from './protocol.js';

const API_VERSION = '2023-06-01';

/** Only the fields that matter for cost and safety. */
const requestSchema = z.looseObject({
  model: z.string().min(1).max(256),
  messages: z.array(z.unknown()).min(1),
  stream: z.boolean().nullish(),
  max_tokens: z.int().min(1),
  // Tools that the provider executes have additional costs and reach the internet.
  tools: z.array(z.looseObject({ type: z.literal('custom').nullish() })).nullish(),
  mcp_servers: z.undefined().optional(),
  container: z.undefined().optional(),
  // Servers that route calls use other models after a failure.
  fallbacks: z.undefined().optional(),
  // Others cost more than the model's price.
  speed: z.literal('standard').nullish(),
});

/** The Messages protocol. */
export const anthropic: Protocol = {
  path: '/messages',
  baseUrlOf: anthropicBaseUrl,
  requestHeaders: ['anthropic-version', 'anthropic-beta'],

  tokenOf(headers) {
    const key = headers['x-api-key'];
    return typeof key === 'string' ? key : bearerOf(headers);
  },
  credentials: (apiKey) => ({ 'x-api-key': apiKey, 'anthropic-version': API_VERSION }),

  readRequest(body) {
    const request = requestSchema.safeParse(body);
    if (!request.success) throw invalidRequest(request.error);
    return { model: request.data.model, maxOutputTokens: request.data.max_tokens };
  },

  prepare: (body, { model, maxOutputTokens }) => ({
    body: { ...body, model, max_tokens: maxOutputTokens },
    asksForUsage: false,
  }),

  meter(metered, event) {
    const { type, message, usage, delta, content_block, content, stop_reason } = objectOf(event);
    // A whole response has the type `message`; a streamed one begins with the prompt's usage.
    if (type === 'message_start') addUsage(metered.usage, objectOf(message)['usage']);
    else if (type === 'message' || type === 'message_delta') addUsage(metered.usage, usage);
    if (type === 'message_delta' || type === 'message') {
      metered.complete = metered.usage.promptTokens !== undefined && metered.usage.completionTokens !== undefined;
    }
    metered.ended ||= typeof (objectOf(delta)['stop_reason'] ?? stop_reason) === 'string';
    if (type === 'message') metered.outputTokens += textTokens(content);
    else if (type === 'content_block_start') metered.outputTokens += textTokens(content_block);
    else if (type === 'content_block_delta') metered.outputTokens += textTokens(delta);
  },

  errorBody: ({ code, message }) => ({ type: 'error', error: { type: code, message } }),
};

/**
 * Cached tokens are not part of `input_tokens`. Absent fields stay as they were reported before. The prompt is counted at
 * the start and at the end, where some servers leave out a part of it.
 */
function addUsage(reported: Partial<ReportedUsage>, value: unknown): void {
  const usage = objectOf(value);
  const input = countOf(usage['input_tokens']);
  const output = countOf(usage['output_tokens']);
  const cached = countOf(usage['cache_read_input_tokens']) ?? 0;
  const written = countOf(usage['cache_creation_input_tokens']) ?? 0;
  if (input !== undefined) {
    reported.promptTokens = Math.max(reported.promptTokens ?? 0, input + cached + written);
    reported.cachedTokens = Math.max(reported.cachedTokens ?? 0, cached);
  }
  if (output !== undefined) Object.assign(reported, { completionTokens: output, reasoningTokens: 0 });
}
