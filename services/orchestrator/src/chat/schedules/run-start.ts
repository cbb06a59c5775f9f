import { randomUUIDv7 } from 'node:crypto';
import { ApiError } from '@uswarm/contract';
import { sql } from 'kysely';
import type { Database, Transaction } from '../../platform/database/database.js';
import { findManager, isAgentDeleted } from '../../records/agents.store.js';
import { hasOpenApprovals } from '../../records/approvals.store.js';
import { insertConversation } from '../../records/conversation-rows.js';
import type { EventLog } from '../../records/event-log.js';
import { setOrigin } from '../../records/message-rows.js';
import {
  closeDeadRuns,
  findScheduleOwner,
  type RunnableRow,
  setRunMessage,
  setScheduleConversation,
} from '../../records/schedule-rows.js';
import { assignRun } from '../../records/turn-rows.js';
import type { StoredAttachment } from '../../workspaces/uploads/attachments.js';
import { countConversations } from '../conversations.store.js';
import type { UserMessages } from '../user-messages.js';

export interface RunStartDeps {
  events: Pick<EventLog, 'append'>;
  messages: Pick<UserMessages, 'store'>;
  /** Maximum number of conversations per workspace. */
  conversationsPerWorkspace: number;
}

/** Begins the runs that schedules and triggers have. */
export interface RunStart {
  /** True if a run has not ended, or a card waits in its conversation, which a message would withdraw. */
  isBusy(runnable: RunnableRow, db: Database): Promise<boolean>;
  /**
   * Sends the prompt as the user would. The run is stored, and the workspace is locked.
   *
   * @throws ApiError as sending a message, and if user or agent cannot run it
   */
  begin(
    runnable: RunnableRow,
    runId: string,
    tx: Transaction,
    attachments?: readonly StoredAttachment[],
  ): Promise<void>;
}

/** The reason is for the user. Errors of the server are retried instead. */
export const reasonOf = (error: unknown): string | undefined =>
  error instanceof ApiError && error.status < 500 ? error.code : undefined;

export function createRunStart({ events, messages, conversationsPerWorkspace }: RunStartDeps): RunStart {
  async function conversationOf(runnable: RunnableRow, tx: Transaction): Promise<string> {
    const { workspace_id: workspaceId, agent_id: agentId, title } = runnable;
    if (runnable.conversation_id !== null) return runnable.conversation_id;
    const id = randomUUIDv7();
    const rev = await events.append({ workspaceId, type: 'conversation.new', subjectId: id }, tx);
    if ((await countConversations(tx, workspaceId)) >= conversationsPerWorkspace)
      throw new ApiError('conversation_limit_reached');
    const isManager = (await findManager(tx, workspaceId)) === agentId;
    const partner = isManager ? ({ type: 'swarm', agentId: null } as const) : ({ type: 'agent', agentId } as const);
    await insertConversation(tx, { id, workspaceId, ...partner, title, rev });
    await setScheduleConversation(tx, runnable.id, id);
    return id;
  }

  return {
    async isBusy({ id, conversation_id: conversationId }, db) {
      if (await closeDeadRuns(db, id)) return true;
      if (conversationId === null) return false;
      const { rows } = await sql<{ open: boolean }>`
        SELECT ${hasOpenApprovals(sql`${conversationId}`)} AS open`.execute(db);
      return rows[0]?.open === true;
    },

    async begin(runnable, runId, tx, attachments = []) {
      const { id, workspace_id: workspaceId, agent_id: agentId, prompt: text, token_limit: budget } = runnable;
      const owner = await findScheduleOwner(tx, workspaceId);
      if (owner === undefined) throw new ApiError('workspace_not_found');
      if (owner.isBanned) throw new ApiError('user_banned');
      if (await isAgentDeleted(tx, agentId)) throw new ApiError('agent_deleted');
      const conversationId = await conversationOf(runnable, tx);
      const message = { workspaceId, conversationId, userId: owner.userId, agentIds: [agentId], text, attachments };
      const { id: messageId } = await messages.store(message, tx);
      await setOrigin(tx, messageId, runnable.secret_hash === null ? { schedule_id: id } : { trigger_id: id });
      await assignRun(tx, messageId, { runId, budget });
      await setRunMessage(tx, runId, messageId);
    },
  };
}
