import { describe, expect, it } from '@jest/globals';
import { silentLogger } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { createDuePoll } from './due-poll.js';

/** A worker that records how it is polled. */
function recorder(polled: string[], kind: string) {
  return [kind, { poll: (isForwarded?: boolean) => void polled.push(`${kind} ${String(isForwarded)}`) }] as const;
}

describe('createDuePoll', () => {
  it('asks for all job types together, and polls the workers of those that are due', async () => {
    const [asked, polled]: [string[][], string[]] = [[], []];
    const loop = createDuePoll({
      store: { dueKinds: async (kinds) => (asked.push([...kinds]), asked.length === 3 ? ['b'] : []) },
      workers: new Map([recorder(polled, 'a'), recorder(polled, 'b'), recorder(polled, 'c')]),
      pollMs: 1,
      logger: silentLogger,
    });
    await eventually(() => asked.length, { until: (count) => count >= 4 });
    await loop.close();
    expect(new Set(asked.map(String))).toEqual(new Set(['a,b,c']));
    expect(polled).toEqual(['b true']);
  });

  it('sends no statement without a worker', async () => {
    let asked = 0;
    const loop = createDuePoll({
      store: { dueKinds: async () => ((asked += 1), []) },
      workers: new Map(),
      pollMs: 1,
      logger: silentLogger,
    });
    await loop.close();
    expect(asked).toBe(0);
  });
});
