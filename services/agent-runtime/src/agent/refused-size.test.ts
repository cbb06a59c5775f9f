import { describe, expect, it } from '@jest/globals';
import { type ModelServer, type ModelServerRequest, type ModelStep, startModelServer } from '@uswarm/dev-servers';
import { type Done, HistoryRole, Outcome } from '@uswarm/runtime-proto';
import { shareByTier } from '@uswarm/testkit/tier';
import { portOf, PROVIDERS, turnsWith } from '../../test/real-turn.js';
import type { FunctionTool } from '../models/port.js';
import type { ToolSource } from '../tools/tool.js';

/** Tools with schemas of about 9 kB, as a manager has. */
const TOOLS: FunctionTool[] = Array.from({ length: 14 }, (_, index) => ({
  type: 'function',
  name: `tool_${index}`,
  description: 'Does something that is described in a few sentences. '.repeat(8),
  inputSchema: { type: 'object', properties: { query: { type: 'string', description: 'What to do. '.repeat(10) } } },
}));
const NAMES = TOOLS.map(({ name }) => name);
const source: ToolSource = {
  list: () => Promise.resolve(TOOLS),
  call: () => Promise.resolve({ text: 'A result.', failed: false }),
};

const bytesOf = (request: ModelServerRequest | Record<string, unknown>): number =>
  Buffer.byteLength(JSON.stringify(request));
const NOTE = 'some words to remember for later '.repeat(45);

type ScriptedError = Extract<ModelStep, { error: unknown }>['error'];

type History = { role: HistoryRole; agentId?: string; text: string }[];

interface Conversation {
  say(text: string): Promise<Done>;
}

type Run = ReturnType<typeof turnsWith>;

function conversation(run: Run, history: History = []): Conversation {
  return {
    async say(text) {
      history.push({ role: HistoryRole.USER, text });
      const turn = {
        turnId: `t${history.length}`,
        generation: 1,
        agent: { id: 'a' },
        history,
        tools: NAMES,
        firstStep: 1,
      };
      const { done } = await run(turn);
      if (done.text !== '') history.push({ role: HistoryRole.AGENT, agentId: 'a', text: done.text });
      return done;
    },
  };
}

interface Refusing {
  /** The error for a request that is too large; undefined accepts it. */
  refuse: (raw: Record<string, unknown>, index: number) => ScriptedError | undefined;
}

async function withServer(
  provider: (typeof PROVIDERS)[number],
  { refuse }: Refusing,
  test: (deps: { run: Run; server: ModelServer; log: object[] }) => Promise<void>,
): Promise<void> {
  const server = await startModelServer({
    strict: true,
    script(_request, index, { raw }) {
      const error = refuse(raw, index);
      return error === undefined ? [{ text: 'Yes.' }] : [{ error }];
    },
  });
  const log: object[] = [];
  const logger = { error: () => undefined, info: () => undefined, warn: (line: object) => void log.push(line) };
  const run = turnsWith(
    portOf(provider, server.baseUrl),
    {},
    source,
    logger as unknown as Parameters<typeof turnsWith>[3],
  );
  try {
    await test({ run, server, log });
  } finally {
    await server.close();
  }
}

const LIMIT = 16_000;

const WORDINGS: [string, ScriptedError][] = [
  ['413', { status: 413, body: '' }],
  ['413 of a proxy', { status: 413, body: '<html><h1>413 Request Entity Too Large</h1></html>' }],
  ['422 without a text', { status: 422, body: '{"error":"Unprocessable Entity"}' }],
  ['422 with an empty body', { status: 422, body: '' }],
  ['400 without a text', { status: 400, body: 'Bad Request' }],
  ['400 without a number', { status: 400, message: 'the request exceeds the available context size' }],
  [
    '400 with the window',
    { status: 400, message: "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens." },
  ],
  ['an error of status 500', { status: 500, message: 'the request exceeds the available context size' }],
];

describe.each(PROVIDERS)('a conversation with a server of %s that accepts 16,000 bytes', (provider) => {
  it.each(shareByTier(WORDINGS, PROVIDERS.indexOf(provider), PROVIDERS.length))(
    'gets an answer to each of 25 long messages without a setting, if the server answers with %s',
    async (_says, error) => {
      const refuse: Refusing['refuse'] = (raw) => (bytesOf(raw) > LIMIT ? error : undefined);
      await withServer(provider, { refuse }, async ({ run, server }) => {
        const { say } = conversation(run);
        for (let message = 1; message <= 25; message += 1) {
          const { outcome, errorMessage } = await say(`${message}: ${NOTE}`);
          expect({ message, outcome, errorMessage }).toEqual({ message, outcome: Outcome.COMPLETED, errorMessage: '' });
        }
        const last = server.requests.at(-1)?.raw ?? {};
        expect(JSON.stringify(last)).toContain('25: some words');
        expect(last).toHaveProperty('tools');
      });
    },
  );
});

describe('a refused request', () => {
  const always: Refusing['refuse'] = () => ({ status: 413, message: 'Payload Too Large' });
  const long = (): History =>
    Array.from({ length: 30 }, (_, index) => ({ role: HistoryRole.USER, text: `note ${index}: ${NOTE}` }));

  it.each(PROVIDERS)(
    'is followed by requests that are each smaller by an eighth, until nothing can be left out: %s',
    async (provider) => {
      await withServer(provider, { refuse: always }, async ({ run, server, log }) => {
        const done = await conversation(run, long()).say('Hello?');
        expect(done).toMatchObject({
          outcome: Outcome.FAILED,
          errorMessage: 'The conversation is too long for the model.',
        });
        const sizes = server.requests.map(({ raw }) => bytesOf(raw));
        for (const [index, size] of sizes.slice(1).entries())
          expect(size).toBeLessThanOrEqual((sizes[index] ?? 0) * (7 / 8));
        expect(server.requests.at(-1)?.raw).not.toHaveProperty('tools');
        expect(JSON.stringify(server.requests.at(-1)?.raw)).toContain('Hello?');
        expect(log).toEqual([expect.objectContaining({ model: '', accepted: false, refusals: sizes.length })]);
      });
    },
  );

  it('does not change the requests of another conversation', async () => {
    let broken = true;
    await withServer('openai', { refuse: () => (broken ? { status: 413 } : undefined) }, async ({ run, server }) => {
      await conversation(run, long()).say('Hello?');
      broken = false;
      const before = server.requests.length;
      const done = await conversation(run, long()).say('Hello?');
      expect(done.outcome).toBe(Outcome.COMPLETED);
      expect(server.requests).toHaveLength(before + 1);
      const sent = JSON.stringify(server.requests.at(-1)?.raw);
      expect(sent).toContain('note 0:');
      expect(sent).toContain('tool_13');
    });
  });

  it('is reported once, in the log and in the end of the turn, with how much smaller the accepted prompt is', async () => {
    await withServer(
      'openai',
      { refuse: (raw) => (bytesOf(raw) > 30_000 ? { status: 413 } : undefined) },
      async ({ run, log }) => {
        const done = await conversation(run, long()).say('Hello?');
        expect(log).toEqual([expect.objectContaining({ accepted: true, refusals: expect.any(Number) })]);
        expect(done.contextFactor).toBeGreaterThan(0.2);
        expect(done.contextFactor).toBeLessThan(0.6);
      },
    );
  });

  it('sets the window that the server names, for all later requests', async () => {
    const message = 'prompt is too long: 9,000 tokens > 6,000 maximum';
    await withServer(
      'anthropic',
      { refuse: (raw) => (bytesOf(raw) > 24_000 ? { status: 400, message } : undefined) },
      async ({ run, server }) => {
        await conversation(run, long()).say('Hello?');
        const refused = server.requests.length;
        await conversation(run, long()).say('And now?');
        expect(server.requests).toHaveLength(refused + 1);
      },
    );
  });

  it('is tried whole again after ten good calls, for a server that had less for a while', async () => {
    let small = true;
    const message = "This model's maximum context length is 4096 tokens.";
    await withServer(
      'openai',
      { refuse: () => (small ? { status: 400, message } : undefined) },
      async ({ run, server }) => {
        await conversation(run, long()).say('Hello?');
        small = false;
        for (let call = 0; call < 10; call += 1) await conversation(run, long()).say('Hello?');
        const sent = JSON.stringify(server.requests.at(-1)?.raw);
        expect(sent).toContain('note 0:');
        expect(sent).toContain('note 29:');
      },
    );
  });

  it('is not repeated if it names another cause', async () => {
    await withServer(
      'openai',
      { refuse: () => ({ status: 400, message: 'The region of this deployment is closed.' }) },
      async ({ run, server }) => {
        const done = await conversation(run, long()).say('Hello?');
        expect(done).toMatchObject({
          errorCode: 'model_rejected',
          errorMessage: 'The model provider rejected the request (status 400).',
        });
        expect(server.requests).toHaveLength(1);
      },
    );
  });
});
