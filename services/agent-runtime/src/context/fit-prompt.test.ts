import { describe, expect, it } from '@jest/globals';
import { requestOf, USER } from '../../test/prompts.js';
import type { FunctionTool, PromptMessage } from '../models/port.js';
import { createUntrustedBlock } from '../text/untrusted-block.js';
import { ContextTooSmall } from './compaction.js';
import { fitPrompt } from './fit-prompt.js';
import type { Room } from './turn-fit.js';

const untrusted = createUntrustedBlock();
const UNLIMITED: Room = { tokens: Infinity, bytes: Infinity, maxOutputTokens: 256, isFound: false };

const TOOLS: FunctionTool[] = Array.from({ length: 10 }, (_, index) => ({
  type: 'function',
  name: `tool_${index}`,
  description: 'Does something that takes some words to describe. '.repeat(6),
  inputSchema: { type: 'object', properties: {} },
}));

const words = (count: number): string => Array.from({ length: count }, () => 'word').join(' ');

const call: PromptMessage[] = [
  { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'tool_9', input: {} }] },
  {
    role: 'tool',
    content: [{ type: 'tool-result', toolCallId: 'c1', toolName: 'tool_9', output: { type: 'text', value: 'Found.' } }],
  },
];

function fit(history: string[], room: Partial<Room>, { window = 128_000, turn = [] as PromptMessage[] } = {}) {
  const request = requestOf({ history: history.map((text) => ({ role: USER, text })) });
  const limits = { contextWindow: window, maxOutputTokens: 256 };
  const input = { request, agent: request.agent!, tools: TOOLS, turn, limits, scale: 1, untrusted };
  return fitPrompt(input, { ...UNLIMITED, ...room });
}

const textOf = ({ prompt }: ReturnType<typeof fit>): string => JSON.stringify(prompt);

describe('the prompt for a room', () => {
  it('has all tools and the newest messages if it can', () => {
    const fitted = fit([words(500), words(500), 'Hello?'], { tokens: 2_200, bytes: 12_000, isFound: true });
    expect(fitted.tools).toHaveLength(10);
    expect(fitted.omitted.messages).toBeGreaterThan(0);
    expect(textOf(fitted)).toContain('Hello?');
  });

  it('has fewer tools if not even the newest message fits beside all of them', () => {
    const fitted = fit(['Hello?'], { tokens: 1_300, isFound: true });
    expect(fitted.tools.length).toBeGreaterThan(0);
    expect(fitted.tools.length).toBeLessThan(10);
    expect(fitted.size.tokens).toBeLessThanOrEqual(1_300);
  });

  it('has the tools that the turn has called, even if no others fit', () => {
    const fitted = fit(['Hello?'], { tokens: 900, isFound: true }, { turn: call });
    expect(fitted.tools.map(({ name }) => name)).toContain('tool_9');
  });

  it('is the smallest one if nothing fits, because the server decides', () => {
    const fitted = fit([words(2_000), 'Hello?'], { tokens: 10, isFound: true });
    expect(fitted.tools).toEqual([]);
    expect(textOf(fitted)).toContain('Hello?');
    expect(textOf(fitted)).not.toContain('word word');
  });

  it('fits in bytes, too', () => {
    const fitted = fit([...Array.from({ length: 20 }, () => 'слово '.repeat(200)), 'Hello?'], {
      bytes: 20_000,
      isFound: true,
    });
    expect(fitted.size.bytes).toBeLessThanOrEqual(20_000);
    expect(fitted.size.bytes).toBeGreaterThan(10_000);
  });

  it('has fewer tools if the configured window is too small for all', () => {
    const fitted = fit(['Hello?'], { tokens: 1_300 }, { window: 1_700 });
    expect(fitted.tools.length).toBeLessThan(10);
  });

  it('is rejected if the configured window is too small without tools, too', () => {
    expect(() => fit([words(5_000)], { tokens: 100 }, { window: 400 })).toThrow(ContextTooSmall);
  });
});
