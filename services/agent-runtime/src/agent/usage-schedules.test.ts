import { describe, expect, it } from '@jest/globals';
import { countTokens, type ModelStep, startModelServer } from '@uswarm/dev-servers';
import { HistoryRole } from '@uswarm/runtime-proto';
import { TOKENS_IN_FLIGHT } from '@uswarm/service-kit';
import fc from 'fast-check';
import { COUNTED_TEXTS } from '../../test/counted-texts.js';
import { portOf, PROVIDERS, turnsWith } from '../../test/real-turn.js';
import type { TurnEventBody } from '../turns/turn-events.js';

const SCHEDULES = 200;

/** Text parts in many languages, in code, identifiers and encoded data. */
const PARTS = COUNTED_TEXTS.flatMap(({ text }) => {
  const characters = Array.from(text);
  return Array.from({ length: 8 }, (_, part) => characters.slice(part * 12, (part + 1) * 12).join(''));
});
/** The server sends a response without a pause, so it has all of it in flight. */
const words = fc
  .array(fc.constantFrom(...PARTS), { maxLength: 12 })
  .filter((parts) => parts.reduce((sum, part) => sum + countTokens(part), 0) <= TOKENS_IN_FLIGHT)
  .map((parts) => parts.map((text): ModelStep => ({ text })));
const failure = fc.constantFrom<ModelStep>(
  { disconnect: true },
  { streamError: { status: 529, type: 'overloaded_error', message: 'Overloaded' } },
  { end: true },
);
const refusal = fc.constantFrom<ModelStep>(
  { error: { status: 503 } },
  { error: { status: 429 } },
  { error: { status: 400 } },
);
const response = fc.oneof(
  { weight: 4, arbitrary: words },
  { weight: 3, arbitrary: fc.tuple(words, failure).map(([steps, last]) => [...steps, last]) },
  { weight: 1, arbitrary: refusal.map((step) => [step]) },
  { weight: 1, arbitrary: words.map((steps): ModelStep[] => [...steps, { finish: 'length' }]) },
);

describe('the counted tokens of a turn', () => {
  it.each(PROVIDERS)(
    'invariant 8: are never less than the server counted, whether the turn is stopped, cut, fails or is killed: %s',
    async (provider) => {
      let responses: readonly (readonly ModelStep[])[] = [];
      let calls = 0;
      const server = await startModelServer({
        script: () => {
          calls += 1;
          return responses[calls - 1] ?? [{ text: 'The end.' }];
        },
      });
      const run = turnsWith(portOf(provider, server.baseUrl));
      const history = [{ role: HistoryRole.USER, text: 'Tell me something.' }];
      try {
        await fc.assert(
          fc.asyncProperty(
            fc.array(response, { minLength: 1, maxLength: 4 }),
            fc.nat(15),
            async (script, stopAfter) => {
              responses = script;
              calls = 0;
              const before = { ...server.usageCounted };
              const stop = new AbortController();
              let chunks = 0;
              /** The orchestrator's count if the runtime is killed now. */
              const reserved = new Map<number, [prompt: number, completion: number]>();
              const missing: string[] = [];
              const compare = (): void => {
                const sum = (kind: 0 | 1): number => [...reserved.values()].reduce((total, of) => total + of[kind], 0);
                const counted = server.usageCounted;
                if (sum(0) < counted.promptTokens - before.promptTokens) missing.push('prompt');
                if (sum(1) < counted.completionTokens - before.completionTokens) missing.push('completion');
              };
              const count = (event: TurnEventBody): void => {
                if (event.case === 'attempt') {
                  const { step, promptTokens, maxOutputTokens } = event.value;
                  reserved.set(step, [Number(promptTokens), Number(maxOutputTokens)]);
                } else if (event.case === 'usage') {
                  const { step, promptTokens, completionTokens, refused } = event.value;
                  if (!reserved.has(step)) missing.push('attempt');
                  if (refused) reserved.delete(step);
                  else reserved.set(step, [Number(promptTokens), Number(completionTokens)]);
                }
              };
              const { events } = await run(
                { turnId: 't', generation: 1, agent: { id: 'a' }, history, firstStep: 1, budgeted: true },
                {
                  signal: stop.signal,
                  onEvent: (event) => {
                    compare();
                    count(event);
                    compare();
                    if (event.case === 'chunk' && (chunks += 1) === stopAfter) stop.abort(new Error('stopped'));
                  },
                },
              );
              compare();
              expect(missing).toEqual([]);
              const ended = events.flatMap((event) => (event.case === 'usage' ? [event.value] : []));
              const used = ended.filter(({ refused }) => !refused);
              const prompt = used.reduce((sum, { promptTokens }) => sum + Number(promptTokens), 0);
              const completion = used.reduce((sum, { completionTokens }) => sum + Number(completionTokens), 0);
              const { promptTokens, completionTokens } = server.usageCounted;
              expect(prompt).toBeGreaterThanOrEqual(promptTokens - before.promptTokens);
              expect(completion).toBeGreaterThanOrEqual(completionTokens - before.completionTokens);
              expect(ended.map(({ step }) => step)).toEqual(ended.map((_, index) => index + 1));
            },
          ),
          { numRuns: SCHEDULES / PROVIDERS.length },
        );
      } finally {
        await server.close();
      }
    },
  );
});
