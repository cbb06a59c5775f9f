import type { Prompt, PromptMessage } from '../models/port.js';

function withBreakpoint(message: PromptMessage): PromptMessage {
  const { providerOptions } = message;
  const anthropic = { ...providerOptions?.['anthropic'], cacheControl: { type: 'ephemeral' } };
  return { ...message, providerOptions: { ...providerOptions, anthropic } };
}

/**
 * Marks where Anthropic caches the prompt: after the system prompt, before the newest message, which contains the time,
 * and at the end, for the turn's next step. Other providers ignore the marks.
 * @param historyLength messages after the system prompt and before this turn's steps
 */
export function withCacheBreakpoints(prompt: Prompt, historyLength: number): Prompt {
  const marked = new Set([0, historyLength - 1, prompt.length - 1]);
  return prompt.map((message, index) => (marked.has(index) ? withBreakpoint(message) : message));
}
