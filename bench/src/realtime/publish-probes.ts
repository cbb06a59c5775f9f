import { createClient } from '@redis/client';
import { createRedisBus } from '@uswarm/event-bus';
import { type CloseStack, silentLogger } from '@uswarm/service-kit';
import { monotonicMs } from '../turns/observations.js';
import { PROBE } from './clients/commands.js';

/** Publishes an event to a workspace's sockets, with the present time. */
export type PublishProbe = (workspaceId: string) => void;

/** As an orchestrator publishes an event that is not stored. */
export function createProbes(redisUrl: string, stack: CloseStack): PublishProbe {
  const bus = createRedisBus({ url: redisUrl, logger: silentLogger });
  stack.defer('bus', () => bus.close());
  return (workspace_id) => {
    const payload = { workspace_id, tool: 'probe', status: 'running', query: String(monotonicMs()) };
    const at = new Date().toISOString();
    void bus.publish({ v: 2, kind: 'ephemeral', workspace_id, epoch: '', after_seq: 0, event: PROBE, at, payload });
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
