import { describe, expect, it } from '@jest/globals';
import { byTier } from '@uswarm/testkit/tier';
import fc from 'fast-check';
import { promptParts, requestOf, USER } from '../../test/prompts.js';
import type { PromptMessage } from '../models/port.js';
import { createUntrustedBlock } from '../text/untrusted-block.js';
import { promptBudget } from '../tokens/budget.js';
import { buildPrompt, type BuiltPrompt } from './build-prompt.js';
import { ContextTooSmall } from './compaction.js';
import { CUT_MARKER } from './cut.js';
import { estimatePrompt } from '../tokens/estimate.js';

const untrusted = createUntrustedBlock(Buffer.alloc(32, 7));

type Parts = typeof promptParts extends fc.Arbitrary<infer T> ? T : never;

function build(parts: Parts): BuiltPrompt {
  const { history, memories, summary, recentCalls, context, turn, tools, contextWindow, maxOutputTokens, scale } =
    parts;
  const request = requestOf({ history, memories, summary, recentCalls, ...(context === undefined ? {} : { context }) });
  const limits = { contextWindow, maxOutputTokens };
  return buildPrompt({ request, agent: request.agent!, tools, turn, limits, scale, untrusted });
}

/** Checks each prompt that can be built. The others are too large for their window even with the shortest message. */
function everyPrompt(check: (built: BuiltPrompt, parts: Parts) => void): void {
  fc.assert(
    fc.property(promptParts, (parts) => {
      let built: BuiltPrompt;
      try {
        built = build(parts);
      } catch (error) {
        if (error instanceof ContextTooSmall) return;
        throw error;
      }
      check(built, parts);
    }),
    { numRuns: byTier({ core: 30, all: 200 }) },
  );
}

const partsOf = ({ content }: PromptMessage) => (typeof content === 'string' ? [] : content);

const textOf = (message: PromptMessage): string =>
  partsOf(message)
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join('\n');

const callIds = (message: PromptMessage | undefined): string[] =>
  message === undefined ? [] : partsOf(message).flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId] : []));

const resultIds = (message: PromptMessage | undefined): string[] =>
  message === undefined
    ? []
    : partsOf(message).flatMap((part) => (part.type === 'tool-result' ? [part.toolCallId] : []));

/** The roles that may come before each role. */
const BEFORE: Record<string, (string | undefined)[]> = {
  system: [undefined],
  user: ['system', 'assistant', 'tool'],
  assistant: ['user', 'tool'],
  tool: ['assistant'],
};

describe('each prompt', () => {
  it('has one system message, then a message of the user, and alternating roles', () => {
    everyPrompt(({ prompt }) => {
      const roles = prompt.map(({ role }) => role);
      expect(roles.slice(0, 2)).toEqual(['system', 'user']);
      expect(roles.lastIndexOf('system')).toBe(0);
      for (const [index, role] of roles.entries()) {
        expect(BEFORE[role]).toContain(roles[index - 1]);
      }
      expect(['user', 'tool']).toContain(roles.at(-1));
    });
  });

  it('fits into the budget', () => {
    everyPrompt(({ prompt, estimatedTokens }, { tools, scale, contextWindow, maxOutputTokens }) => {
      const budget = promptBudget({ contextWindow, maxOutputTokens });
      expect(estimatedTokens).toBeLessThanOrEqual(budget);
      expect(estimatedTokens).toBe(Math.ceil(estimatePrompt(prompt, tools) * Math.max(1, scale)));
    });
  });

  it('contains the newest message of the user, whole or without its middle', () => {
    everyPrompt(({ prompt }, { history }) => {
      const newest = history.findLast(({ role }) => role === USER)?.text.toWellFormed();
      if (newest === undefined || newest.trim() === '') return;
      const texts = prompt.filter(({ role }) => role === 'user').map(textOf);
      if (texts.some((text) => text.includes(newest))) return;
      const cut = texts.find((text) => text.includes(CUT_MARKER)) ?? '';
      const [before = '', after = ''] = cut.split(CUT_MARKER);
      expect(before).toContain(newest.slice(0, 100));
      expect(after).toContain(newest.slice(-60));
    });
  });

  it('has exactly one result for each call, in the message after it', () => {
    everyPrompt(({ prompt }) => {
      for (const [index, message] of prompt.entries()) {
        expect(resultIds(prompt[index + 1])).toEqual(callIds(message));
        expect(callIds(prompt[index - 1])).toEqual(resultIds(message));
      }
    });
  });

  it('is equal for equal inputs', () => {
    everyPrompt((built, parts) => expect(build(parts)).toEqual(built));
  });

  it('has no message without content', () => {
    everyPrompt(({ prompt }) => {
      for (const message of prompt.slice(1)) {
        expect(partsOf(message)).not.toEqual([]);
        expect(message.role === 'user' && textOf(message).trim() === '').toBe(false);
      }
    });
  });
});
