import { describe, expect, it } from '@jest/globals';
import { EntryKind, ToolState } from '@uswarm/runtime-proto';
import { z } from 'zod';
import { chunk, done, entry, type EventInit, tool as ownCall } from '../../../test/runtime-script.js';
import { countingTool, sendingTool } from '../../../test/sample-tools.js';
import { createTestReply, type TestReplyOptions } from '../../../test/test-reply.js';
import { NOW } from '../../../test/turn-rows.js';
import type { FoundApproval } from '../../records/approvals.store.js';
import { defineTaskTool, UncertainOutcome } from '../tools/platform-tool.js';
import type { StoredCall } from '../writer/turn-writes.js';

const request = (input: unknown, callId = 'c', tool = 'count'): EventInit => ({
  case: 'request',
  value: { callId, tool, arguments: typeof input === 'string' ? input : JSON.stringify(input) },
});
const waiting: EventInit = { case: 'waiting', value: {} };

/** A turn that may count, without an approval. */
function counting(options: TestReplyOptions = {}, prepare?: () => void) {
  const { counted, tool } = countingTool(prepare);
  return { counted, ...createTestReply({ offered: [tool], ...options }) };
}

/** A turn that asks the user before it sends something. */
function sending(options: TestReplyOptions = {}, more: Parameters<typeof sendingTool>[0] = {}) {
  const { sent, tool } = sendingTool(more);
  return { sent, ...createTestReply({ offered: [tool], asked: [tool.name], ...options }) };
}

const decide =
  (status: FoundApproval['status'], more: Partial<FoundApproval> = {}) =>
  (approvals: FoundApproval[]) =>
    approvals.forEach((approval) => Object.assign(approval, { status, ...more }));

describe('a request of a runtime', () => {
  it('is executed, and its outcome is returned', async () => {
    const { counted, told, play } = counting();
    await play(request({ by: 1 }), done('ok'));
    expect([counted.total, told.resolutions]).toEqual([1, ['c: total 1']]);
  });

  it('invariant 4: is executed once if another process or generation gets it again, also without its arguments', async () => {
    const calls = new Map<string, StoredCall>();
    const first = counting({ calls });
    await first.play(request({ by: 1 }));
    first.reply.restart(2);
    await first.apply(request({ by: 1 }), { number: 1 });
    const second = counting({ calls });
    await second.play(request(''));
    expect([first.counted.total, second.counted.total]).toEqual([1, 0]);
    expect([...first.reply.requests.resolutions.map(({ text }) => text), ...second.told.resolutions]).toEqual([
      'total 1',
      'c: total 1',
    ]);
  });

  it('is followed again, and its outcome is sent with the next request, until the runtime has it', async () => {
    const { reply, play, apply } = counting();
    await play(chunk('Let me count.'));
    await apply(request({ by: 1 }));
    expect(reply.requests).toMatchObject({ firstUnacknowledged: 2, resolutions: [{ callId: 'c', text: 'total 1' }] });
    reply.requests.acknowledged();
    expect(reply.requests).toMatchObject({ firstUnacknowledged: undefined, resolutions: [] });
  });

  it.each([
    ['invalid arguments', '{"by":"x"}', /^c: count: by: /],
    ['arguments that are not JSON', 'x', /^c: count: /],
  ])('fails with %s, without an effect', async (_what, input, text) => {
    const { counted, told, play } = counting();
    await play(request(input), done('ok'));
    expect([counted.total, told.resolutions]).toEqual([0, [expect.stringMatching(text)]]);
  });

  it('fails without an effect if its preparation fails, and the turn continues', async () => {
    const { told, play } = counting({}, () => {
      throw new Error('no storage');
    });
    await play(request({ by: 1 }), done('ok'));
    expect(told).toMatchObject({
      resolutions: [expect.stringContaining('is not available at the moment')],
      isDone: true,
    });
  });

  it('has a certain outcome, which each generation gets, although the other system does not answer', async () => {
    const answer = async () => Promise.reject(new UncertainOutcome());
    const { sent, told, play } = sending({ asked: [] }, { answer });
    await play(request({ to: 'bob' }, 'c', 'send'), request({ to: 'bob' }, 'c', 'send'), done('ok'));
    expect(sent).toHaveLength(1);
    expect(told.resolutions).toEqual(Array.from({ length: 2 }, () => expect.stringContaining('not known whether')));
  });
});

describe('a request that needs the approval of the user', () => {
  it('invariant 5: shows a card with the arguments and ends the reply, without an effect', async () => {
    const { counted, reply, stored, told, play } = counting({ asked: ['count'] });
    await play(chunk('I will count.'), request({ by: 1 }), request({ by: 1 }), ownCall, waiting);
    expect(stored).toMatchObject({ cards: ['Approve? Counting 1: by: “1”'], suspended: 'I will count.' });
    expect({ ...told, isSuspended: reply.suspended, ...counted }).toMatchObject({
      isDone: true,
      isSuspended: true,
      total: 0,
      resolutions: [expect.stringContaining('token')],
    });
  });

  it('is asked about if the user requires it since the turn began', async () => {
    const { stored, play } = counting({ permission: () => 'ask' });
    await play(request({ by: 1 }), waiting);
    expect(stored).toMatchObject({ cards: [expect.any(String)], suspended: '' });
  });

  it('is asked about once per call', async () => {
    const calls = new Map<string, StoredCall>();
    const first = counting({ asked: ['count'], calls });
    await first.play(request({ by: 1 }));
    const second = counting({ asked: ['count'], calls });
    await second.play(request({ by: 2 }, 'd'), request({ by: 1 }), waiting);
    expect([first.stored.cards, second.stored.cards]).toEqual([[expect.any(String)], [expect.any(String)]]);
  });

  it('invariant 6: fails without a card if its arguments are invalid', async () => {
    const { counted, stored, told, play } = counting({ asked: ['count'] });
    await play(request('{"by":"x","Checked":"yes"}'), waiting, done('ok'));
    expect([stored.cards, counted.total]).toEqual([[], 0]);
    expect(told.resolutions).toEqual([expect.stringMatching(/^c: count: by: /)]);
  });

  it('fails without a card if it cannot be executed', async () => {
    const plan = async () => ({ outcome: { text: 'no such mail', failed: true } });
    const { sent, stored, told, play } = sending({}, { plan });
    await play(request({ to: 'bob' }, 'c', 'send'), waiting, done('ok'));
    expect([sent, stored.cards, told.resolutions]).toEqual([[], [], ['c: no such mail']]);
  });

  it('is executed without a pause if the user approves it before the reply ends', async () => {
    const { counted, stored, told, play } = counting({ asked: ['count'], onSuspend: decide('approved') });
    await play(request({ by: 1 }), waiting, done('It is 1.'));
    expect([counted.total, told.resolutions]).toEqual([1, ['c: total 1']]);
    expect(stored.finished).toMatchObject([{ messageStatus: 'delivered', text: 'It is 1.' }]);
  });

  it.each([
    ['denied', 'The user denied this call'],
    ['expired', 'did not approve this call within'],
    ['superseded', 'sent another message instead'],
    ['outdated', 'too long ago'],
  ] as const)('invariant 5: has no effect, although its app is unavailable then, if it is %s', async (status, text) => {
    let isDown = false;
    const plan = async () => {
      if (isDown) throw new Error('unavailable');
      return { key: 'k' };
    };
    const onSuspend = (approvals: FoundApproval[]) => {
      isDown = true;
      decide(status)(approvals);
    };
    const { sent, told, play } = sending({ onSuspend }, { plan });
    await play(request({ to: 'bob' }, 'c', 'send'), waiting, done('ok'));
    expect([sent, told.resolutions]).toEqual([[], [expect.stringMatching(`${text}.*Nothing was changed`)]]);
  });

  it('invariant 5: ends the turn if the runtime changes the arguments after the card was shown', async () => {
    const { counted, told, play } = counting({ asked: ['count'], onSuspend: decide('approved') });
    await play(request({ by: 1 }), request({ by: 1_000 }), waiting);
    expect([counted.total, told.ended, told.refusals]).toEqual([0, 'runtime_output_invalid', ['arguments_changed']]);
  });

  it.each([
    { mayRepeat: true, cards: ['Approve? Sending to bob: to: “bob”'], sent: 0 },
    { mayRepeat: false, cards: [], sent: 1 },
  ])('shows a card although it is allowed, if an earlier reply sent calls: $mayRepeat', async (expected) => {
    const { mayRepeat, cards } = expected;
    const { sent, stored, play } = sending({ asked: [], mayRepeat });
    await play(request({ to: 'bob' }, 'c', 'send'), waiting, done('ok'));
    expect([sent.length, stored.cards]).toEqual([expected.sent, cards]);
  });
});

describe('an approved call', () => {
  const APPROVED = [request({ to: 'bob' }, 'c', 'send'), waiting, done('ok')];

  it('is sent with the version that the card was rendered for', async () => {
    let version = 1;
    const onSuspend = (approvals: FoundApproval[]) => {
      version = 2;
      decide('approved')(approvals);
    };
    const { sent, play } = sending({ onSuspend }, { plan: async () => ({ key: `version ${version}` }) });
    await play(...APPROVED);
    expect(sent).toEqual([{ to: 'bob', key: 'version 1' }]);
  });

  it('is not sent if the user has connected another account since the card', async () => {
    const accounts = ['first', 'second'];
    const connection = () => accounts.shift() ?? 'second';
    const { sent, told, play } = sending({ onSuspend: decide('approved'), connection });
    await play(...APPROVED);
    expect([sent, told.resolutions]).toEqual([[], [expect.stringContaining('another account')]]);
  });

  it('is not sent if the user has turned the tool off in the meantime', async () => {
    const permissions = ['ask', 'deny'] as const;
    let asked = 0;
    const permission = () => permissions[Math.min((asked += 1), 2) - 1]!;
    const { sent, told, play } = sending({ onSuspend: decide('approved'), permission });
    await play(...APPROVED);
    expect([sent, told.resolutions]).toEqual([[], [expect.stringContaining('turned this tool off')]]);
  });

  it('tells the model when the user approved it, because the turn can be a day old', async () => {
    const { told, play } = sending({ onSuspend: decide('approved', { decidedAt: NOW }) });
    await play(...APPROVED);
    expect(told.resolutions).toEqual([`c: sent\nThe user approved this call at ${NOW.toISOString()}.`]);
  });
});

describe('a hostile runtime', () => {
  const TO_BOB = { to: 'bob@example.com' };
  const OTHER = { to: 'attacker@evil.example' };
  const send = (input: unknown, callId = 'c', tool = 'send') => request(input, callId, tool);
  const card = (agentId = ''): EventInit => ({
    case: 'message',
    value: {
      key: 'approval:c',
      agentId,
      content: {
        type: 'action_card',
        title: 'Approve? Sending to Bob',
        description: '',
        actions: [{ id: 'approve', label: 'Approve', style: 'primary' }],
      },
    },
  });

  async function play(events: EventInit[], onSuspend?: TestReplyOptions['onSuspend']) {
    const [mail, other] = [sendingTool(), sendingTool({ name: 'delete' })];
    const offered = [mail.tool, other.tool];
    const test = createTestReply({
      offered,
      asked: ['send', 'delete'],
      ...(onSuspend === undefined ? {} : { onSuspend }),
    });
    await test.play(entry(1), ...events, done('ok'));
    return { sent: [...mail.sent, ...other.sent].map(({ to }) => to), told: test.told };
  }

  it.each<[string, EventInit[]]>([
    ['requests a call without an approval', [send(OTHER)]],
    ['requests many calls', Array.from({ length: 60 }, (_, n) => send(OTHER, `c${n}`))],
    ['shows a card that looks like an approval', [card(), send(OTHER)]],
    ['repeats a request', [send(OTHER), send(OTHER), send(OTHER)]],
    ['sends arguments that are not JSON', [send('{"to":')]],
    ['sends arguments for the prototype', [send('{"__proto__":{"to":"a"}}')]],
    ['sends huge arguments', [send({ to: 'x'.repeat(5_000_000) })]],
    [
      'reports that it has sent a call',
      [{ case: 'tool', value: { callId: 'c', tool: 'send', state: ToolState.COMPLETED } }],
    ],
    [
      'reports that it has read nothing',
      [{ case: 'entry', value: { number: 2, kind: EntryKind.RESULT, body: '{"untrusted":false}' } }, send(OTHER)],
    ],
  ])('invariant 12: has no effect if it %s', async (_what, events) => {
    const { sent, told } = await play(events);
    expect([sent, told.refusals]).toEqual([[], []]);
  });

  it.each<[string, EventInit]>([
    ['requests a tool that it was not offered', send(OTHER, 'c', 'transfer')],
    ['requests a tool by the name of a property', send(OTHER, 'c', '__proto__')],
    ['chooses an id that cannot be stored', send(OTHER, 'c\u0000')],
    ['chooses an id that is too long', send(OTHER, 'c'.repeat(1_000))],
  ])('invariant 12: has no effect, and its turn ends, if it %s', async (_what, event) => {
    const { sent, told } = await play([event]);
    expect([sent, told.ended]).toEqual([[], 'runtime_output_invalid']);
  });

  it.each<[string, EventInit[]]>([
    ['what the user approved', []],
    ['no other arguments', [send(OTHER)]],
    ['with no other tool', [send(TO_BOB, 'c', 'delete')]],
    ['no other call', [send(OTHER, 'd')]],
    ['nothing again', [send(TO_BOB), send(TO_BOB)]],
  ])('invariant 5: sends %s', async (_what, events) => {
    const { sent } = await play([send(TO_BOB), waiting, ...events], decide('approved'));
    expect(sent).toEqual([TO_BOB.to]);
  });
});

describe('the events of a call', () => {
  const delegate = defineTaskTool({
    name: 'delegate',
    description: 'Gives a task.',
    switchedBy: 'memories',
    input: z.object({}),
    describe: () => 'A task',
    task: async () => async () => 1,
  });
  const known = (outcome: StoredCall['outcome']) => new Map([['c', { isDelegated: false, outcome }]]);
  const running = { tool: 'count', running: true };
  const ended = (failed: boolean) => ({ tool: 'count', running: false, failed });

  it.each<[string, TestReplyOptions, unknown, boolean]>([
    ['is executed', {}, { by: 1 }, false],
    ['has arguments that are not valid', {}, { by: 'x' }, true],
    ['the user has turned off', { permission: () => 'deny' }, { by: 1 }, true],
    ['needs an approval but cannot be executed', { permission: () => 'ask' }, { by: 'x' }, true],
    [
      'another process or agent has executed',
      { calls: known({ text: 'x', failed: false, showsMessage: false }) },
      { by: 1 },
      false,
    ],
  ])('are its start, then its end, for a call that %s', async (_what, options, input, failed) => {
    const { shown, play } = counting(options);
    await play(request(input));
    expect(shown.tools).toEqual([running, ended(failed)]);
  });

  it('are its start while another agent works on its task', async () => {
    const { shown, play } = createTestReply({ offered: [delegate] });
    await play(request({}, 'c', 'delegate'));
    expect(shown.tools).toEqual([{ tool: 'delegate', running: true }]);
  });

  it('are its end alone when another agent has ended its task', async () => {
    const calls = known({ text: 'x', failed: false, showsMessage: true });
    const { shown, play } = createTestReply({ offered: [delegate], calls });
    await play(request({}, 'c', 'delegate'));
    expect(shown.tools).toEqual([{ tool: 'delegate', running: false, failed: false }]);
  });

  it('are none while it waits for the user', async () => {
    const { shown, play } = counting({ permission: () => 'ask' });
    await play(request({ by: 1 }));
    expect(shown.tools).toEqual([]);
  });
});
