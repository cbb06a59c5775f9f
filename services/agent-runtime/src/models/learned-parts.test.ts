import { describe, expect, it } from '@jest/globals';
import { type Dialect, dialects, type ModelServer, startModelServer } from '@uswarm/dev-servers';
import { createLearnedParts } from './learned-parts.js';
import { leaveOut } from './leave-out.js';
import { createModelPort } from './model-port.js';
import type { Prompt } from './port.js';
import { createAnthropicAdapter } from './providers/anthropic.js';
import { createOpenAiCompatible } from './providers/openai-compatible.js';

const TOOLS = [
  {
    type: 'function' as const,
    name: 'search',
    description: 'Searches.',
    inputSchema: { type: 'object' as const, properties: {} },
  },
];
const IMAGE = { type: 'file' as const, mediaType: 'image/png', data: { type: 'data' as const, data: 'iVBORw0KGgo=' } };

/** A turn with a call, its result with an image, and a question with an image. */
const PROMPT: Prompt = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: [{ type: 'text', text: 'What is it?' }, IMAGE] },
  {
    role: 'assistant',
    content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'search', input: { query: 'tea' } }],
  },
  {
    role: 'tool',
    content: [
      {
        type: 'tool-result',
        toolCallId: 'c1',
        toolName: 'search',
        output: { type: 'content', value: [{ type: 'text', text: 'Found tea.' }, IMAGE] },
      },
    ],
  },
];

/** Without an image in the result, which follows as a user message: strict servers refuse that. */
const ASKED: Prompt = PROMPT.slice(0, 2);

const partsByName = new Map((dialects['parts'] ?? []).map((dialect) => [dialect.name, dialect]));

async function callsOf(dialect: Dialect, provider: 'openai' | 'anthropic', calls: number) {
  const server: ModelServer = await startModelServer({
    strict: true,
    script: (_, index, received) => dialect.script(index, received) ?? [],
  });
  const learned: object[] = [];
  const deps = {
    slug: provider,
    baseUrl: server.baseUrl,
    apiKey: 'key',
    names: { byId: {}, fallback: 'scripted', variable: 'MODEL' },
  };
  const port = createModelPort({
    adapter: provider === 'openai' ? createOpenAiCompatible(deps) : createAnthropicAdapter(deps),
    limits: { firstByteMs: 30_000, betweenBytesMs: 30_000, totalMs: 60_000 },
    wait: () => Promise.resolve(),
    onLearned: (part) => learned.push(part),
  });
  try {
    let text = '';
    for (let call = 0; call < calls; call += 1) {
      const request = { model: 'm', prompt: ASKED, tools: TOOLS, toolChoice: 'auto' as const, maxOutputTokens: 100 };
      for await (const event of port.step(request, { signal: new AbortController().signal })) {
        if (event.type === 'text') text += event.text;
      }
    }
    return { text, learned, requests: server.requests, refusals: server.refusals };
  } finally {
    await server.close();
  }
}

describe('a part that a server refuses', () => {
  const cases = [...partsByName].flatMap(([name, dialect]) =>
    (dialect.protocol === 'both' ? (['openai', 'anthropic'] as const) : [dialect.protocol]).map(
      (provider) => [name, provider, dialect] as const,
    ),
  );

  it.each(cases)(
    'is logged once, and left out of the next calls immediately: %s (%s)',
    async (_name, provider, dialect) => {
      const { text, learned, requests, refusals } = await callsOf(dialect, provider, 3);
      expect(text).toBe('Hello.Hello.Hello.');
      // Only the first of three calls is repeated, without the refused part.
      expect(requests.length).toBeLessThanOrEqual(4);
      expect(learned).toHaveLength(requests.length - 3);
      expect(refusals).toEqual([]);
    },
  );

  it('is not learned if the call fails without it, too', async () => {
    const refused: Dialect['script'] = () => [
      { error: { status: 400, message: 'This model does not support tools.' } },
    ];
    const dialect = { ...[...partsByName.values()][0], script: refused } as Dialect;
    await expect(callsOf(dialect, 'openai', 1)).rejects.toMatchObject({ code: 'model_rejected' });
  });

  it('is tried again after an hour', () => {
    let now = 0;
    const said: object[] = [];
    const learned = createLearnedParts({ now: () => now, onLearned: (part) => said.push(part) });
    learned.learn('m', 'tools');
    learned.learnOutputLimit('m', 64);
    expect({ parts: [...learned.of('m')], limit: learned.outputLimit('m') }).toEqual({ parts: ['tools'], limit: 64 });
    now += 60 * 60_000;
    expect({ parts: [...learned.of('m')], limit: learned.outputLimit('m') }).toEqual({ parts: [], limit: Infinity });
    learned.learn('m', 'tools');
    expect(said).toEqual([
      { model: 'm', part: 'tools' },
      { model: 'm', part: 'output limit' },
    ]);
  });
});

describe('a request without a part', () => {
  const textsOf = (parts: readonly string[]): string =>
    JSON.stringify(leaveOut({ prompt: PROMPT, tools: TOOLS }, new Set(parts)).prompt);

  it('has the system prompt at the beginning of the first message of the user', () => {
    const { prompt, tools } = leaveOut({ prompt: PROMPT, tools: TOOLS }, new Set(['system']));
    expect(prompt.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
    expect(prompt[0]?.content).toMatchObject([{ text: 'Be brief.' }, { text: 'What is it?' }, { type: 'file' }]);
    expect(tools).toBe(TOOLS);
  });

  it('has earlier calls and their results as text, and a sentence that there are no tools', () => {
    const { prompt, tools } = leaveOut({ prompt: PROMPT, tools: TOOLS }, new Set(['tools']));
    expect(prompt.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user']);
    expect(prompt[0]?.content).toContain('you have none');
    expect(prompt[2]?.content).toEqual([{ type: 'text', text: '[I called search with {"query":"tea"}.]' }]);
    expect(prompt[3]?.content).toMatchObject([
      { text: '[The result of search:]' },
      { text: 'Found tea.' },
      { type: 'file' },
    ]);
    expect(tools).toEqual([]);
  });

  it('has a sentence in place of each image', () => {
    expect(textsOf(['images'])).not.toContain('iVBORw0KGgo=');
    expect(textsOf(['images']).match(/An image that this model cannot see/g)).toHaveLength(2);
  });

  it('can be without all of them', () => {
    const { prompt } = leaveOut({ prompt: PROMPT, tools: TOOLS }, new Set(['images', 'tools', 'system']));
    expect(prompt.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
    expect(JSON.stringify(prompt)).toContain('you have none');
  });

  it('has no earlier reasoning', () => {
    const thought: Prompt = [
      { role: 'user', content: [{ type: 'text', text: 'Hello' }] },
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'Hm.' },
          { type: 'text', text: 'Hi.' },
        ],
      },
    ];
    const { prompt } = leaveOut({ prompt: thought, tools: [] }, new Set(['reasoning']));
    expect(prompt[1]?.content).toEqual([{ type: 'text', text: 'Hi.' }]);
  });

  it('is unchanged if the server refuses nothing', () => {
    expect(leaveOut({ prompt: PROMPT, tools: TOOLS }, new Set())).toEqual({ prompt: PROMPT, tools: TOOLS });
  });
});
