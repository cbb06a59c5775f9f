import { toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from '@jest/globals';
import { type Dialect, dialects, type ModelServer, startModelServer } from '@uswarm/dev-servers';
import { type Done, HistoryRole, Outcome, ToolState, TurnEventSchema } from '@uswarm/runtime-proto';
import { NUL } from '@uswarm/service-kit';
import { TOOLS } from '../../test/dialect-conversation.js';
import { portOf, type Provider, PROVIDERS, turnsWith } from '../../test/real-turn.js';
import type { ToolSource } from '../tools/tool.js';
import { numbered, type TurnEventBody } from '../turns/turn-events.js';

const NAMES = TOOLS.map(({ name }) => name);

const source: ToolSource = {
  list: () => Promise.resolve(TOOLS),
  call: () => Promise.resolve({ text: 'A result.', failed: false }),
};

interface Turn {
  done: Done;
  events: TurnEventBody[];
  server: Pick<ModelServer, 'requests' | 'refusals'>;
}

/** Runs a turn with a dialect's server, which answers after tool results. */
async function runTurn(
  provider: Provider,
  { script, silenceMs = 30_000, questions = ['Hello'] }: Pick<Dialect, 'script' | 'silenceMs' | 'questions'>,
): Promise<Turn> {
  const server = await startModelServer({
    strict: true,
    script: (_request, index, received) => script(index, received) ?? [{ text: 'Done.' }],
  });
  const limits = { firstByteMs: silenceMs, betweenBytesMs: silenceMs, totalMs: 30_000 };
  const run = turnsWith(portOf(provider, server.baseUrl, limits), {}, source);
  const history = questions.map((text) => ({ role: HistoryRole.USER, text }));
  try {
    const ended = await run({ turnId: 't', generation: 1, agent: { id: 'a' }, history, tools: NAMES, firstStep: 1 });
    return { ...ended, server };
  } finally {
    await server.close();
  }
}

function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : [];
}

const speaks = ({ protocol }: Dialect, provider: Provider): boolean => protocol === 'both' || protocol === provider;

const FINISH_ERRORS: Record<string, string> = {
  length: 'output_limit_reached',
  refused: 'model_refused',
  unknown: 'model_unavailable',
};

/** The error code with which a turn ends; empty if it is complete. */
const errorOf = ({ expected: { error, finish = 'answered' } }: Dialect): string => error ?? FINISH_ERRORS[finish] ?? '';

describe.each(PROVIDERS)('a turn with the %s provider', (provider) => {
  const cases = Object.entries(dialects).flatMap(([group, members]) =>
    members.filter((dialect) => speaks(dialect, provider)).map((dialect) => [group, dialect.name, dialect] as const),
  );

  it.each(cases)(
    'emits only text that can be stored, with a server in the group %s: %s',
    async (_group, _name, dialect) => {
      const { done, events, server } = await runTurn(provider, dialect);
      expect(done.errorCode).toBe(errorOf(dialect));
      for (const [index, event] of events.entries()) toBinary(TurnEventSchema, numbered(index + 1, event));
      const texts = textsOf([events, done]);
      expect(texts.filter((text) => !text.isWellFormed() || text.includes(NUL))).toEqual([]);
      expect(server.refusals).toEqual([]);
    },
  );

  it('takes thoughts back by the offset if they were shown before their end was known', async () => {
    const script: Dialect['script'] = () => [{ text: 'The user greets.' }, { text: '</think>\n\nHello.' }];
    const { done, events } = await runTurn(provider, { script });
    const shown = events.reduce(
      (text, { case: kind, value }) =>
        kind === 'chunk' && 'offset' in value ? text.slice(0, value.offset) + value.text : text,
      '',
    );
    expect({ shown, text: done.text, outcome: done.outcome }).toEqual({
      shown: 'Hello.',
      text: 'Hello.',
      outcome: Outcome.COMPLETED,
    });
  });

  it.each([8, 9, 40])(
    'runs the first 8 of %i calls, and tells the model that the others did not run',
    async (count) => {
      const toolCalls = Array.from({ length: count }, () => ({ name: 'web_search', arguments: {} }));
      const script: Dialect['script'] = (index) => (index === 0 ? [{ toolCalls }] : undefined);
      const { done, events, server } = await runTurn(provider, { script });
      expect(done).toMatchObject({ outcome: Outcome.COMPLETED, text: 'Done.' });
      const started = events.filter(
        ({ case: kind, value }) => kind === 'tool' && 'state' in value && value.state === ToolState.RUNNING,
      );
      expect(started).toHaveLength(8);
      const results = server.requests[1]?.body.messages.filter(({ role }) => role === 'tool') ?? [];
      const refused = results.filter(({ content }) => String(content).includes('At most 8 tool calls run in one step'));
      expect({ results: results.length, refused: refused.length }).toEqual({ results: count, refused: count - 8 });
    },
  );
});
