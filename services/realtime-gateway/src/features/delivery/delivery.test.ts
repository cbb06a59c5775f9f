import { describe, expect, it } from '@jest/globals';
import { Registry, silentLogger } from '@uswarm/service-kit';
import { createGatewayMetrics } from '../../gateway-metrics.js';
import { DEFAULT_SETTINGS } from '../../settings.js';
import { agentTool, chunk, messageDone, messageNew, WORKSPACE } from '../../../test/envelopes.js';
import { createManualTimers } from '../../../test/manual-timers.js';
import { createDelivery } from './delivery.js';

function setUp() {
  const emitted: string[] = [];
  const timers = createManualTimers();
  const registry = new Registry();
  const delivery = createDelivery(WORKSPACE, {
    emit: (event) => void emitted.push(event),
    metrics: createGatewayMetrics(registry),
    logger: silentLogger,
    timers,
    options: DEFAULT_SETTINGS,
  });
  delivery.start(0);
  return { emitted, timers, delivery, metric: (name: string) => registry.getSingleMetricAsString(name) };
}

describe('the delivery', () => {
  it('flushes its buffer after the time limit', () => {
    const { emitted, timers, delivery } = setUp();
    delivery.buffer();
    delivery.push(messageNew(1));
    timers.advance(DEFAULT_SETTINGS.maxBufferMs - 1);
    expect(emitted).toEqual([]);
    timers.advance(1);
    expect(emitted).toEqual(['message.new']);
  });

  it('cancels the timer when the buffer is flushed', () => {
    const { timers, delivery } = setUp();
    delivery.buffer()();
    expect(timers.pending()).toBe(0);
  });

  it('sends no chunk after the end of its message', () => {
    const { emitted, delivery } = setUp();
    for (const envelope of [chunk(0), messageDone(1), chunk(1, { chunk_seq: 2 })]) delivery.push(envelope);
    expect(emitted).toEqual(['message.chunk', 'message.done']);
  });

  it('counts delivered events and skipped gaps', async () => {
    const { timers, delivery, metric } = setUp();
    delivery.push(messageNew(3));
    delivery.push(agentTool(0));
    timers.advance(DEFAULT_SETTINGS.gapTimeoutMs);
    expect(await metric('uswarm_gateway_events_delivered_total')).toContain('{event="message.new"} 1');
    expect(await metric('uswarm_gateway_events_delivered_total')).toContain('{event="agent.tool"} 1');
    expect(await metric('uswarm_gateway_gaps_total')).toMatch(/uswarm_gateway_gaps_total 1$/);
  });
});
