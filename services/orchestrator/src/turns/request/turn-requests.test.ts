import { Code, ConnectError } from '@connectrpc/connect';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import {
  type Call,
  chunk,
  createTurnHarness,
  done,
  entry,
  failure,
  tool as toolEvent,
} from '../../../test/turn-harness.js';
import type { FoundApproval } from '../../records/approvals.store.js';
import {
  defineExternalTool,
  definePlatformTool,
  type Plan,
  type PlatformTool,
  UncertainOutcome,
} from '../tools/platform-tool.js';

const FEATURES = ['journal.1', 'tools.1'];
const wanted = (callId: string, tool = 'count', input = '{"by":1}') =>
  ({ case: 'request', value: { callId, tool, arguments: input } }) as const;

function counter(prepare?: () => void) {
  const counted = { total: 0 };
  const tool: PlatformTool = definePlatformTool({
    name: 'count',
    description: 'Counts.',
    effect: 'own',
    switchedBy: 'memories',
    input: z.object({ by: z.number() }),
    describe: ({ by }) => `Counting ${by}`,
    prepare({ by }) {
      prepare?.();
      return async () => ({ text: `total ${(counted.total += by)}`, failed: false });
    },
  });
  return { counted, tool };
}

async function play(
  script: Call[],
  more: { tool: PlatformTool } & Omit<Parameters<typeof createTurnHarness>[1], 'tools'>,
) {
  const { tool, ...rest } = more;
  const harness = createTurnHarness(script, { features: FEATURES, platformTools: [tool], ...rest });
  await harness.run();
  return harness;
}

describe('a tool request of a runtime', () => {
  it('is executed, and its outcome is returned with the commit', async () => {
    const { counted, tool } = counter();
    const { recorded } = await play([{ events: [entry(1), wanted('a'), done('ok')] }], { tool });
    expect({ total: counted.total, resolutions: recorded.resolutions, commits: recorded.commits }).toEqual({
      total: 1,
      resolutions: ['a: total 1'],
      commits: [2],
    });
  });

  it('invariant 4: is executed once if the runtime is lost and its next generation requests it again', async () => {
    const { counted, tool } = counter();
    const lost = failure(Code.NotFound);
    const { recorded } = await play(
      [{ events: [entry(1), wanted('a')] }, lost, { events: [wanted('a'), done('ok')] }],
      { tool },
    );
    expect(counted.total).toBe(1);
    expect(recorded.resolutions).toEqual(['a: total 1', 'a: total 1']);
  });

  it('invariant 4: is not executed after another replica has taken over the turn', async () => {
    let holds = true;
    const { counted, tool } = counter(() => void (holds = false));
    const { recorded } = await play([{ events: [entry(1), wanted('a'), done('ok')] }], { tool, holds: () => holds });
    expect({ total: counted.total, resolutions: recorded.resolutions, ended: recorded.ended }).toEqual({
      total: 0,
      resolutions: [],
      ended: undefined,
    });
  });

  it('is answered with the next request if its outcome was not delivered', async () => {
    const { tool } = counter();
    const { recorded } = await play([{ events: [wanted('a')] }, { events: [done('ok')] }], {
      tool,
      onAdvance: () => {
        throw new ConnectError('', Code.Unavailable);
      },
    });
    expect(recorded.requests[1]).toMatchObject({ fromEvent: 1n, resolutions: [{ callId: 'a', text: 'total 1' }] });
  });

  it.each([
    ['invalid arguments', wanted('a', 'count', '{"by":"x"}'), /^a: count: by: /],
    ['arguments that are not JSON', wanted('a', 'count', 'x'), /^a: count: /],
  ])('fails with %s, without an effect', async (_what, request, text) => {
    const { counted, tool } = counter();
    const { recorded } = await play([{ events: [request, done('ok')] }], { tool });
    expect(counted.total).toBe(0);
    expect(recorded.resolutions).toEqual([expect.stringMatching(text)]);
  });

  it('fails without an effect if its preparation fails, and the turn continues', async () => {
    const { tool } = counter(() => {
      throw new Error('no storage');
    });
    const harness = await play([{ events: [wanted('a'), done('ok')] }], { tool });
    expect(harness.recorded.resolutions).toEqual([expect.stringContaining('is not available at the moment')]);
    expect(harness.reply()?.text).toBe('ok');
  });

  it('ends the turn if the runtime was not offered the tool', async () => {
    const { tool } = counter();
    const { recorded } = await play([{ events: [wanted('a', 'other')] }], { tool });
    expect(recorded.ended).toEqual({ status: 'failed', errorCode: 'runtime_output_invalid' });
  });
});

describe('a tool request that needs the approval of the user', () => {
  const waiting = { case: 'waiting', value: {} } as const;
  const asked = (script: Call[], onSuspend?: Parameters<typeof createTurnHarness>[1]['onSuspend']) => {
    const { counted, tool } = counter();
    const options = { tool, askedTools: ['count'], ...(onSuspend === undefined ? {} : { onSuspend }) };
    return play(script, options).then((harness) => ({ ...harness, counted }));
  };
  const decide = (status: FoundApproval['status']) => (approvals: Map<string, FoundApproval>) =>
    void approvals.forEach((approval) => (approval.status = status));

  it('invariant 5: shows a card with the arguments, ends the reply and frees the runtime, without an effect', async () => {
    const { recorded, counted, reply } = await asked([{ events: [entry(1), wanted('a'), waiting] }]);
    expect(recorded.cards).toEqual(['Approve? Counting 1: by: “1”']);
    expect({ suspended: recorded.suspended, ended: recorded.ended, total: counted.total }).toEqual({
      suspended: true,
      ended: undefined,
      total: 0,
    });
    expect(recorded.stops).toEqual([{ turnId: 't', generation: 1 }]);
    // The card has taken its place.
    expect(reply()).toBeUndefined();
  });

  it('keeps the text before it as the reply', async () => {
    const { reply } = await asked([{ events: [chunk('I will count.'), entry(1), wanted('a'), waiting] }]);
    expect(reply()).toEqual({ text: 'I will count.', status: 'delivered' });
  });

  it.each([' ', '\n\n', '\u200B'])('is shown in place of a reply of which the user sees nothing: %j', async (blank) => {
    const { recorded, reply } = await asked([{ events: [chunk(blank), entry(1), wanted('a'), waiting] }]);
    expect(reply()).toBeUndefined();
    expect(recorded.chunks).toEqual([]);
  });

  it('is followed by another reply if the turn continues without a pause', async () => {
    const script = [{ events: [wanted('a'), waiting, chunk('It is 1.'), done('It is 1.')] }];
    const { recorded, reply } = await asked(script, decide('approved'));
    expect(recorded.cards).toHaveLength(1);
    expect(reply()).toEqual({ text: 'It is 1.', status: 'delivered' });
  });

  it('waits for other calls of the step', async () => {
    const { recorded, reply } = await asked([{ events: [wanted('a'), toolEvent, waiting] }]);
    expect(recorded.suspended).toBe(true);
    // The card has taken its place.
    expect(reply()).toBeUndefined();
  });

  it('asks once per call, also if the request is repeated', async () => {
    const { recorded } = await asked([{ events: [wanted('a')] }, { events: [wanted('b'), wanted('a'), waiting] }]);
    expect(recorded.cards).toHaveLength(2);
  });

  it('invariant 6: fails without a card if its arguments are invalid', async () => {
    const invalid = wanted('a', 'count', '{"by":"x","Checked":"yes"}');
    const { recorded, counted } = await asked([{ events: [invalid, waiting, done('ok')] }]);
    expect({ cards: recorded.cards, total: counted.total }).toEqual({ cards: [], total: 0 });
    expect(recorded.resolutions).toEqual([expect.stringMatching(/^a: count: by: /)]);
  });

  it('is executed without a pause if the user approves it before the reply ends', async () => {
    const { recorded, counted } = await asked([{ events: [wanted('a'), waiting, done('ok')] }], decide('approved'));
    expect({ total: counted.total, resolutions: recorded.resolutions }).toEqual({
      total: 1,
      resolutions: ['a: total 1'],
    });
  });

  it.each(['denied', 'expired', 'superseded'] as const)('invariant 5: has no effect if it is %s', async (status) => {
    const { recorded, counted } = await asked([{ events: [wanted('a'), waiting, done('ok')] }], decide(status));
    expect(counted.total).toBe(0);
    expect(recorded.resolutions).toEqual([expect.stringContaining('Nothing was changed.')]);
  });

  it('invariant 5: ends the turn if the runtime changes the arguments after the card was shown', async () => {
    const changed = wanted('a', 'count', '{"by":1000}');
    const { recorded, counted } = await asked([{ events: [wanted('a'), changed, waiting] }]);
    expect({ ended: recorded.ended, total: counted.total }).toEqual({
      ended: { status: 'failed', errorCode: 'runtime_output_invalid' },
      total: 0,
    });
  });
});

describe('a tool request that changes another system', () => {
  const waiting = { case: 'waiting', value: {} } as const;
  /** A tool that executes requests without answering. */
  function outside(plan: Plan = { key: 'k' }) {
    const sent: unknown[] = [];
    const tool = defineExternalTool({
      name: 'send',
      description: 'Sends.',
      effect: 'once',
      switchedBy: 'gmail',
      input: z.object({ to: z.string() }),
      describe: ({ to }) => `Sending to ${to}`,
      plan: async () => plan,
      async send(input) {
        sent.push(input);
        throw new UncertainOutcome();
      },
      lookUp: async () => undefined,
    });
    return { sent, tool };
  }
  const send = (to: string) => wanted('a', 'send', JSON.stringify({ to }));

  it('invariant 4: is not sent again, and its outcome is the same for each generation', async () => {
    const { sent, tool } = outside();
    const { recorded } = await play(
      [{ events: [entry(1), send('bob')] }, failure(Code.NotFound), { events: [send('bob'), done('ok')] }],
      { tool },
    );
    expect(sent).toEqual([{ to: 'bob' }]);
    expect(recorded.resolutions).toEqual([
      expect.stringContaining('not known whether'),
      expect.stringContaining('not known whether'),
    ]);
  });

  it.each([
    { mayRepeat: true, cards: ['Approve? Sending to bob: to: “bob”'], sent: [] },
    { mayRepeat: false, cards: [], sent: [{ to: 'bob' }] },
  ])(
    'shows a card although it is allowed, if an earlier reply to the message sent calls: $mayRepeat',
    async (expected) => {
      const { sent, tool } = outside();
      const script = [{ events: [entry(1), send('bob'), waiting, done('ok')] }];
      const { recorded } = await play(script, { tool, mayRepeat: expected.mayRepeat });
      expect({ sent, cards: recorded.cards }).toEqual({ sent: expected.sent, cards: expected.cards });
    },
  );

  it('shows no card if it cannot be executed', async () => {
    const { sent, tool } = outside({ outcome: { text: 'no such mail', failed: true } });
    const { recorded } = await play([{ events: [send('bob'), waiting, done('ok')] }], { tool, askedTools: ['send'] });
    expect({ sent, cards: recorded.cards, resolutions: recorded.resolutions }).toEqual({
      sent: [],
      cards: [],
      resolutions: ['a: no such mail'],
    });
  });
});
