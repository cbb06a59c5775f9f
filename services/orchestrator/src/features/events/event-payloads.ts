import type { BusEnvelope } from '@uswarm/contract';
import type { Database } from '../../database/database.js';
import { conversationView } from '../conversations/conversation-view.js';
import type { ConversationStore } from '../conversations/conversations.store.js';
import { errorOf, messageView, type MessageRow, type CreateViewContext } from '../messages/message-view.js';
import type { MessageStore } from '../messages/messages.store.js';
import { workspaceView } from '../workspaces/workspace-view.js';
import type { WorkspaceStore } from '../workspaces/workspaces.store.js';
import type { StoredEvent } from './events.store.js';

export interface EventPayloadDeps {
  messages: Pick<MessageStore, 'find'>;
  conversations: Pick<ConversationStore, 'findAll'>;
  workspaces: Pick<WorkspaceStore, 'findAll'>;
  createViewContext: CreateViewContext;
}

/** Renders stored events with the current state of their subjects. Events of deleted subjects are omitted. */
export type RenderEvents = (events: readonly StoredEvent[], db: Database) => Promise<BusEnvelope[]>;

const MESSAGE_EVENTS = new Set(['message.new', 'message.updated', 'message.done']);
const CONVERSATION_EVENTS = new Set(['conversation.new', 'conversation.updated']);

/** Runs at most three statements, regardless of the number of events. */
export function createEventRenderer({
  messages,
  conversations,
  workspaces,
  createViewContext,
}: EventPayloadDeps): RenderEvents {
  return async (events, db) => {
    const subjects = (types: (type: string) => boolean): string[] => [
      ...new Set(events.filter(({ type }) => types(type)).map(({ subjectId }) => subjectId)),
    ];
    // Sequential: the queries share the connection of a transaction.
    const messageRows = byId(
      await messages.find(
        subjects((type) => MESSAGE_EVENTS.has(type)),
        db,
      ),
      ({ id }) => id,
    );
    const conversationRows = byId(
      await conversations.findAll(
        subjects((type) => CONVERSATION_EVENTS.has(type)),
        db,
      ),
      ({ own_id }) => own_id,
    );
    const workspaceRows = byId(
      await workspaces.findAll(
        subjects((type) => type === 'workspace.updated'),
        db,
      ),
      ({ id }) => id,
    );
    const viewContext = createViewContext();
    return events.flatMap((event): BusEnvelope[] => {
      const header = { v: 1, kind: 'durable', workspace_id: event.workspaceId, seq: event.seq } as const;
      const base = { workspace_id: event.workspaceId, seq: event.seq };
      switch (event.type) {
        case 'message.new':
        case 'message.updated': {
          const row = messageRows.get(event.subjectId);
          if (row === undefined) return [];
          return [{ ...header, event: event.type, payload: { ...base, message: messageView(row, viewContext) } }];
        }
        case 'message.done': {
          const row = messageRows.get(event.subjectId);
          return row === undefined ? [] : [{ ...header, event: event.type, payload: { ...base, ...donePayload(row) } }];
        }
        case 'message.deleted': {
          const { conversationId, subjectId: message_id } = event;
          if (conversationId === null || conversationId === undefined) return [];
          const payload = { ...base, conversation_id: conversationId, message_id };
          return [{ ...header, event: event.type, payload }];
        }
        case 'conversation.new':
        case 'conversation.updated': {
          const row = conversationRows.get(event.subjectId);
          if (row === undefined) return [];
          return [
            { ...header, event: event.type, payload: { ...base, conversation: conversationView(row, viewContext) } },
          ];
        }
        case 'workspace.updated': {
          const row = workspaceRows.get(event.subjectId);
          if (row === undefined) return [];
          return [
            { ...header, event: event.type, payload: { ...base, workspace: workspaceView(row, viewContext.now) } },
          ];
        }
        case 'conversation.deleted':
          return [{ ...header, event: event.type, payload: { ...base, conversation_id: event.subjectId } }];
      }
    });
  };
}

function byId<Row>(rows: readonly Row[], id: (row: Row) => string): Map<string, Row> {
  return new Map(rows.map((row) => [id(row), row]));
}

/** RT-010 */
function donePayload(row: MessageRow) {
  const failed = row.status === 'failed' || row.status === 'incomplete';
  return {
    message_id: row.id,
    conversation_id: row.conversation_id,
    agent_id: row.agent_id ?? '',
    status: failed ? ('failed' as const) : ('delivered' as const),
    error: errorOf(row),
  };
}
