import type { Latency } from '../load/percentiles.js';
import { atMost } from '../report/goals.js';
import { startDeliveryWorld } from './delivery-world.js';
import { measureDeliveries } from './measure-deliveries.js';
import type { RealtimePart } from './part.js';

const FULL = { perSecond: 300, seconds: 10, warmUpSeconds: 3 };
const SMALL = { perSecond: 50, seconds: 1, warmUpSeconds: 1 };

const row = (name: string, { p50, p95, p99, max }: Latency): string[] => [
  name,
  ...[p50, p95, p99, max].map((ms) => `${ms.toFixed(1)} ms`),
];

/** Delivers messages between a user's two sockets at different gateways. */
export const deliveryPart: RealtimePart = {
  name: 'delivery',
  title: `Messages between sockets at two gateways, ${FULL.perSecond} per second`,
  async measure({ folder, small, stack }) {
    const settings = small ? SMALL : FULL;
    const { ack, delivered, cpuMs } = await measureDeliveries(await startDeliveryWorld(folder, stack), settings);
    return {
      heads: ['from sending', 'p50', 'p95', 'p99', 'max'],
      rows: [
        row('to message.send.ack', ack),
        row('to message.new at the other gateway', delivered),
        ...Object.entries(cpuMs).map(([name, ms]) => [`CPU per message, ${name}`, `${ms.toFixed(2)} ms`, '', '', '']),
      ],
      goals: [
        atMost('send → ack, p99', ack.p99, 30, 'ms'),
        atMost('send → message.new at another gateway, p99', delivered.p99, 75, 'ms'),
      ],
      figures: { ...settings, ack, delivered, cpuMs },
    };
  },
};
