import assert from 'node:assert/strict';
import type { BusEnvelope, ServerEventPayload } from '@uswarm/contract';
import { createMemoryBus, type EventBus } from '@uswarm/event-bus';
import { messageNew, WORKSPACE } from './envelopes.js';
import type { TestClient } from './test-client.js';

/** Subscribes a client to the test workspace. */
export async function subscribe(client: TestClient, since?: number | string) {
  const payload = { workspace_ids: [WORKSPACE], ...(since !== undefined && { since: { [WORKSPACE]: since } }) };
  client.socket.emit('workspace.subscribe', payload);
  return client.next('workspace.subscribed');
}

export const messageUpdated = (seq: number): BusEnvelope => ({ ...messageNew(seq), event: 'message.updated' });

/** Received sequences. */
export const seqs = (client: TestClient): number[] =>
  client.events.flatMap(({ payload }) => ('seq' in (payload as object) ? [(payload as { seq: number }).seq] : []));

/** The text that a client has by the documented rule. */
export function textOf(client: TestClient): string {
  let text = '';
  for (const { name, payload } of client.events) {
    if (name !== 'message.chunk') continue;
    const { offset, chunk } = payload as ServerEventPayload<'message.chunk'>;
    assert.ok(offset !== undefined && offset <= text.length, 'the chunk leaves a hole');
    text = text.slice(0, offset) + chunk;
  }
  return text;
}

/** A memory bus that can pretend to have been disconnected. */
export function createReconnectingBus(): EventBus & { reconnect(): void } {
  const listeners = new Set<(workspaceIds: ReadonlySet<string>) => void>();
  return {
    ...createMemoryBus(),
    onReconnect(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    reconnect() {
      for (const listener of listeners) listener(new Set([WORKSPACE]));
    },
  };
}
