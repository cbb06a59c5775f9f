import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { FunctionTool } from '../src/models/port.js';
import { createStepAssembler } from '../src/models/step-assembler.js';

const tool = (name: string, properties: object, required: string[]): FunctionTool => ({
  type: 'function',
  name,
  inputSchema: { type: 'object', properties, required } as FunctionTool['inputSchema'],
});
const TOOLS = [
  tool('recall', { query: { type: 'string' } }, ['query']),
  tool('remember', { text: { type: 'string' }, core: { type: 'boolean' } }, ['text']),
  tool('web_search_tool', { query: { type: 'string' }, max_results: { type: 'integer' } }, ['query']),
  tool('list_pages', {}, []),
];
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** The end of a step whose text arrives in these parts, and the text that was shown. */
export function runStep(parts: readonly string[], more: LanguageModelV4StreamPart[] = [], tools = TOOLS) {
  const assembler = createStepAssembler(tools);
  let shown = '';
  const events: string[] = [];
  const add = (part: LanguageModelV4StreamPart): void => {
    for (const event of assembler.add(part)) {
      events.push(event.type);
      if (event.type === 'text') shown += event.text;
      else shown = '';
    }
  };
  add({ type: 'text-start', id: '0' });
  for (const delta of parts) add({ type: 'text-delta', id: '0', delta });
  add({ type: 'text-end', id: '0' });
  for (const part of more) add(part);
  add({ type: 'finish', usage, finishReason: { raw: 'stop', unified: 'stop' } });
  const step = assembler.end();
  return { shown, events, step, calls: step?.calls.map(({ name, input }) => ({ name, input })) ?? [] };
}
