import { create } from '@bufbuild/protobuf';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { LIMITS } from '@uswarm/contract';
import { AgentActivity, type Done, DoneSchema, Outcome, ToolState } from '@uswarm/runtime-proto';
import { chunk, done, entry, type EventInit, stopped, thinking, tool, used } from '../../../test/runtime-script.js';
import { countingTool } from '../../../test/sample-tools.js';
import { createTestReply } from '../../../test/test-reply.js';
import type { Reserved } from '../writer/turn-budget.js';
import { finishedReply } from './finished-reply.js';

const ended = (outcome: Outcome, more: { text?: string; errorCode?: string; errorMessage?: string } = {}): Done =>
  create(DoneSchema, { outcome, ...more });

describe('finishedReply', () => {
  it.each([
    [
      'completed as done and delivered',
      ended(Outcome.COMPLETED, { text: 'whole' }),
      { turnStatus: 'done', messageStatus: 'delivered', text: 'whole', errorCode: null },
    ],
    [
      'completed without a text as done with the streamed text',
      ended(Outcome.COMPLETED),
      { turnStatus: 'done', messageStatus: 'delivered', text: 'streamed', errorCode: null },
    ],
    [
      'silent as done without a text, regardless of the streamed text',
      ended(Outcome.SILENT, { text: 'hm' }),
      { turnStatus: 'done', messageStatus: 'silent', text: '', errorCode: null },
    ],
    [
      'stopped as incomplete with the text so far',
      ended(Outcome.STOPPED),
      { turnStatus: 'stopped', messageStatus: 'incomplete', text: 'streamed', errorCode: null },
    ],
    [
      'incomplete as failed with its text',
      ended(Outcome.INCOMPLETE, { errorCode: 'model_timeout' }),
      { turnStatus: 'failed', messageStatus: 'incomplete', text: 'streamed', errorCode: 'model_timeout' },
    ],
    [
      'incomplete without an error code as an internal error',
      ended(Outcome.INCOMPLETE),
      { turnStatus: 'failed', messageStatus: 'incomplete', text: 'streamed', errorCode: 'internal_error' },
    ],
    [
      'failed as failed with its error code',
      ended(Outcome.FAILED, { errorCode: 'model_unavailable', errorMessage: 'Sorry.' }),
      { turnStatus: 'failed', messageStatus: 'failed', text: 'streamed', errorCode: 'model_unavailable' },
    ],
    [
      'unspecified as failed',
      ended(Outcome.UNSPECIFIED),
      { turnStatus: 'failed', messageStatus: 'failed', text: 'streamed', errorCode: 'internal_error' },
    ],
  ])('maps the outcome %s', (_what, event, reply) => {
    expect(finishedReply(event, 'streamed')).toEqual(reply);
  });

  it('states that a reply without a text was stopped', () => {
    expect(finishedReply(ended(Outcome.STOPPED), '')).toMatchObject({
      messageStatus: 'failed',
      text: 'The reply was stopped.',
    });
  });

  it('uses the error message as the text of a failure without a text', () => {
    expect(finishedReply(ended(Outcome.FAILED, { errorMessage: 'The model cannot be reached.' }), '').text).toBe(
      'The model cannot be reached.',
    );
  });
});

describe('untrusted text of a runtime', () => {
  const BAD = 'a\u0000b\ud800c😀';
  const GOOD = 'ab\ufffdc😀';

  it('has no NUL and no lone surrogate in chunks', async () => {
    const { reply, shown, apply } = createTestReply();
    await apply(chunk(BAD));
    expect(shown.chunks).toMatchObject([{ text: GOOD }]);
    expect(reply.text).toEqual(GOOD);
  });

  it('has no NUL and no lone surrogate in tool calls, stored or streamed', async () => {
    const { stored, shown, apply } = createTestReply({ tools: [BAD] });
    const value = { callId: BAD, tool: BAD, state: ToolState.RUNNING, description: BAD, query: BAD };
    await apply({ case: 'tool', value });
    expect(stored.tools).toEqual([
      { callId: GOOD, content: { type: 'tool_status', tool: GOOD, description: GOOD, state: 'running' } },
    ]);
    expect(shown.tools).toEqual([{ tool: GOOD, running: true, failed: false, query: GOOD }]);
  });

  it.each(['count', ' count\u0000'])('cannot report a call of a tool of the orchestrator: %j', async (name) => {
    const { stored, shown, apply } = createTestReply({ offered: [countingTool().tool] });
    const value = { callId: 'm', tool: name, state: ToolState.FAILED, description: 'Not sent' };
    await apply({ case: 'tool', value });
    expect([stored.tools, shown.tools]).toEqual([[], []]);
  });

  it('has no NUL and no lone surrogate in names of providers and models', async () => {
    const { stored, apply } = createTestReply();
    await apply({ case: 'usage', value: { step: 1, provider: BAD, model: BAD } });
    expect(stored.usage).toEqual([expect.objectContaining({ provider: GOOD, model: GOOD })]);
  });

  it.each([
    ['the whole text', ended(Outcome.COMPLETED, { text: BAD }), { text: GOOD }],
    ['the reason of a failure', ended(Outcome.FAILED, { errorMessage: BAD }), { text: GOOD }],
    ['the code of a failure', ended(Outcome.FAILED, { errorCode: BAD }), { errorCode: GOOD }],
  ])('has no NUL and no lone surrogate in %s', async (_what, value, finished) => {
    const { stored, apply } = createTestReply();
    expect(await apply({ case: 'done', value })).toBe(true);
    expect(stored.finished).toEqual([expect.objectContaining(finished)]);
  });

  it('invariant 11: shows no image of another host, also if it arrives in parts or in the last text', async () => {
    const image = '![a](https://evil.example/?q=1)';
    const shown = '! [a (evil.example)](https://evil.example/?q=1)';
    const inParts = createTestReply();
    await inParts.play(...Array.from(image, (character) => chunk(character)), done());
    const atTheEnd = createTestReply();
    await atTheEnd.play(done(image));
    expect([...inParts.stored.finished, ...atTheEnd.stored.finished]).toMatchObject([{ text: shown }, { text: shown }]);
  });
});

describe('retracted text', () => {
  const at = (text: string, offset: number): EventInit => ({ case: 'chunk', value: { text, offset } });

  it('is removed from the reply, and published with its position', async () => {
    const { reply, shown, stored, play } = createTestReply();
    await play(at('Paris is', 0), at(' in Ita', 8), at(' the capital.', 8));
    expect(reply.text).toBe('Paris is the capital.');
    await play(stopped);
    expect(shown.chunks).toMatchObject([
      { text: 'Paris is', offset: 0 },
      { text: ' the capital.', offset: 8 },
    ]);
    expect(stored.finished[0]?.text).toBe('Paris is the capital.');
  });

  it('is removed by a chunk without a text', async () => {
    const { reply, shown, play } = createTestReply();
    await play(chunk('Wrong'), at('', 0));
    expect(reply.text).toBe('');
    await play(stopped);
    expect(shown.chunks).toMatchObject([
      { text: 'Wrong', offset: 0 },
      { text: '', offset: 0 },
    ]);
  });

  it('is found although characters before it were not stored', async () => {
    const { reply, shown, play } = createTestReply();
    await play(chunk('a\u0000b wrong'), at(' right', 3));
    expect(reply.text).toBe('ab right');
    await play(stopped);
    expect(shown.chunks).toMatchObject([{ offset: 0 }, { offset: 2 }]);
  });

  it('does not count against the size limit of a reply', async () => {
    const { reply, play } = createTestReply();
    const half = 'x'.repeat(LIMITS.replyBytes / 2 + 1);
    await play(chunk(half), at(half, 0));
    expect(reply.text).toBe(half);
  });

  it('ends the reply if the runtime retracts text without end', async () => {
    const { told, play } = createTestReply();
    while (told.ended === undefined) await play(chunk('x'), at('', 0));
    expect(told.ended).toBe('reply_too_many_parts');
  });
});

describe('a reply', () => {
  afterEach(() => void jest.useRealTimers());

  it('has no timer after an attempt that did not end it', async () => {
    jest.useFakeTimers();
    const { reply, play } = createTestReply();
    await play(chunk('Hello'), { case: 'activity', value: { activity: AgentActivity.WRITING } });
    expect(jest.getTimerCount()).toBe(3);
    reply[Symbol.dispose]();
    expect(jest.getTimerCount()).toBe(0);
  });

  it('stores cached and reasoning tokens, and whether the usage is estimated', async () => {
    const { stored, apply } = createTestReply();
    const value = {
      step: 1,
      promptTokens: 9n,
      completionTokens: 5n,
      cachedTokens: 7n,
      reasoningTokens: 4n,
      estimated: true,
    };
    await apply({ case: 'usage', value });
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
    const { reply, apply } = createTestReply();
    for (const number of [1, 2, 1, 2, 3]) await apply(chunk(String(number)), { number });
    expect(reply.text).toBe('123');
    expect(reply.events).toBe(3);
  });
});

describe('a reply that another process takes over', () => {
  const SAVED = {
    generation: 1,
    appliedEvent: 4,
    resumeFrom: 4,
    chunkSeq: 2,
    announcedStep: 1,
    text: 'Hello wor',
    received: 'Hello wor',
  };

  it('continues after the events that are applied, with the text and the numbers of its parts', async () => {
    const { reply, shown, stored, play } = createTestReply({ saved: SAVED });
    expect(reply.from).toBe(4);
    await play(chunk('ld'), done());
    expect(shown.chunks).toMatchObject([{ offset: 9, text: 'ld' }]);
    expect(shown.chunks[0]?.chunkSeq).toBeGreaterThan(SAVED.chunkSeq);
    expect(stored.finished).toMatchObject([{ messageStatus: 'delivered', text: 'Hello world' }]);
  });

  it('does not mix the text of the next generation with that of the lost one', async () => {
    const { reply, shown, stored, play, apply } = createTestReply({ saved: SAVED });
    reply.restart(2);
    expect(reply.from).toBe(0);
    await apply(chunk('Another answer'), { number: 1 });
    await play(done());
    expect(shown.chunks).toMatchObject([{ offset: 0, text: 'Another answer', chunkSeq: 1 }]);
    expect(stored.finished).toMatchObject([{ text: 'Another answer' }]);
  });

  it('forgets the calls and the steps of a lost generation', async () => {
    const { reply, told, stored, play, apply } = createTestReply({ offered: [countingTool().tool], asked: ['count'] });
    const request = (callId: string, by: unknown): EventInit => ({
      case: 'request',
      value: { callId, tool: 'count', arguments: JSON.stringify({ by }) },
    });
    const attempt = (step: number): EventInit => ({ case: 'attempt', value: { step } });
    await play(attempt(2), request('c', 1));
    await apply(request('d', 'x'));
    expect(reply.requests).toMatchObject({
      firstUnacknowledged: 2,
      waitingCalls: ['c'],
      resolutions: [{ callId: 'd' }],
    });
    reply.restart(2);
    expect(reply.requests).toMatchObject({ firstUnacknowledged: undefined, waitingCalls: [], resolutions: [] });
    await apply(attempt(1), { number: 1 });
    expect([stored.reservations, told.refusals]).toEqual([[2, 1], []]);
  });

  it('keeps the text of the last generation if it is stopped before the next one has a text', async () => {
    const turn = { generation: 2, runtime_instance: null };
    const { stored, apply } = createTestReply({ turn, saved: { ...SAVED, text: 'So far' } });
    await apply(stopped, { number: 1 });
    expect(stored.finished).toMatchObject([{ messageStatus: 'incomplete', text: 'So far' }]);
  });
});

const LIMIT = { scope: 'user', token_limit: 10, resets_at: '2026-12-01T00:00:00.000Z' } as const;

describe('a reply whose usage reaches the token limit of the month', () => {
  it.each<[string, EventInit[]]>([
    ['the last model call reaches it', [chunk('42'), used, chunk('!')]],
    ['it ends before it can be stopped', [used, thinking, chunk('42!')]],
  ])('is delivered if %s', async (_why, events) => {
    const { stored, play } = createTestReply({ reached: LIMIT });
    await play(...events, done());
    expect(stored.finished).toMatchObject([{ turnStatus: 'done', text: '42!' }]);
    expect(stored.limits).toEqual([]);
  });

  it.each<[string, EventInit[], object]>([
    ['its text so far', [chunk('Let me see')], { messageStatus: 'incomplete', text: 'Let me see' }],
    ['a sentence, without a text', [], { messageStatus: 'failed', text: 'The token limit of this month is reached.' }],
  ])('is over the limit once it continues, and fails with a note and %s', async (_what, events, finished) => {
    const { reply, stored, play } = createTestReply({ reached: LIMIT });
    await play(...events, used);
    expect(reply.overLimit).toBeUndefined();
    await play(tool);
    expect(reply.overLimit).toEqual(LIMIT);
    await play(stopped);
    expect(stored.finished).toEqual([{ turnStatus: 'failed', errorCode: 'token_limit_reached', ...finished }]);
    expect(stored.limits).toEqual([LIMIT]);
  });
});

describe('an announced model call', () => {
  const attempt = (more: object = {}): EventInit => ({
    case: 'attempt',
    value: { step: 1, provider: 'p', model: 'm', promptTokens: 60n, maxOutputTokens: 40n, ...more },
  });
  const ANNOUNCED = [chunk('So far.'), entry(1), attempt()];

  it('is made once its tokens are reserved, also after those of other turns were given back', async () => {
    const answers: Reserved[] = ['busy', 'busy', 'reserved'];
    const { stored, told, play, reply } = createTestReply({ reserve: () => answers.shift()! });
    await play(...ANNOUNCED);
    expect({ answers, ...stored, ...told, events: reply.events }).toMatchObject({
      answers: [],
      reservations: [1],
      isDone: false,
      events: 3,
    });
  });

  it.each<[string, object, Reserved]>([
    ['the budget is spent', {}, 'budget_reached'],
    ['the model gateway refused it', { metered: true }, 'budget_reached'],
    ['other calls never give tokens back', {}, 'busy'],
  ])('invariant 9: asks for more tokens instead if %s', async (_why, more, reserved) => {
    const { reply, stored, told, play } = createTestReply({ reserve: () => reserved });
    await play(chunk('So far.'), entry(1), attempt(more));
    expect({ ...told, ...stored, isSuspended: reply.suspended }).toMatchObject({
      isDone: true,
      isSuspended: true,
      suspended: 'So far.',
      reservations: [],
    });
  });

  it('has usage that replaces its estimate, unless the provider refused it or it was not announced', async () => {
    const { stored, play } = createTestReply();
    const usage = (step: number, more: object = {}): EventInit => ({ case: 'usage', value: { step, ...more } });
    await play(attempt(), usage(1, { refused: true }), attempt({ step: 2 }), usage(2), usage(3));
    expect(stored.usage.map(({ step, of }) => [step, of])).toEqual([
      [1, 'refused'],
      [2, 'reserved'],
      [3, 'unannounced'],
    ]);
  });

  it('does not count as applied, so that no runtime makes it, if the user stops the turn while it waits', async () => {
    const { reply, stored, play, stop } = createTestReply({ reserve: () => (stop(), 'busy') });
    await play(...ANNOUNCED);
    expect(reply).toMatchObject({ events: 2, suspended: false });
    await play(stopped);
    expect(stored.finished).toMatchObject([{ turnStatus: 'stopped', text: 'So far.' }]);
  });

  it('does not count as applied, and the turn is over the limit, if the limit of the month is reached', async () => {
    const { reply, stored, play } = createTestReply({ reserve: () => LIMIT });
    await play(...ANNOUNCED);
    expect(reply).toMatchObject({ events: 2, suspended: false, overLimit: LIMIT });
    expect(stored).toMatchObject({ suspended: undefined, reservations: [] });
  });

  it('is announced again to a process that takes over while it waits', async () => {
    const { progress, play } = createTestReply({
      reserve() {
        throw new Error('the process ends');
      },
    });
    await expect(play(...ANNOUNCED)).rejects.toThrow('the process ends');
    expect(progress()).toMatchObject({ appliedEvent: 2, announcedStep: 0 });
  });
});
