import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { type Dialect, dialects } from '@uswarm/dev-servers';
import { converse, summarize } from '../../test/dialect-conversation.js';
import { exampleLines, portOfLine, sendRequestsTo } from '../../test/model-examples.js';

const lines = exampleLines(readFileSync(path.resolve(import.meta.dirname, '../../../../docs/models.md'), 'utf8'));

/** Target of each line: its request address, and the servers of its dialects. */
const SERVERS: Record<string, { address: string; servers: RegExp }> = {
  Ollama: { address: 'http://127.0.0.1:11434/v1/chat/completions', servers: /Ollama/ },
  'llama.cpp': { address: 'http://127.0.0.1:8000/v1/chat/completions', servers: /llama\.cpp/ },
  vLLM: { address: 'http://127.0.0.1:8000/v1/chat/completions', servers: /vLLM/ },
  OpenAI: { address: 'https://api.openai.com/v1/chat/completions', servers: /(?:^|and )OpenAI(?: with|,| and|$)/ },
  Anthropic: { address: 'https://api.anthropic.com/v1/messages', servers: /^Anthropic/ },
  'LiteLLM, as a server of the OpenAI protocol': {
    address: 'http://127.0.0.1:4000/v1/chat/completions',
    servers: /LiteLLM|gateway|proxy|proxies/i,
  },
  'LiteLLM, as a server of the Anthropic protocol': {
    address: 'http://127.0.0.1:4000/v1/messages',
    servers: /LiteLLM|gateway|proxy|proxies/i,
  },
  OpenRouter: { address: 'https://openrouter.ai/api/v1/chat/completions', servers: /OpenRouter|any server/ },
};

/** Retries and hangs take time, and do not depend on a line's settings. */
const isImmediate = ({ expected, silenceMs }: Dialect): boolean => expected.requests === 1 && silenceMs === undefined;

const cases = lines.flatMap(({ server, environment }) => {
  const protocol = Object.keys(environment).some((name) => name.startsWith('ANTHROPIC_')) ? 'anthropic' : 'openai';
  const { servers = /^$/ } = SERVERS[server] ?? {};
  return Object.values(dialects)
    .flat()
    .filter((dialect) => dialect.protocol === 'both' || dialect.protocol === protocol)
    .filter((dialect) => servers.test(dialect.server) && isImmediate(dialect))
    .map((dialect) => [server, dialect.name, { environment, dialect }] as const);
});

describe('a line of docs/models.md', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('is there for each server, which has at least two dialects', () => {
    expect(lines.map(({ server }) => server)).toEqual(Object.keys(SERVERS));
    for (const server of Object.keys(SERVERS)) {
      expect(cases.filter(([name]) => name === server).length).toBeGreaterThanOrEqual(2);
    }
  });

  it.each(cases)('connects to %s: %s', async (name, _behaviour, { environment, dialect }) => {
    let addresses: readonly string[] = [];
    const conversation = await converse(dialect, ({ baseUrl }) => {
      addresses = sendRequestsTo(new URL(baseUrl).origin);
      return portOfLine(environment);
    });
    expect(summarize(conversation, dialect.expected)).toEqual(dialect.expected);
    expect(new Set(addresses)).toEqual(new Set([SERVERS[name]?.address]));
    expect(conversation.refusals).toEqual([]);
    expect(conversation.models).toEqual([environment['OPENAI_MODEL'] ?? environment['ANTHROPIC_MODEL']]);
  });
});
