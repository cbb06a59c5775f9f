import { describe, expect, it } from '@jest/globals';
import type { ModelCallUsage } from '@uswarm/contract';
import { silentLogger } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { startProviderServer, streamed } from '../test/provider-server.js';
import { startTestGateway } from '../test/test-gateway.js';
import { GatewayError } from './gateway-error.js';
import { createSettlements, REFUSED } from './settlements.js';

const CHAT = { model: 'flash', messages: [{ role: 'user', content: 'Hello' }] };

describe('a reservation without an answer', () => {
  it('is removed in the background, also if the orchestrator is still unavailable then', async () => {
    const settled = new Map<string, ModelCallUsage>();
    let failures = 1;
    let lost = 0;
    const settlements = createSettlements({
      calls: {
        async settle(id, usage) {
          failures -= 1;
          if (failures >= 0) throw new Error('down');
          settled.set(id, usage);
        },
      },
      logger: silentLogger,
      onLost: () => void (lost += 1),
      releaseMs: 1,
    });
    settlements.release('call');
    expect(settlements.pending()).toBe(1);
    await eventually(() => settlements.pending(), { until: (pending) => pending === 0 });
    expect({ settled: [...settled], lost }).toEqual({ settled: [['call', REFUSED]], lost: 0 });
  });

  it('is removed at the latest at shutdown, and the call is not sent', async () => {
    const ids: string[] = [];
    const provider = await startProviderServer(() => streamed());
    const gateway = await startTestGateway({
      provider: provider.url,
      onReserve(call) {
        ids.push(call.id);
        throw new GatewayError('orchestrator_unavailable', 'No.', { outcomeUnknown: true });
      },
    });
    expect((await gateway.openai(CHAT)).status).toBe(503);
    await gateway.close();
    await provider.close();
    expect({ sent: provider.requests, ids: ids.length }).toEqual({ sent: [], ids: 1 });
    expect([...gateway.settled]).toEqual([[ids[0], REFUSED]]);
  });

  it.each(['token_limit_reached', 'orchestrator_unavailable'] as const)(
    'is not removed if it was certainly not stored: %s',
    async (code) => {
      const provider = await startProviderServer(() => streamed());
      const gateway = await startTestGateway({
        provider: provider.url,
        onReserve() {
          throw new GatewayError(code, 'No.');
        },
      });
      expect((await gateway.openai(CHAT)).ok).toBe(false);
      await gateway.close();
      await provider.close();
      expect(gateway.settled.size).toBe(0);
    },
  );
});
