import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { type Call, createTurnHarness, done, entry, stopped } from '../../../test/turn-harness.js';
import { NOW } from '../../../test/turn-rows.js';
import type { FoundApproval } from '../../records/approvals.store.js';
import { defineExternalTool, definePlatformTool, type PlatformTool } from '../tools/platform-tool.js';

type Options = Parameters<typeof createTurnHarness>[1];

const wanted = (callId: string, tool = 'move', input = '{"to":5}') =>
  ({ case: 'request', value: { callId, tool, arguments: input } }) as const;
const waiting = { case: 'waiting', value: {} } as const;

/** The tool changes a versioned event in another system. */
function calendar() {
  const event = { version: 1, down: false };
  const sent: string[] = [];
  const tool = defineExternalTool({
    name: 'move',
    description: 'Moves an event.',
    effect: 'keyed',
    switchedBy: 'google_calendar',
    provider: 'google_calendar',
    input: z.object({ to: z.number() }),
    describe: ({ to }) => `Moving the event to ${to}`,
    async plan() {
      if (event.down) throw new Error('unavailable');
      return { key: `version ${event.version}` };
    },
    async send(_input, key) {
      sent.push(key);
      return { text: 'moved', failed: false };
    },
    lookUp: async () => undefined,
  });
  return { event, sent, tool };
}

function counter() {
  const counted = { total: 0 };
  const tool = definePlatformTool({
    name: 'count',
    description: 'Counts.',
    effect: 'own',
    switchedBy: 'memories',
    input: z.object({ by: z.number() }),
    describe: ({ by }) => `Counting ${by}`,
    prepare:
      ({ by }) =>
      async () => ({ text: `total ${(counted.total += by)}`, failed: false }),
  });
  return { counted, tool };
}

const turnOf = (tool: PlatformTool, script: Call[], options: Options = {}) =>
  createTurnHarness(script, {
    features: ['journal.1', 'tools.1'],
    platformTools: [tool],
    askedTools: [tool.name],
    ...options,
  });
const decideAll = (status: FoundApproval['status'], decidedAt: Date | null = null) =>
  ({
    onSuspend: (approvals: Map<string, FoundApproval>) =>
      approvals.forEach((approval) => Object.assign(approval, { status, decidedAt })),
  }) satisfies Options;
const ASKED: Call[] = [{ events: [entry(1), wanted('m'), waiting, done('ok')] }];

describe('an approved call', () => {
  it('is sent with the version that the card was rendered for', async () => {
    const { event, sent, tool } = calendar();
    const approve = decideAll('approved');
    const onSuspend: Options['onSuspend'] = (approvals) => {
      event.version = 2;
      approve.onSuspend(approvals);
    };
    await turnOf(tool, ASKED, { onSuspend }).run();
    expect(sent).toEqual(['version 1']);
  });

  it('is not sent if the user has connected another account since the card', async () => {
    const { sent, tool } = calendar();
    const accounts = ['first', 'second'];
    const { recorded, run } = turnOf(tool, ASKED, {
      ...decideAll('approved'),
      connection: () => accounts.shift() ?? 'second',
    });
    await run();
    expect(sent).toEqual([]);
    expect(recorded.resolutions).toEqual([expect.stringContaining('another account')]);
  });

  it('is not sent if the user approved it too long ago', async () => {
    const { sent, tool } = calendar();
    const { recorded, run } = turnOf(tool, ASKED, decideAll('outdated'));
    await run();
    expect(sent).toEqual([]);
    expect(recorded.resolutions).toEqual([expect.stringContaining('too long ago')]);
  });

  it('is not sent if the user has turned the tool off in the meantime', async () => {
    const { sent, tool } = calendar();
    const permissions = ['ask', 'deny'] as const;
    let asked = 0;
    const { recorded, run } = turnOf(tool, ASKED, {
      ...decideAll('approved'),
      permission: () => permissions[Math.min((asked += 1), 2) - 1]!,
    });
    await run();
    expect(sent).toEqual([]);
    expect(recorded.resolutions).toEqual([expect.stringContaining('turned this tool off')]);
  });

  it('tells the model when the user approved it, because the turn can be a day old', async () => {
    const { tool } = calendar();
    const { recorded, run } = turnOf(tool, ASKED, decideAll('approved', NOW));
    await run();
    expect(recorded.resolutions).toEqual([`m: moved\nThe user approved this call at ${NOW.toISOString()}.`]);
  });

  it('is not executed again if another orchestrator attaches, although the runtime no longer has its arguments', async () => {
    const { counted, tool } = counter();
    const abort = new AbortController();
    const dies = (): never => {
      abort.abort();
      throw new Error('the process ends');
    };
    const request = wanted('a', 'count', '{"by":1}');
    const released = wanted('a', 'count', '');
    const { recorded, run } = turnOf(
      tool,
      [
        { events: [entry(1), request, waiting, entry(2)], atTheEnd: dies },
        { events: [entry(1), released, waiting, entry(2), done('ok')] },
      ],
      decideAll('approved'),
    );
    await run({}, abort.signal).catch(() => undefined);
    await run();
    expect(counted.total).toBe(1);
    expect(recorded.ended).toEqual({ status: 'done', errorCode: null });
    expect(recorded.resolutions).toEqual(['a: total 1', 'a: total 1']);
  });
});

describe('a call that needs an approval', () => {
  it('has the decision of the user as its outcome, also if its app is unavailable', async () => {
    const { event, tool } = calendar();
    const deny = decideAll('denied');
    const onSuspend: Options['onSuspend'] = (approvals) => {
      event.down = true;
      deny.onSuspend(approvals);
    };
    const { recorded, run } = turnOf(tool, ASKED, { onSuspend });
    await run();
    expect(recorded.resolutions).toEqual([expect.stringContaining('The user denied this call')]);
  });

  it('is asked about if the user requires it since the turn began', async () => {
    const { sent, tool } = calendar();
    const { recorded, run } = turnOf(tool, [{ events: [entry(1), wanted('m'), waiting] }], {
      askedTools: [],
      permission: () => 'ask',
    });
    await run();
    expect({ sent, suspended: recorded.suspended, cards: recorded.cards.length }).toEqual({
      sent: [],
      suspended: true,
      cards: 1,
    });
  });

  it('suspends the turn although a call that the user decided on is not requested again', async () => {
    const { tool } = counter();
    const abort = new AbortController();
    const dies = (): never => {
      abort.abort();
      throw new Error('the process ends');
    };
    const [a, b] = [wanted('a', 'count', '{"by":1}'), wanted('b', 'count', '{"by":2}')];
    let suspensions = 0;
    const { recorded, run } = turnOf(tool, [{ events: [entry(1), a, b], atTheEnd: dies }, { events: [b, waiting] }], {
      onSuspend(approvals) {
        suspensions += 1;
        Object.assign(approvals.get('a') ?? {}, { status: 'approved' });
      },
    });
    await run({}, abort.signal).catch(() => undefined);
    await run();
    expect({ suspended: recorded.suspended, suspensions }).toEqual({ suspended: true, suspensions: 1 });
  });

  it('waits once if the runtime requests it twice', async () => {
    const { tool } = counter();
    const request = wanted('a', 'count', '{"by":1}');
    const { recorded, run } = turnOf(tool, [{ events: [entry(1), request, request, waiting] }]);
    await run();
    expect({ suspended: recorded.suspended, cards: recorded.cards.length }).toEqual({ suspended: true, cards: 1 });
  });
});

describe('a call of a turn that the user stopped', () => {
  const turn = {
    status: 'running',
    reply_message_id: 'r',
    runtime_instance: 'i',
    stop_requested: true,
    started_at: NOW,
  } as const;
  const STOPPED = [expect.stringContaining('This reply was stopped. Nothing was changed.')];

  it('is not sent by a worker that takes over the turn', async () => {
    const { sent, tool } = calendar();
    const { recorded, run } = turnOf(tool, [{ events: [entry(1), wanted('m'), stopped] }], { askedTools: [], turn });
    await run();
    expect(sent).toEqual([]);
    expect(recorded.resolutions).toEqual(STOPPED);
  });

  it('does not change our data either', async () => {
    const { counted, tool } = counter();
    const request = wanted('a', 'count', '{"by":1}');
    const { recorded, run } = turnOf(tool, [{ events: [entry(1), request, stopped] }], { askedTools: [], turn });
    await run();
    expect(counted.total).toBe(0);
    expect(recorded.resolutions).toEqual(STOPPED);
  });
});

it('a turn sends at most 20 calls to other systems', async () => {
  const { sent, tool } = calendar();
  const calls = Array.from({ length: 22 }, (_, index) => wanted(`m${index}`));
  const { recorded, run } = turnOf(tool, [{ events: [entry(1), ...calls, done('ok')] }], { askedTools: [] });
  await run();
  expect(sent).toHaveLength(20);
  expect(recorded.resolutions.slice(20)).toEqual([
    expect.stringContaining('too many calls'),
    expect.stringContaining('too many calls'),
  ]);
});
