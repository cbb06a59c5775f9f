import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { create } from '@bufbuild/protobuf';
import { LIMITS, type MessageContent } from '@uswarm/contract';
import {
  AgentActivity,
  type Done,
  DoneSchema,
  Outcome,
  ToolState,
  type TurnEvent,
  TurnEventSchema,
} from '@uswarm/runtime-proto';
import { silentLogger } from '@uswarm/service-kit';
import { NO_TRANSACTION } from '../../../test/transaction.js';
import { QUEUED } from '../../../test/turn-rows.js';
import type { LiveEvents } from './reply-stream.js';
import { createSafeMarkdown } from '../content/reply-text.js';
import { finishedReply } from './finished-reply.js';
import { createReply } from './reply.js';
import type { Refusal } from '../content/reply-limit.js';
import type { EntryParts, ToolMessage } from '../journal/turn-entries.js';
import type { FinishedReply } from '../writer/turn-ending.js';
import type { TurnWriter } from '../writer/turn-writes.js';
import type { UsageEntry } from '../../records/usage-rows.js';
import type { TurnRow } from '../turns.store.js';

const done = (outcome: Outcome, more: { text?: string; errorCode?: string; errorMessage?: string } = {}): Done =>
  create(DoneSchema, { outcome, ...more });

describe('finishedReply', () => {
  it.each([
    [
      'completed as done and delivered',
      done(Outcome.COMPLETED, { text: 'whole' }),
      { turnStatus: 'done', messageStatus: 'delivered', text: 'whole', errorCode: null },
    ],
    [
      'completed without a text as done with the streamed text',
      done(Outcome.COMPLETED),
      { turnStatus: 'done', messageStatus: 'delivered', text: 'streamed', errorCode: null },
    ],
    [
      'silent as done without a text, regardless of the streamed text',
      done(Outcome.SILENT, { text: 'hm' }),
      { turnStatus: 'done', messageStatus: 'silent', text: '', errorCode: null },
    ],
    [
      'stopped as incomplete with the text so far',
      done(Outcome.STOPPED),
      { turnStatus: 'stopped', messageStatus: 'incomplete', text: 'streamed', errorCode: null },
    ],
    [
      'incomplete as failed with its text',
      done(Outcome.INCOMPLETE, { errorCode: 'model_timeout' }),
      { turnStatus: 'failed', messageStatus: 'incomplete', text: 'streamed', errorCode: 'model_timeout' },
    ],
    [
      'incomplete without an error code as an internal error',
      done(Outcome.INCOMPLETE),
      { turnStatus: 'failed', messageStatus: 'incomplete', text: 'streamed', errorCode: 'internal_error' },
    ],
    [
      'failed as failed with its error code',
      done(Outcome.FAILED, { errorCode: 'model_unavailable', errorMessage: 'Sorry.' }),
      { turnStatus: 'failed', messageStatus: 'failed', text: 'streamed', errorCode: 'model_unavailable' },
    ],
    [
      'unspecified as failed',
      done(Outcome.UNSPECIFIED),
      { turnStatus: 'failed', messageStatus: 'failed', text: 'streamed', errorCode: 'internal_error' },
    ],
  ])('maps the outcome %s', (_what, event, reply) => {
    expect(finishedReply(event, 'streamed')).toEqual(reply);
  });

  it('uses the error message as the text of a failure without a text', () => {
    expect(finishedReply(done(Outcome.FAILED, { errorMessage: 'The model cannot be reached.' }), '').text).toBe(
      'The model cannot be reached.',
    );
  });
});

const TURN: TurnRow = {
  ...QUEUED,
  status: 'running',
  reply_message_id: 'r',
  activity: 'reading',
  runtime_instance: 'i',
};

const BEGUN = { replyId: 'r', seq: 1, activity: 'reading', stopRequested: false } as const;

let replies = new DisposableStack();
afterEach(() => {
  replies.dispose();
  replies = new DisposableStack();
});

function noted() {
  const stored: {
    tools: ToolMessage[];
    offers: { key: string; content: MessageContent }[];
    usage: UsageEntry[];
    finished: FinishedReply[];
    entries: EntryParts[];
    refusals: Refusal[];
  } = {
    tools: [],
    offers: [],
    usage: [],
    finished: [],
    entries: [],
    refusals: [],
  };
  const shown: {
    chunks: string[];
    offsets: (number | undefined)[];
    tools: Parameters<LiveEvents['tool']>[0][];
  } = {
    chunks: [],
    offsets: [],
    tools: [],
  };
  const writer: TurnWriter = {
    begin: async () => BEGUN,
    merge: async () => false,
    showReply: async () => ({ replyId: 'another', seq: 2 }),
    track: () => undefined,
    saveProgress: async () => undefined,
    markRead: () => undefined,
    activity: async () => undefined,
    setInstance: async () => false,
    nextGeneration: async () => undefined,
    postpone: async () => undefined,
    judge: async () => 'new',
    entry: async (_generation, entry) => {
      stored.entries.push(entry);
      return { verdict: 'new' };
    },
    entryLater(_generation, entry, appended) {
      stored.entries.push(entry);
      appended({ verdict: 'new' });
    },
    flush: async () => undefined,
    tool: async (tool) => stored.tools.push(tool),
    call: async (_call, commit) => {
      const { text, failed } = await commit(NO_TRANSACTION);
      return { outcome: { text, failed, showsMessage: false }, seq: 2 };
    },
    ask: async () => 2,
    question: async () => undefined,
    answer: async () => null,
    startTask: async () => 1,
    handOver: async () => ({ seq: 1, activity: undefined }),
    findCall: async () => ({ isDelegated: false }),
    grant: async () => undefined,
    markSent: async () => undefined,
    suspend: async () => undefined,
    offer: async (key, content) => stored.offers.push({ key, content }),
    reserve: async () => 'reserved',
    askForTokens: async () => ({ seq: 1 }),
    usage: (entry) => void stored.usage.push(entry),
    finish: async (reply) => ({ seq: stored.finished.push(reply) }),
    note: async () => undefined,
    noteLimit: async () => undefined,
    abandon: async () => ({ seq: 1 }),
  };
  const live: LiveEvents = {
    tool: (event) => void shown.tools.push(event),
    chunk({ text, offset }) {
      shown.chunks.push(text);
      shown.offsets.push(offset);
    },
  };
  const rules = {
    permission: async () => 'allow' as const,
    mayRepeat: async () => false,
    connection: async () => undefined,
    untrustedSources: async () => [],
    sharesPrivateText: async () => false,
    knowsAddress: async () => true,
    lookups: async () => 0,
  };
  const reply = createReply(
    {
      turn: { ...TURN },
      writer,
      receipts: { finish: async () => undefined, recordOwn: async () => undefined },
      rules,
      tokenFor: async () => 'token',
      watchAnswers: () => () => undefined,
      live,
      bodies: { put: async ({ body }) => ({ body }) },
      markdown: createSafeMarkdown(undefined),
      refused: (refusal) => void stored.refusals.push(refusal),
      signal: new AbortController().signal,
      logger: silentLogger,
      platformTools: ['send_mail'],
    },
    BEGUN,
  );
  replies.use(reply);
  reply.tools = { has: (name) => name !== 'no_such_tool' };
  let number = 0n;
  const apply = (event: TurnEvent['event']) => reply.apply(create(TurnEventSchema, { number: (number += 1n), event }));
  return { reply, stored, shown, apply };
}

describe('untrusted text of a runtime', () => {
  const BAD = 'a\u0000b\ud800c😀';
  const GOOD = 'ab\ufffdc😀';
  const event = (init: Parameters<typeof create<typeof TurnEventSchema>>[1] & object): TurnEvent['event'] =>
    create(TurnEventSchema, init).event;

  it('has no NUL and no lone surrogate in chunks', async () => {
    const { reply, shown, apply } = noted();
    await apply(event({ event: { case: 'chunk', value: { text: BAD } } }));
    expect(shown.chunks).toEqual([GOOD]);
    expect(reply.text).toEqual(GOOD);
  });

  it('has no NUL and no lone surrogate in tool calls, stored or streamed', async () => {
    const { stored, shown, apply } = noted();
    const tool = { callId: BAD, tool: BAD, state: ToolState.RUNNING, description: BAD, query: BAD };
    await apply(event({ event: { case: 'tool', value: tool } }));
    expect(stored.tools).toEqual([
      { callId: GOOD, content: { type: 'tool_status', tool: GOOD, description: GOOD, state: 'running' } },
    ]);
    expect(shown.tools).toEqual([{ tool: GOOD, running: true, failed: false, query: GOOD }]);
  });

  it.each(['send_mail', ' send_mail\u0000'])('cannot report a call of a tool of the orchestrator: %j', async (name) => {
    const { stored, shown, apply } = noted();
    const tool = { callId: 'm', tool: name, state: ToolState.FAILED, description: 'Not sent' };
    await apply(event({ event: { case: 'tool', value: tool } }));
    expect([stored.tools, shown.tools]).toEqual([[], []]);
  });

  it('has no NUL and no lone surrogate in names of providers and models', async () => {
    const { stored, apply } = noted();
    await apply(event({ event: { case: 'usage', value: { step: 1, provider: BAD, model: BAD } } }));
    expect(stored.usage).toEqual([expect.objectContaining({ provider: GOOD, model: GOOD })]);
  });

  it.each([
    ['the whole text', done(Outcome.COMPLETED, { text: BAD }), { text: GOOD }],
    ['the reason of a failure', done(Outcome.FAILED, { errorMessage: BAD }), { text: GOOD }],
    ['the code of a failure', done(Outcome.FAILED, { errorCode: BAD }), { errorCode: GOOD }],
  ])('has no NUL and no lone surrogate in %s', async (_what, value, finished) => {
    const { stored, apply } = noted();
    expect(await apply({ case: 'done', value })).toBe(true);
    expect(stored.finished).toEqual([expect.objectContaining(finished)]);
  });
});

describe('retracted text', () => {
  const chunk = (text: string, offset?: number): TurnEvent['event'] =>
    create(TurnEventSchema, { event: { case: 'chunk', value: { text, ...(offset === undefined ? {} : { offset }) } } })
      .event;

  it('is removed from the reply, and published with its position', async () => {
    const { reply, shown, stored, apply } = noted();
    await apply(chunk('Paris is', 0));
    await apply(chunk(' in Ita', 8));
    await apply(chunk(' the capital.', 8));
    expect(reply.text).toBe('Paris is the capital.');
    await apply({ case: 'done', value: done(Outcome.STOPPED) });
    expect(shown).toMatchObject({ chunks: ['Paris is', ' the capital.'], offsets: [0, 8] });
    expect(stored.finished[0]?.text).toBe('Paris is the capital.');
  });

  it('is removed by a chunk without a text', async () => {
    const { reply, shown, apply } = noted();
    await apply(chunk('Wrong'));
    await apply(chunk('', 0));
    expect(reply.text).toBe('');
    await apply({ case: 'done', value: done(Outcome.STOPPED) });
    expect(shown).toMatchObject({ chunks: ['Wrong', ''], offsets: [0, 0] });
  });

  it('is found although characters before it were not stored', async () => {
    const { reply, shown, apply } = noted();
    await apply(chunk('a\u0000b wrong'));
    await apply(chunk(' right', 3));
    expect(reply.text).toBe('ab right');
    await apply({ case: 'done', value: done(Outcome.STOPPED) });
    expect(shown.offsets).toEqual([0, 2]);
  });

  it('does not count against the size limit of a reply', async () => {
    const { reply, apply } = noted();
    const half = 'x'.repeat(LIMITS.replyBytes / 2 + 1);
    await apply(chunk(half));
    await apply(chunk(half, 0));
    expect(reply.text).toBe(half);
  });

  it('ends the reply if the runtime retracts text without end', async () => {
    const { apply } = noted();
    const repeat = async () => {
      for (;;) {
        await apply(chunk('x'));
        await apply(chunk('', 0));
      }
    };
    await expect(repeat()).rejects.toThrow('reply_too_many_parts');
  });
});

describe('a reply', () => {
  afterEach(() => void jest.useRealTimers());

  it('has no timer after an attempt that did not end it', async () => {
    jest.useFakeTimers();
    const { reply, apply } = noted();
    await apply(create(TurnEventSchema, { event: { case: 'chunk', value: { text: 'Hello' } } }).event);
    const writing = { activity: AgentActivity.WRITING };
    await apply(create(TurnEventSchema, { event: { case: 'activity', value: writing } }).event);
    expect(jest.getTimerCount()).toBe(3);
    reply[Symbol.dispose]();
    expect(jest.getTimerCount()).toBe(0);
  });

  it('stores cached and reasoning tokens, and whether the usage is estimated', async () => {
    const { stored, apply } = noted();
    const usage = {
      step: 1,
      promptTokens: 9n,
      completionTokens: 5n,
      cachedTokens: 7n,
      reasoningTokens: 4n,
      estimated: true,
    };
    await apply(create(TurnEventSchema, { event: { case: 'usage', value: usage } }).event);
    expect(stored.usage).toEqual([
      expect.objectContaining({
        promptTokens: 9,
        completionTokens: 5,
        cachedTokens: 7,
        reasoningTokens: 4,
        estimated: true,
      }),
    ]);
  });

  it('ignores an event that it has already applied', async () => {
    const { reply } = noted();
    const chunk = (number: bigint) =>
      create(TurnEventSchema, { number, event: { case: 'chunk', value: { text: String(number) } } });
    for (const number of [1n, 2n, 1n, 2n, 3n]) await reply.apply(chunk(number));
    expect(reply.text).toBe('123');
    expect(reply.events).toBe(3);
  });
});
