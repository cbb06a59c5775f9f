import { describe, expect, it } from '@jest/globals';
import { type ModelServerRequest, startModelServer, textOf } from '@uswarm/dev-servers';
import { HistoryRole, Outcome } from '@uswarm/runtime-proto';
import { portOf, PROVIDERS, turnsWith } from '../../test/real-turn.js';

const MESSAGES = 2_000;
/** The messages that a request contains at most. */
const HISTORY = 200;
const WINDOWS = [8_000, 32_000, 128_000];

/** Sizes between a few words and a page. */
const textAt = (index: number): string => `Message ${index}: ${'some words to read '.repeat((index * 37) % 120)}`;

const conversation = Array.from({ length: MESSAGES }, (_, index) =>
  index % 2 === 0
    ? { role: HistoryRole.USER, text: textAt(index) }
    : { role: HistoryRole.AGENT, agentId: 'a', text: textAt(index) },
);
/** Question positions: every hundredth message. */
const QUESTIONS = Array.from({ length: MESSAGES / 100 }, (_, index) => (index + 1) * 100);

/** Repeats the question, which only the newest message contains. */
function answer({ messages }: ModelServerRequest): string {
  const [question = 'nothing'] = /Question \d+/.exec(textOf(messages.at(-1)?.content)) ?? [];
  return `Answer to ${question}`;
}

const cases = PROVIDERS.flatMap((provider) => WINDOWS.map((window): [typeof provider, number] => [provider, window]));

describe('a conversation of 2,000 messages', () => {
  const ask = async (run: ReturnType<typeof turnsWith>, position: number): Promise<void> => {
    const history = [
      ...conversation.slice(Math.max(0, position - HISTORY + 1), position),
      { role: HistoryRole.USER, text: `Question ${position}` },
    ];
    const turn = { turnId: `t${position}`, generation: 1, agent: { id: 'a', slug: 'mara', name: 'Mara' }, history };
    const { done } = await run(turn);
    expect({ outcome: done.outcome, text: done.text }).toEqual({
      outcome: Outcome.COMPLETED,
      text: `Answer to Question ${position}`,
    });
  };

  it.each(cases)(
    'gets every answer from %s with a window of %d tokens, and no request exceeds it',
    async (provider, contextWindow) => {
      const server = await startModelServer({
        script: (request) => [{ text: answer(request) }],
        strict: true,
        contextWindow,
      });
      try {
        const run = turnsWith(portOf(provider, server.baseUrl), { contextWindow, maxOutputTokens: 1_000 });
        for (const position of QUESTIONS) await ask(run, position);
        expect(server.refusals).toEqual([]);
        expect(server.requests).toHaveLength(QUESTIONS.length);
      } finally {
        await server.close();
      }
    },
  );

  it.each(cases)('gets every answer from %s with an unknown window of %d tokens', async (provider, contextWindow) => {
    const server = await startModelServer({
      script: (request) => [{ text: answer(request) }],
      strict: true,
      contextWindow,
    });
    try {
      const run = turnsWith(portOf(provider, server.baseUrl), { maxOutputTokens: 1_000 });
      for (const position of QUESTIONS) await ask(run, position);
      // The process remembers the first refusals.
      expect(server.refusals.length).toBeLessThan(6);
    } finally {
      await server.close();
    }
  });
});
