import { Code, ConnectError } from '@connectrpc/connect';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { type Call, createTurnHarness, done, entry, failure } from '../../../test/turn-harness.js';
import { definePlatformTool, type PlatformTool } from '../tools/platform-tool.js';

const FEATURES = ['journal.1', 'tools.1'];
const wanted = (callId: string, tool = 'count', input = '{"by":1}') =>
  ({ case: 'request', value: { callId, tool, arguments: input } }) as const;

/** A tool that counts how often it was executed. */
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

async function play(script: Call[], more: { tool: PlatformTool; onAdvance?: (call: number) => void }) {
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

  it('is executed once if the runtime is lost and its next generation requests it again', async () => {
    const { counted, tool } = counter();
    const lost = failure(Code.NotFound);
    const { recorded } = await play(
      [{ events: [entry(1), wanted('a')] }, lost, { events: [wanted('a'), done('ok')] }],
      { tool },
    );
    expect(counted.total).toBe(1);
    expect(recorded.resolutions).toEqual(['a: total 1', 'a: total 1']);
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
