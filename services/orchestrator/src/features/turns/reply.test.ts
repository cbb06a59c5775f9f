import { describe, expect, it } from '@jest/globals';
import { create } from '@bufbuild/protobuf';
import type { MessageContent } from '@uswarm/contract';
import { type Done, DoneSchema, Outcome, ToolState, type TurnEvent, TurnEventSchema } from '@uswarm/runtime-proto';
import type { AgentActivity } from '../../database/schema.js';
import type { LiveEvents } from './live-events.js';
import { createReply, finishedReply } from './reply.js';
import type { FinishedReply, ToolMessage, TurnWriter } from './turn-writer.js';
import type { TurnRow, UsageEntry } from './turns.store.js';

const done = (outcome: Outcome, more: { text?: string; errorCode?: string; errorMessage?: string } = {}): Done =>
  create(DoneSchema, { outcome, ...more });

describe('a finished reply', () => {
  it.each([
    [
      'completed is done and delivered',
      done(Outcome.COMPLETED, { text: 'whole' }),
      { turnStatus: 'done', messageStatus: 'delivered', text: 'whole', errorCode: null },
    ],
    [
      'completed without a text has what was streamed',
      done(Outcome.COMPLETED),
      { turnStatus: 'done', messageStatus: 'delivered', text: 'streamed', errorCode: null },
    ],
    [
      'is silent has no text, regardless of the streamed text',
      done(Outcome.SILENT, { text: 'hm' }),
      { turnStatus: 'done', messageStatus: 'silent', text: '', errorCode: null },
    ],
    [
      'stopped is incomplete with what there is',
      done(Outcome.STOPPED),
      { turnStatus: 'stopped', messageStatus: 'incomplete', text: 'streamed', errorCode: null },
    ],
    [
      'incomplete is failed, and keeps its text',
      done(Outcome.INCOMPLETE, { errorCode: 'model_timeout' }),
      { turnStatus: 'failed', messageStatus: 'incomplete', text: 'streamed', errorCode: 'model_timeout' },
    ],
    [
      'incomplete without a code has one',
      done(Outcome.INCOMPLETE),
      { turnStatus: 'failed', messageStatus: 'incomplete', text: 'streamed', errorCode: 'internal_error' },
    ],
    [
      'failed has a code',
      done(Outcome.FAILED, { errorCode: 'model_unavailable', errorMessage: 'Sorry.' }),
      { turnStatus: 'failed', messageStatus: 'failed', text: 'streamed', errorCode: 'model_unavailable' },
    ],
    [
      'without an outcome is failed',
      done(Outcome.UNSPECIFIED),
      { turnStatus: 'failed', messageStatus: 'failed', text: 'streamed', errorCode: 'internal_error' },
    ],
  ])('that %s', (_what, event, reply) => {
    expect(finishedReply(event, 'streamed')).toEqual(reply);
  });

  it('that failed without text shows the reason', () => {
    expect(finishedReply(done(Outcome.FAILED, { errorMessage: 'The model cannot be reached.' }), '').text).toBe(
      'The model cannot be reached.',
    );
  });
});

const TURN: TurnRow = {
  id: 't',
  workspace_id: 'w',
  conversation_id: 'c',
  agent_id: 'a',
  user_message_id: 'm',
  reply_message_id: 'r',
  status: 'running',
  generation: 1,
  runtime_instance: 'i',
  created_at: new Date(0),
  started_at: null,
  user_id: 'u',
  user_banned: false,
  stop_requested: false,
};

/** A reply whose writer and live events only note what they get. */
function noted(
  { activityAfterwards }: { activityAfterwards: AgentActivity | undefined } = { activityAfterwards: 'online' },
) {
  const stored: {
    tools: ToolMessage[];
    offers: { key: string; content: MessageContent }[];
    usage: UsageEntry[];
    finished: FinishedReply[];
  } = {
    tools: [],
    offers: [],
    usage: [],
    finished: [],
  };
  const shown: { chunks: string[]; tools: Parameters<LiveEvents['tool']>[0][]; statuses: string[] } = {
    chunks: [],
    tools: [],
    statuses: [],
  };
  const writer: TurnWriter = {
    begin: async () => ({ replyId: 'r', seq: 1 }),
    markRead: async () => undefined,
    activity: async () => undefined,
    setInstance: async () => undefined,
    nextGeneration: async () => undefined,
    tool: async (_generation, tool) => stored.tools.push(tool),
    offer: async (key, content) => stored.offers.push({ key, content }),
    usage: async (entry) => void stored.usage.push(entry),
    finish: async (reply) => ({ seq: stored.finished.push(reply), activity: activityAfterwards }),
    note: async () => undefined,
    abandon: async () => ({ seq: 1, activity: activityAfterwards }),
  };
  const live: LiveEvents = {
    status: (status) => void shown.statuses.push(status),
    tool: (event) => void shown.tools.push(event),
    chunk: ({ text }) => void shown.chunks.push(text),
  };
  const reply = createReply({ turn: { ...TURN }, writer, live }, { replyId: 'r', seq: 1 });
  let number = 0n;
  const apply = (event: TurnEvent['event']) => reply.apply(create(TurnEventSchema, { number: (number += 1n), event }));
  return { reply, stored, shown, apply };
}

describe('what a model writes', () => {
  const BAD = 'a\u0000b\ud800c😀';
  const GOOD = 'ab\ufffdc😀';
  const event = (init: Parameters<typeof create<typeof TurnEventSchema>>[1] & object): TurnEvent['event'] =>
    create(TurnEventSchema, init).event;

  it('has neither NUL nor half a character in what is streamed', async () => {
    const { reply, shown, apply } = noted();
    await apply(event({ event: { case: 'chunk', value: { text: BAD } } }));
    expect(shown.chunks).toEqual([GOOD]);
    expect(reply.text).toEqual(GOOD);
  });

  it('has neither in a tool call, stored or shown', async () => {
    const { stored, shown, apply } = noted();
    const tool = { callId: BAD, tool: BAD, state: ToolState.RUNNING, description: BAD, query: BAD };
    await apply(event({ event: { case: 'tool', value: tool } }));
    expect(stored.tools).toEqual([
      { callId: GOOD, content: { type: 'tool_status', tool: GOOD, description: GOOD, state: 'running' } },
    ]);
    expect(shown.tools).toEqual([{ tool: GOOD, running: true, failed: false, query: GOOD }]);
  });

  it('has neither in what a provider calls itself and its model', async () => {
    const { stored, apply } = noted();
    await apply(event({ event: { case: 'usage', value: { step: 1, provider: BAD, model: BAD } } }));
    expect(stored.usage).toEqual([expect.objectContaining({ provider: GOOD, model: GOOD })]);
  });

  it.each([
    ['the whole text', done(Outcome.COMPLETED, { text: BAD }), { text: GOOD }],
    ['the reason of a failure', done(Outcome.FAILED, { errorMessage: BAD }), { text: GOOD }],
    ['the code of a failure', done(Outcome.FAILED, { errorCode: BAD }), { errorCode: GOOD }],
  ])('has neither in %s', async (_what, value, finished) => {
    const { stored, apply } = noted();
    expect(await apply({ case: 'done', value })).toBe(true);
    expect(stored.finished).toEqual([expect.objectContaining(finished)]);
  });
});

describe('a reply', () => {
  const FINISHED: FinishedReply = { turnStatus: 'done', messageStatus: 'delivered', text: 'x', errorCode: null };

  it('that ends shows what the agent does then', async () => {
    const { reply, shown } = noted({ activityAfterwards: 'error' });
    await reply.finish(FINISHED);
    expect(shown.statuses).toEqual(['error']);
  });

  it('that ends shows no status while the agent is busy elsewhere', async () => {
    const { reply, shown } = noted({ activityAfterwards: undefined });
    await reply.finish(FINISHED);
    expect(shown.statuses).toEqual([]);
  });

  it('ignores an event that it has already applied', async () => {
    const { reply, shown } = noted();
    const chunk = (number: bigint) =>
      create(TurnEventSchema, { number, event: { case: 'chunk', value: { text: String(number) } } });
    for (const number of [1n, 2n, 1n, 2n, 3n]) await reply.apply(chunk(number));
    expect(shown.chunks).toEqual(['1', '2', '3']);
    expect(reply.events).toBe(3);
  });
});
