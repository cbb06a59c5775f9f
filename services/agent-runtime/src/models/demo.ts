import { setTimeout as sleep } from 'node:timers/promises';
import { demoMove } from './demo-answer.js';
import type { ModelEvent, ModelMessage, ModelProvider, ModelRequest } from './model.js';

export interface DemoDeps {
  /** Milliseconds between two words. */
  delayMs: number;
}

const tokens = (length: number): number => Math.ceil(length / 4);

function characters(message: ModelMessage): number {
  const calls = message.role === 'assistant' ? message.toolCalls : [];
  return calls.reduce((sum, call) => sum + call.name.length + call.arguments.length, message.text.length);
}

function promptTokens({ system, messages }: ModelRequest): number {
  return tokens(messages.reduce((sum, message) => sum + characters(message), system.length));
}

/** A deterministic model without a key. It identifies itself as a demo and makes real calls of the search tool. */
export function createDemoProvider({ delayMs }: DemoDeps): ModelProvider {
  async function* stream(request: ModelRequest, { signal }: { signal: AbortSignal }): AsyncGenerator<ModelEvent> {
    const move = demoMove(request);
    const usage = (completion: string): ModelEvent => ({
      type: 'usage',
      model: 'demo',
      promptTokens: promptTokens(request),
      completionTokens: tokens(completion.length),
    });
    if ('tool' in move) {
      const callNumber = request.messages.filter(({ role }) => role === 'tool').length + 1;
      const call = {
        id: `demo_call_${callNumber}`,
        name: move.tool,
        arguments: JSON.stringify(move.input),
      };
      yield { type: 'tool_calls', calls: [call] };
      yield usage(call.arguments);
      yield { type: 'finish', reason: 'tool_calls' };
      return;
    }
    for (const word of move.answer.match(/\S+\s*/g) ?? []) {
      await pause(delayMs, signal);
      yield { type: 'text', text: word };
    }
    yield usage(move.answer);
    yield { type: 'finish', reason: 'stop' };
  }
  return { name: 'demo', stream };
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  try {
    await sleep(ms, undefined, { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}
