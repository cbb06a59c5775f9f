import { expect, it } from '@jest/globals';
import type { ModelPort, StepEvent, StepRequest } from './port.js';
import { warnOfUnreadableCalls } from './unreadable-calls.js';

it('warns once per model whose calls cannot be read, with the beginning of the first', async () => {
  const step = { finish: 'calls' as const, text: '', calls: [], message: { role: 'assistant' as const, content: [] } };
  const port: ModelPort = {
    provider: 'openai',
    async *step({ model }): AsyncIterable<StepEvent> {
      await Promise.resolve();
      yield { type: 'end', step: model === 'good' ? step : { ...step, unreadable: `<tool_call>${'x'.repeat(100)}` } };
    },
  };
  const logged: [object, string][] = [];
  const logger = { warn: (fields: object, message: string) => void logged.push([fields, message]) };
  const watched = warnOfUnreadableCalls(port, logger as Parameters<typeof warnOfUnreadableCalls>[1]);
  for (const model of ['bad', 'good', 'bad', 'other']) {
    const request: StepRequest = { model, prompt: [], tools: [], toolChoice: 'auto', maxOutputTokens: 1 };
    for await (const event of watched.step(request, { signal: new AbortController().signal })) {
      expect(event.type).toBe('end');
    }
  }
  expect(logged).toEqual(
    ['bad', 'other'].map((model) => [
      { provider: 'openai', model, begins_with: `<tool_call>${'x'.repeat(49)}` },
      expect.stringContaining('tool parser'),
    ]),
  );
});
