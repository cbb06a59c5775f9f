import type { Database } from '../src/platform/database/database.js';
import { createAgentSettingsStore } from '../src/records/agent-settings.store.js';
import { createAgentStatusStore } from '../src/records/agent-status.store.js';
import { createAgentStore } from '../src/records/agents.store.js';
import { createMemoryStore } from '../src/records/memories.store.js';

const jobOf = (turnId: string) => ({
  kind: 'turn',
  subjectId: turnId,
  workspaceId: turnId,
  leaseId: turnId,
  attempts: 1,
  failures: 0,
  takenOver: false,
});

interface Place {
  userId: string;
  workspaceId: string;
  agentId: string;
  messageId: string;
}

export function agentStatements(place: () => Place): [string, (database: Database) => Promise<unknown>][] {
  return [
    ['the agents of a workspace', (database) => createAgentStore(database).members(place().workspaceId)],
    ['one agent', (database) => createAgentStore(database).find(place().userId, place().agentId)],
    ['the details of an agent', (database) => createAgentStore(database).findDetails(place().userId, place().agentId)],
    ['the owner of an agent', (database) => createAgentStore(database).isOwnedBy(place().agentId, place().userId)],
    [
      'the settings of an agent',
      (database) => createAgentSettingsStore(database).find(place().userId, place().agentId),
    ],
    [
      'a change of settings',
      (database) => createAgentSettingsStore(database).update(place().userId, place().agentId, { model: 'opus' }),
    ],
    [
      'the change of a tool setting',
      (database) =>
        createAgentSettingsStore(database).setTool(place().userId, place().agentId, 'x', {
          enabled: true,
          permission: null,
        }),
    ],
    ['the memories of an agent', (database) => createMemoryStore(database).list(place().agentId, undefined)],
    [
      'the memories in the context of an agent',
      async (database) => {
        await createMemoryStore(database).rank(place().agentId, ['which tea?']);
        await createMemoryStore(database).read(place().agentId, ['k']);
      },
    ],
    ['the lock of memories', (database) => createMemoryStore(database).lock(place().userId, place().agentId, database)],
    [
      'a write of a memory',
      (database) =>
        createMemoryStore(database).put(
          place().agentId,
          { key: 'k', content: 'x', category: 'core', scope: 'workspace' },
          { turnId: place().messageId },
          500,
          database,
        ),
    ],
    [
      'an edit of a memory',
      async (database) => {
        const memories = createMemoryStore(database);
        await memories.scopeOf(place().agentId, { key: 'k', category: 'core' }, database);
        await memories.textOfUser(place().agentId, { key: 'k', scope: 'workspace' }, database);
        await memories.edit(place().agentId, 'k', { content: 'y', scope: 'agent' }, 500, database);
      },
    ],
    [
      'a memory that may be saved again',
      (database) =>
        createMemoryStore(database).permit(place().agentId, { key: 'k', content: 'x', scope: 'workspace' }, database),
    ],
    [
      'the status of an agent',
      async (database) => {
        const statuses = createAgentStatusStore(database);
        await statuses.setActivity(place().messageId, 'thinking', database);
        await statuses.lock({ agentId: place().agentId }, database);
        await statuses.derive({ agentId: place().agentId }, database);
      },
    ],
    [
      'the status of an agent that writes',
      (database) => createAgentStatusStore(database).setWriting(jobOf(place().messageId), database),
    ],
    [
      'the statuses of the agents of a workspace',
      async (database) => {
        const statuses = createAgentStatusStore(database);
        await statuses.lock({ workspaceId: place().workspaceId }, database);
        await statuses.derive({ workspaceId: place().workspaceId }, database);
      },
    ],
    [
      'the statuses that have ended',
      async (database) => {
        await createAgentStatusStore(database).ended(100);
        await createAgentStatusStore(database).nextEndMs();
      },
    ],
    [
      'the deletion of a memory',
      (database) => createMemoryStore(database).delete(place().userId, place().agentId, 'k'),
    ],
    [
      'the backfill of the search in memories',
      (database) => createMemoryStore(database).foldAgain(place().agentId, database),
    ],
  ];
}
