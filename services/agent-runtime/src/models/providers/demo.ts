import { setTimeout as sleep } from 'node:timers/promises';
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { listedNames, MORE_TOOLS } from '../../tools/more-tools.js';
import type { AttemptOptions, ProviderAdapter } from './adapter.js';
import { demoMove } from './demo-answer.js';

export interface DemoDeps {
  /** Milliseconds between two words. */
  delayMs: number;
}

type Finish = Extract<LanguageModelV4StreamPart, { type: 'finish' }>;

const tokens = (value: unknown): number => Math.ceil((JSON.stringify(value)?.length ?? 0) / 4);

type Reason = Finish['finishReason']['unified'];

function finishParts(reason: Reason, prompt: number, completion: number): LanguageModelV4StreamPart[] {
  const usage: Finish['usage'] = {
    inputTokens: { total: prompt, noCache: prompt, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: completion, text: completion, reasoning: 0 },
  };
  return [
    { type: 'raw', rawValue: { usage: { prompt_tokens: prompt, completion_tokens: completion } } },
    { type: 'finish', finishReason: { unified: reason, raw: reason }, usage },
  ];
}

async function* textParts(
  text: string,
  delayMs: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<LanguageModelV4StreamPart> {
  yield { type: 'text-start', id: 'text' };
  for (const word of text.match(/\S+\s*/g) ?? []) {
    await sleep(delayMs, undefined, signal === undefined ? {} : { signal });
    yield { type: 'text-delta', id: 'text', delta: word };
  }
  yield { type: 'text-end', id: 'text' };
}

const REASONS = { refused: 'content-filter', length: 'length' } as const satisfies Record<string, Reason>;

type Tool = NonNullable<LanguageModelV4CallOptions['tools']>[number];

/** Like a capable model, it calls listed tools without loading them. */
const namesOf = (tool: Tool): string[] =>
  tool.type === 'function' && tool.name === MORE_TOOLS ? listedNames(tool.description ?? '') : [tool.name];

async function* demoParts(
  { prompt, tools = [], toolChoice, abortSignal: signal }: LanguageModelV4CallOptions,
  delayMs: number,
): AsyncGenerator<LanguageModelV4StreamPart> {
  const offered = toolChoice?.type === 'none' ? [] : tools.flatMap(namesOf);
  const move = demoMove({ prompt, offered });
  if ('calls' in move) {
    if (move.text !== undefined) yield* textParts(move.text, delayMs, signal);
    for (const [index, { tool, input }] of move.calls.entries()) {
      yield { type: 'tool-call', toolCallId: `demo-${index}`, toolName: tool, input: JSON.stringify(input) };
    }
    yield* finishParts('tool-calls', tokens(prompt), tokens(move));
    return;
  }
  yield* textParts(move.answer, delayMs, signal);
  const reason = move.end === undefined ? 'stop' : REASONS[move.end];
  yield* finishParts(reason, tokens(prompt), tokens(move.answer));
}

function demoModel({ model }: AttemptOptions, delayMs: number): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'demo',
    modelId: model,
    supportedUrls: {},
    doGenerate: () => Promise.reject(new TypeError('the demo model only streams')),
    doStream: (options) => Promise.resolve({ stream: ReadableStream.from(demoParts(options, delayMs)) }),
  };
}

/**
 * A deterministic model without a key. It identifies itself as a demo, shows every kind of
 * content on request, and makes real tool calls.
 */
export function createDemoAdapter({ delayMs }: DemoDeps): ProviderAdapter {
  return {
    slug: 'demo',
    modelName: () => 'demo',
    languageModel: (options) => demoModel(options, delayMs),
    prepare: (prompt) => prompt,
    repair: (response) => Promise.resolve(response),
  };
}
