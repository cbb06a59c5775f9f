import { describe, expect, it } from '@jest/globals';
import { type Dialect, dialects, type ModelServer } from '@uswarm/dev-servers';
import { converse, summarize } from '../../test/dialect-conversation.js';
import { createModelPort } from './model-port.js';
import { createAnthropicAdapter } from './providers/anthropic.js';
import { createOpenAiCompatible } from './providers/openai-compatible.js';

const PROVIDERS = ['openai', 'anthropic'] as const;
type Provider = (typeof PROVIDERS)[number];

const SILENCE_MS = 30_000;

function createPort(
  provider: Provider,
  { baseUrl }: ModelServer,
  { silenceMs = SILENCE_MS }: Dialect,
  wait: (ms: number) => Promise<void>,
  joinMs: number,
) {
  const names = { byId: {}, fallback: 'scripted', variable: 'MODEL' };
  const deps = { slug: provider, baseUrl, apiKey: 'key', names };
  const limits = { firstByteMs: silenceMs, betweenBytesMs: silenceMs, totalMs: SILENCE_MS };
  return createModelPort({
    adapter: provider === 'openai' ? createOpenAiCompatible(deps) : createAnthropicAdapter(deps),
    limits,
    joinMs,
    wait,
  });
}

const speaks = ({ protocol }: Dialect, provider: Provider): boolean => protocol === 'both' || protocol === provider;

describe.each(PROVIDERS)('the %s provider', (provider) => {
  const cases = Object.entries(dialects).flatMap(([group, members]) =>
    members.filter((dialect) => speaks(dialect, provider)).map((dialect) => [group, dialect.name, dialect] as const),
  );
  /** Without joining, and with the runtime's timing. */
  const everyCase = cases.flatMap(([group, name, dialect]) =>
    [0, 50].map((joinMs) => [group, name, joinMs, dialect] as const),
  );
  it.each(everyCase)(
    'understands a server in the group %s: %s (text joined for %i ms)',
    async (_group, _name, joinMs, dialect) => {
      const conversation = await converse(dialect, (server, wait) =>
        createPort(provider, server, dialect, wait, joinMs),
      );
      expect(summarize(conversation, dialect.expected)).toEqual(dialect.expected);
      expect(conversation.refusals).toEqual([]);
      expect(conversation.last).toBe(dialect.expected.calls === undefined ? dialect.expected.text : 'Done.');
    },
  );
});
