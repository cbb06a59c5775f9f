import { expect, it } from '@jest/globals';
import { systemClock } from '@uswarm/service-kit';
import type { Database } from '../platform/database/database.js';
import { createSubscriptionService } from './subscriptions.service.js';

const idOf = (index: number): string => `01890000-0000-7000-8000-${String(index).padStart(12, '0')}`;

it('clients that subscribe while others are read share three statements, and each gets its own workspaces', async () => {
  const reads: string[] = [];
  const signals: string[] = [];
  const service = createSubscriptionService({
    async readHeads(workspaceIds) {
      reads.push('heads');
      const heads = workspaceIds.map((workspaceId) => ({
        workspaceId,
        ownerId: `owner of ${workspaceId}`,
        lastSeq: 7,
      }));
      return { epoch: 'e', heads };
    },
    async agentStates() {
      reads.push('agents');
      return [];
    },
    async streams() {
      reads.push('streams');
      return { streams: [], turnIds: [`turn ${reads.length}`] };
    },
    turnSignals: { send: (signal, turnId) => void signals.push(`${signal} ${turnId}`) },
    database: {} as Database,
    clock: systemClock,
  });
  const ids = Array.from({ length: 60 }, (_, index) => idOf(index));
  const answers = await Promise.all(ids.map((id) => service.subscriptions(`owner of ${id}`, [id, idOf(99)])));
  expect(answers.map(({ accepted }) => accepted.map(({ workspace_id }) => workspace_id))).toEqual(
    ids.map((id) => [id]),
  );
  expect(answers.map(({ rejected }) => rejected.map(({ workspace_id }) => workspace_id))).toEqual(
    ids.map(() => [idOf(99)]),
  );
  // The first client alone, and all others together.
  const statements = ['heads', 'agents', 'streams'];
  expect(reads).toEqual([...statements, ...statements]);
  // Unsaved texts are complete when the clients ask again.
  expect(signals).toEqual(['text turn 3', 'text turn 6']);
});
