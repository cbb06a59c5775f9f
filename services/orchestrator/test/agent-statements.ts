import type { Database } from '../src/platform/database/database.js';
import { findAgentSettings, changeAgentSettings, setAgentTool } from '../src/records/agent-settings.store.js';
import {
  lockAgents,
  deriveStatuses,
  setWriting,
  listEndedStatuses,
  findNextStatusEnd,
} from '../src/records/agent-status.store.js';
import { listMembers, findAgent, findAgentDetails, isAgentOwnedBy } from '../src/records/agents.store.js';
import {
  listMemories,
  rankMemories,
  readMemories,
  lockMemories,
  putMemory,
  findMemoryScope,
  findMemoryOfUser,
  editMemory,
  permitMemory,
  deleteMemory,
  foldMemoriesAgain,
} from '../src/records/memories.store.js';
import { setTurnActivity } from '../src/records/turn-rows.js';

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
    ['the agents of a workspace', (database) => listMembers(database, place().workspaceId)],
    ['one agent', (database) => findAgent(database, place().userId, place().agentId)],
    ['the details of an agent', (database) => findAgentDetails(database, place().userId, place().agentId)],
    ['the owner of an agent', (database) => isAgentOwnedBy(database, place().agentId, place().userId)],
    ['the settings of an agent', (database) => findAgentSettings(database, place().userId, place().agentId)],
    [
      'a change of settings',
      (database) => changeAgentSettings(database, place().userId, place().agentId, { model: 'opus' }),
    ],
    [
      'the change of a tool setting',
      (database) =>
        setAgentTool(database, place().userId, place().agentId, 'x', {
          enabled: true,
          permission: null,
        }),
    ],
    ['the memories of an agent', (database) => listMemories(database, place().agentId, undefined)],
    [
      'the memories in the context of an agent',
      async (database) => {
        await rankMemories(database, place().agentId, ['which tea?']);
        await readMemories(database, place().agentId, ['k']);
      },
    ],
    ['the lock of memories', (database) => lockMemories(database, place().userId, place().agentId)],
    [
      'a write of a memory',
      (database) =>
        putMemory(
          database,
          place().agentId,
          { key: 'k', content: 'x', category: 'core', scope: 'workspace' },
          { turnId: place().messageId },
          500,
        ),
    ],
    [
      'an edit of a memory',
      async (database) => {
        await findMemoryScope(database, place().agentId, { key: 'k', category: 'core' });
        await findMemoryOfUser(database, place().agentId, { key: 'k', scope: 'workspace' });
        await editMemory(database, place().agentId, 'k', { content: 'y', scope: 'agent' }, 500);
      },
    ],
    [
      'a memory that may be saved again',
      (database) => permitMemory(database, place().agentId, { key: 'k', content: 'x', scope: 'workspace' }),
    ],
    [
      'the status of an agent',
      async (database) => {
        await setTurnActivity(database, place().messageId, 'thinking');
        await lockAgents(database, { agentId: place().agentId });
        await deriveStatuses(database, { agentId: place().agentId });
      },
    ],
    ['the status of an agent that writes', (database) => setWriting(database, jobOf(place().messageId))],
    [
      'the statuses of the agents of a workspace',
      async (database) => {
        await lockAgents(database, { workspaceId: place().workspaceId });
        await deriveStatuses(database, { workspaceId: place().workspaceId });
      },
    ],
    [
      'the statuses that have ended',
      async (database) => {
        await listEndedStatuses(database, 100);
        await findNextStatusEnd(database);
      },
    ],
    ['the deletion of a memory', (database) => deleteMemory(database, place().userId, place().agentId, 'k')],
    ['the backfill of the search in memories', (database) => foldMemoriesAgain(database, place().agentId)],
  ];
}
