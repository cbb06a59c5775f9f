import type { SentReceipt } from '../src/turns/receipts/receipts.store.js';
import type { TurnWorkerDeps } from '../src/turns/worker.js';

export function createMemoryReceipts(): TurnWorkerDeps['receipts'] {
  const receipts = new Map<string, SentReceipt>();
  return {
    find: async (_turn, callId) => receipts.get(callId),
    count: async () => receipts.size,
    insert: async ({ call, key, argumentsHash }) =>
      void receipts.set(call.id, {
        status: 'sent',
        key,
        argumentsHash,
        outcome: null,
        integrationId: call.integrationId ?? null,
      }),
    ofConversation: async () => [],
    recordOwn: async () => undefined,
    finish: async (_turn, callId, end) => void Object.assign(receipts.get(callId) ?? {}, end),
    leave: async () => [...receipts].filter(([, { status }]) => status === 'sent').map(([callId]) => callId),
  };
}
