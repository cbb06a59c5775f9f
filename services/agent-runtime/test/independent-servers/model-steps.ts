import { z } from 'zod';
import type { ModelPort, Prompt, StepEvent, StepRequest } from '../../src/models/port.js';
import { createProvider, modelVariables } from '../../src/models/providers.js';

/** The system prompt of all steps. */
export const SYSTEM = 'You are a friendly assistant. Answer in one short sentence.';
const prompt = (text: string): Prompt => [
  { role: 'system', content: SYSTEM },
  { role: 'user', content: [{ type: 'text', text }] },
];
/** A step with one question. */
export const stepOf = (text: string, maxOutputTokens: number): StepRequest => ({
  model: '',
  prompt: prompt(text),
  tools: [],
  toolChoice: 'auto',
  maxOutputTokens,
});

/** The model port for a server with this protocol. */
export function connectTo(endpoint: string, provider: 'openai' | 'anthropic', key = 'k'): ModelPort {
  const own = { openai: 'OPENAI', anthropic: 'ANTHROPIC' }[provider];
  const variables = {
    [`${own}_BASE_URL`]: `${endpoint}/v1`,
    [`${own}_API_KEY`]: key,
    [`${own}_MODEL`]: 'smollm2',
  };
  return createProvider(provider, z.object(modelVariables).parse({ ...variables, USWARM_MODEL_RETRY_MS: '0' }));
}

/** Reads a step's events to its end. */
export async function collect(events: AsyncIterable<StepEvent>, onEvent: (event: StepEvent) => void = () => undefined) {
  const all: StepEvent[] = [];
  let error: unknown;
  try {
    for await (const event of events) {
      all.push(event);
      onEvent(event);
    }
  } catch (caught) {
    error = caught;
  }
  const texts = all.flatMap((event) => (event.type === 'text' ? [event.text] : []));
  const usage = all.flatMap((event) => (event.type === 'usage' ? [event.usage] : []));
  const step = all.flatMap((event) => (event.type === 'end' ? [event.step] : []))[0];
  return { texts, usage, step, error };
}
