import { createClient } from '@redis/client';
import { createRedisBus, type EventBus } from '@uswarm/event-bus';
import { type CloseStack, silentLogger } from '@uswarm/service-kit';
import { monotonicMs } from '../turns/observations.js';
import { PROBE } from './clients/commands.js';
import type { RealtimeWorld } from './realtime-world.js';

/** Publishes an event to a workspace's sockets, with the present time. */
export type PublishProbe = (workspaceId: string) => void;

/** An event without a position, as a running tool has. */
export const probeEnvelope = (
  workspace_id: string,
  epoch: string,
  query: string,
): Parameters<EventBus['publish']>[0] => ({
  v: 2,
  kind: 'ephemeral',
  workspace_id,
  epoch,
  after_seq: 0,
  event: PROBE,
  at: new Date().toISOString(),
  payload: { workspace_id, tool: 'probe', status: 'running', query },
});

/** As an orchestrator publishes an event that is not stored. */
export function createProbes({ valkey, epoch }: RealtimeWorld, stack: CloseStack): PublishProbe {
  const bus = createRedisBus({ url: valkey.url, logger: silentLogger });
  stack.defer('bus', () => bus.close());
  return (workspace_id) => {
    void bus.publish(probeEnvelope(workspace_id, epoch(), String(monotonicMs())));
  };
}

/** Publishes to a bare server's rooms. */
export type PublishToPeer = (room: string, event: string, payload: unknown) => Promise<number>;

export async function createPeerPublisher(redisUrl: string, stack: CloseStack): Promise<PublishToPeer> {
  const redis = createClient({ url: redisUrl });
  await redis.connect();
  stack.defer('publisher', () => redis.close());
  return (room, event, payload) => redis.publish('peers', JSON.stringify({ room, event, payload }));
}
