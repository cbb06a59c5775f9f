import { afterEach, describe, expect, it } from '@jest/globals';
import { type AskingServer, type AskingServerOptions, startAskingServer } from '@uswarm/testkit/asking-server';
import { startRawMcpServer } from '@uswarm/testkit/raw-mcp-server';
import { testConnections } from '../test/test-connections.js';
import type { McpConnectionDeps } from './connections.js';
import type { AskUser, Question } from './elicitation.js';

const NEVER = new AbortController().signal;
const CALL_MS = 3_000;

function useAskingServer(options: AskingServerOptions, asks: McpConnectionDeps['asks']) {
  let stack = new AsyncDisposableStack();
  afterEach(async () => {
    await stack.disposeAsync();
    stack = new AsyncDisposableStack();
  });
  return {
    async call(questions: AskingServer['questions'], ask?: AskUser) {
      const server = await startAskingServer(options);
      stack.defer(server.close);
      server.questions = questions;
      const connections = testConnections(server.url, {
        callTimeoutMs: CALL_MS,
        maxCallMs: CALL_MS,
        ...(asks === undefined ? {} : { asks }),
      });
      stack.defer(() => connections.close());
      const result = await connections.call(() => undefined, { name: 'ask', arguments: {} }, NEVER, ask);
      return JSON.parse(result.content.map((block) => ('text' in block ? block.text : '')).join(''));
    },
  };
}

describe.each([
  ['in its results, as since 2026', {}, 'shared'],
  ['by requests in the response', { sessions: 'related' }, 'shared'],
  ['by requests in another stream', { sessions: 'unrelated' }, 'one user'],
] as const)('a server that asks the user %s', (_, options, asks) => {
  const { call } = useAskingServer(options, asks);

  it('is shown as a message with fields, and receives the answer after more time than a call has', async () => {
    let shown: Question | undefined;
    const answered = await call([ROOM], async (question) => {
      shown = question;
      await new Promise((resolve) => setTimeout(resolve, 1.1 * CALL_MS));
      return { action: 'accept', content: { name: 'Ada', nights: 2 } };
    });
    expect(answered).toEqual([{ action: 'accept', content: { name: 'Ada', nights: 2 } }]);
    expect(shown).toEqual({
      message: 'Which room?',
      fields: [
        { name: 'name', label: 'Your name', required: true, type: 'text', min: 1, max: 40 },
        { name: 'nights', label: 'nights', help: 'How long?', required: false, type: 'integer', min: 1, initial: 1 },
        { name: 'late', label: 'late', required: false, type: 'boolean' },
        {
          name: 'bed',
          label: 'bed',
          required: false,
          type: 'choice',
          options: [
            { value: 'd', label: 'Double' },
            { value: 's', label: 'Single' },
          ],
        },
        {
          name: 'extras',
          label: 'extras',
          required: false,
          type: 'choices',
          options: [
            { value: 'cot', label: 'cot' },
            { value: 'tv', label: 'tv' },
          ],
          max: 1,
        },
      ],
    });
  });

  it('is told that the user declined', async () => {
    expect(await call([ROOM], () => Promise.resolve({ action: 'decline' }))).toEqual([{ action: 'decline' }]);
  });

  it('is told that the question is canceled if the call cannot ask', async () => {
    expect(await call([ROOM])).toEqual([{ action: 'cancel' }]);
  });

  it('asks at most five times per call', async () => {
    let asked = 0;
    const answers = await call(
      Array.from({ length: 7 }, () => ROOM),
      () => {
        asked += 1;
        return Promise.resolve({ action: 'accept', content: { name: 'Ada' } });
      },
    );
    expect(asked).toBe(5);
    expect(answers.slice(5)).toEqual([{ action: 'cancel' }, { action: 'cancel' }]);
  });

  it('asks nothing that cannot be shown', async () => {
    const ask = () => Promise.reject(new Error('was asked'));
    const properties = Object.fromEntries(Array.from({ length: 21 }, (_one, at) => [`f${at}`, { type: 'string' }]));
    const large = { message: 'Much', requestedSchema: { type: 'object', properties } } as const;
    const empty = {
      message: '?',
      requestedSchema: { type: 'object', properties: { a: { type: 'string', enum: [] } } },
    };
    const long = { message: 'x'.repeat(4_001), requestedSchema: { type: 'object', properties: {} } };
    expect(await call([large, empty, long] as AskingServer['questions'], ask)).toEqual([
      { action: 'cancel' },
      { action: 'cancel' },
      { action: 'cancel' },
    ]);
  });

  it('asks to open an https address, and is told without content that the user did', async () => {
    let shown: Question | undefined;
    const ask: AskUser = (question) => {
      shown = question;
      return Promise.resolve({ action: 'accept', content: {} });
    };
    expect(await call([{ message: 'Pay', url: 'https://pay.exämple/a' }], ask)).toEqual([{ action: 'accept' }]);
    expect(shown).toEqual({ message: 'Pay', fields: [], address: 'https://pay.xn--exmple-cua/a' });
  });

  it.each([
    'http://pay.example/a',
    'javascript:alert(1)',
    'https://user:word@pay.example/',
    `https://a/${'x'.repeat(2_000)}`,
  ])('cannot ask to open another address: %j', async (url) => {
    const ask = () => Promise.reject(new Error('was asked'));
    expect(await call([{ message: 'Pay', url }], ask)).toEqual([{ action: 'cancel' }]);
  });

  it('cannot hide characters', async () => {
    let shown: Question | undefined;
    await call(
      [
        {
          message: 'Safe\u202Eelif\u200B?',
          requestedSchema: { type: 'object', properties: { a: { type: 'boolean', title: '\u200B' } } },
        },
      ],
      (question) => {
        shown = question;
        return Promise.resolve({ action: 'decline' });
      },
    );
    expect(shown).toEqual({
      message: 'Safeelif?',
      fields: [{ name: 'a', label: '?', required: false, type: 'boolean' }],
    });
  });
});

describe('a question with nulls', () => {
  it('is shown as if the fields were absent', async () => {
    const property = { type: 'string', title: null, description: null, default: null, minLength: null, format: null };
    const requestedSchema = { type: 'object', properties: { guest: property }, required: null };
    const params = { mode: null, message: 'Who?', requestedSchema };
    const server = await startRawMcpServer({
      isModern: true,
      results: {
        'tools/list': { tools: [] },
        'tools/call': ({ inputResponses: answers }: { inputResponses?: object }) =>
          answers === undefined
            ? { resultType: 'input_required', inputRequests: { q: { method: 'elicitation/create', params } } }
            : { content: [{ type: 'text', text: JSON.stringify(answers) }] },
      },
    });
    const connections = testConnections(server.endpoint, { asks: 'shared' });
    let shown: Question | undefined;
    const ask: AskUser = (question) => {
      shown = question;
      return Promise.resolve({ action: 'accept', content: { guest: 'Ada' } });
    };
    const result = await connections.call(() => undefined, { name: 'ask', arguments: {} }, NEVER, ask);
    expect(result.content).toEqual([{ type: 'text', text: '{"q":{"action":"accept","content":{"guest":"Ada"}}}' }]);
    expect(shown).toEqual({
      message: 'Who?',
      fields: [{ name: 'guest', label: 'guest', required: false, type: 'text' }],
    });
    await connections.close();
    await server.close();
  });
});

describe('a question that belongs to no call', () => {
  const { call } = useAskingServer({ sessions: 'unrelated' }, 'shared');

  it('is not shown on a connection that users share, because it could be of another call', async () => {
    expect(await call([ROOM], () => Promise.reject(new Error('was asked')))).toEqual([{ action: 'cancel' }]);
  });
});

const ROOM: AskingServer['questions'][number] = {
  message: 'Which room?',
  requestedSchema: {
    type: 'object',
    properties: {
      name: { type: 'string', title: 'Your name', minLength: 1, maxLength: 40 },
      nights: { type: 'integer', description: 'How long?', minimum: 1, default: 1 },
      late: { type: 'boolean' },
      bed: {
        type: 'string',
        oneOf: [
          { const: 'd', title: 'Double' },
          { const: 's', title: 'Single' },
        ],
      },
      extras: { type: 'array', items: { type: 'string', enum: ['cot', 'tv'] }, maxItems: 1 },
    },
    required: ['name'],
  },
};
