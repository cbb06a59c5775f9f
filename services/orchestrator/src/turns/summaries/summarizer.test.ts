import { create } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { describe, expect, it } from '@jest/globals';
import { type SummarizeRequest, SummarizeResponseSchema } from '@uswarm/runtime-proto';
import type { Database } from '../../platform/database/database.js';
import type { Attempt } from '../../metering/reservations.store.js';
import type { UsageEntry } from '../../records/usage-rows.js';
import { NO_TRANSACTION } from '../../../test/transaction.js';
import { runtimeRow } from '../../../test/runtime-row.js';
import { createSummarizer, type SummarizerDeps } from './summarizer.js';

const CONVERSATION = {
  workspaceId: 'w',
  conversationId: 'c',
  userId: 'u',
  language: 'de',
  titleSource: null,
  turnId: 't',
  usageTurnId: 'first',
  agentId: 'a',
  model: null,
  kind: 'manager' as const,
};
const PRICES = { input: 3, cached_input: 1, output: 9 };
const INPUT = { previous: 'before', messages: [] };
const READY = { ...runtimeRow(new Date(0)), phase: 'Ready' as const, address: 'http://127.0.0.1:1' };

function summarizer(more: { [Key in keyof SummarizerDeps]?: SummarizerDeps[Key] } = {}, error?: Error) {
  const requests: SummarizeRequest[] = [];
  const entries: UsageEntry[] = [];
  const reserved = new Map<string, Attempt>();
  const written = createSummarizer({
    database: NO_TRANSACTION,
    runtimes: { getRuntime: async () => READY },
    client: {
      identify: async () => ({ instanceId: 'i', features: ['summarize.1'] }),
      summarize: async (_target, request) => {
        requests.push(request);
        if (error !== undefined) throw error;
        expect(reserved.size).toBe(1);
        return create(SummarizeResponseSchema, { text: 'short', usage: [] });
      },
    },
    agents: { listMembers: async () => [] },
    users: { lockUserOfSummary: async () => true },
    turns: {
      lockTurn: async () => undefined,
      findNextStep: async () => 3,
      recordCall: async (_db, entry) => {
        entries.push(entry);
        return { provider: entry.provider, modelId: entry.modelId, kind: 'title', costMicros: 1 };
      },
    },
    withTransaction: (use) => use(NO_TRANSACTION),
    limits: { reached: async () => undefined },
    reservations: {
      lockReservations: async () => undefined,
      insertReservation: async (_db, attempt) => void reserved.set(attempt.usageTurnId, attempt),
      releaseReservation: async (_db, { usageTurnId }) => void reserved.delete(usageTurnId),
    },
    models: {
      provider: 'openai',
      subAgentModel: 'flash',
      limits: () => undefined,
      price: (modelId) => ({ modelId, prices: PRICES }),
    },
    modelTokens: async ({ turnId, purpose }) => `${purpose} of ${turnId}`,
    metrics: { used: () => undefined },
    ...more,
  });
  const write = () => written.write('summary', CONVERSATION, INPUT, new AbortController().signal);
  const room = () => written.room(CONVERSATION, new AbortController().signal);
  return { write, room, record: written.record, requests, entries, reserved };
}

describe('the summarizer', () => {
  it.each([
    { contextWindow: 8_192, maxOutputTokens: 1_000 },
    { contextWindow: 128_000, maxOutputTokens: 4_000 },
  ])('has room for longer summaries in larger windows: $contextWindow', async ({ contextWindow, ...expected }) => {
    const windows = { contextWindow, windows: [] };
    const identify = async () => ({ instanceId: 'i', features: ['summarize.1'], windows });
    const { room } = summarizer({ client: { identify, summarize: async () => create(SummarizeResponseSchema) } });
    expect(await room()).toMatchObject(expected);
  });

  it('sends the previous summary, the language and a model token', async () => {
    const { write, requests } = summarizer();
    expect(await write()).toMatchObject({ text: 'short' });
    expect(requests).toMatchObject([{ previous: 'before', language: 'de', modelToken: 'summary of t' }]);
  });

  it.each<[string, Parameters<typeof summarizer>[0]]>([
    ['the runtime is not running', { runtimes: { getRuntime: async () => ({ ...READY, phase: 'Suspended' }) } }],
    [
      'the token limit is reached',
      { limits: { reached: async () => ({ scope: 'user', token_limit: 1, resets_at: '' }) } },
    ],
  ])('calls no runtime if %s', async (_what, deps) => {
    const { write, requests } = summarizer(deps);
    expect({ written: await write(), requests }).toEqual({ written: undefined, requests: [] });
  });

  it('writes nothing if the runtime does not implement the call', async () => {
    expect(await summarizer({}, new ConnectError('', Code.Unimplemented)).write()).toBeUndefined();
  });

  it('fails with the error of the runtime, so that the job is retried', async () => {
    await expect(summarizer({}, new ConnectError('', Code.Unavailable)).write()).rejects.toThrow(ConnectError);
  });

  it('reserves the estimated tokens before the call, for the kind and the conversation', async () => {
    const { write, reserved } = summarizer();
    await write();
    expect([...reserved.values()]).toMatchObject([
      {
        kind: 'summary',
        meteredTurnId: 'first',
        conversationId: 'c',
        agentId: 'a',
        provider: 'openai',
        model: 'flash',
      },
    ]);
    expect([...reserved.values()][0]?.promptTokens).toBeGreaterThan(INPUT.previous.length);
  });

  it.each<[string, number, Error]>([
    ['keeps the estimate if the runtime is lost', 1, new ConnectError('socket hang up', Code.Unavailable)],
    ['keeps the estimate if the call is aborted', 1, new ConnectError('aborted', Code.Canceled)],
    ['removes the estimate if the model used no tokens', 0, new ConnectError('model_unavailable', Code.Unavailable)],
    ['removes the estimate if the conversation does not fit', 0, new ConnectError('small', Code.FailedPrecondition)],
  ])('%s', async (_what, left, error) => {
    const { write, reserved } = summarizer({}, error);
    await expect(write()).rejects.toThrow(error);
    expect(reserved.size).toBe(left);
  });

  it('keeps the estimate if the runtime reports no usage', async () => {
    const { write, record, reserved } = summarizer();
    await record('summary', CONVERSATION, (await write())!, {} as Database);
    expect(reserved.size).toBe(1);
  });

  it('records each model call as a further step of the last turn, with its kind', async () => {
    const { write, record, entries, reserved } = summarizer();
    const { usage } = create(SummarizeResponseSchema, {
      usage: [{ promptTokens: 5n }, { promptTokens: 6n, estimated: true }],
    });
    await record('title', CONVERSATION, { ...(await write())!, usage }, {} as Database);
    expect(reserved.size).toBe(0);
    expect(entries).toMatchObject([
      { turnId: 't', step: 3, kind: 'title', promptTokens: 5, estimated: false, conversationId: 'c', agentId: 'a' },
      { turnId: 't', step: 4, kind: 'title', promptTokens: 6, estimated: true, modelId: 'flash', prices: PRICES },
    ]);
  });
});
