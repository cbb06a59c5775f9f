import type { Database } from '../platform/database/database.js';
import { conversationView } from '../chat/conversation-view.js';
import { findConversations } from '../chat/conversations.store.js';
import {
  type ChangedMessageRow,
  errorOf,
  messageView,
  type MessageRow,
  type CreateViewContext,
} from '../chat/message-view.js';
import { findChangedMessages } from '../records/messages.store.js';
import { answerFields } from '../records/answers.js';
import { workspaceView } from '../workspaces/workspace-view.js';
import { findWorkspaces } from '../workspaces/workspaces.store.js';
import type { LoggedEvent } from './event-publisher.js';
import type { StoredEvent } from '../records/event-log.js';

export interface EventPayloadDeps {
  createViewContext: CreateViewContext;
}

/** Renders each stored event with its subject's current state, or as a skip if the subject is deleted. */
export type RenderEvents = (events: readonly StoredEvent[], db: Database) => Promise<LoggedEvent[]>;

const MESSAGE_EVENTS = new Set(['message.new', 'message.updated', 'message.done']);
/** Their payloads contain the workspace. */
const WORKSPACE_EVENTS = new Set(['workspace.updated', 'conversation.deleted']);
const CONVERSATION_EVENTS = new Set(['conversation.new', 'conversation.updated']);

/** Runs at most three statements for any number of events. */
export function createEventRenderer({ createViewContext }: EventPayloadDeps): RenderEvents {
  return async (events, db) => {
    const subjects = (types: (type: string) => boolean): string[] => [
      ...new Set(events.filter(({ type }) => types(type)).map(({ subjectId }) => subjectId)),
    ];
    // Sequential: the queries share one transaction's connection.
    const messageRows = byId(
      await findChangedMessages(
        db,
        subjects((type) => MESSAGE_EVENTS.has(type)),
      ),
      ({ id }) => id,
    );
    const conversationRows = byId(
      await findConversations(
        db,
        subjects((type) => CONVERSATION_EVENTS.has(type)),
      ),
      ({ own_id }) => own_id,
    );
    const workspaceRows = byId(
      await findWorkspaces(db, [
        ...new Set(events.filter(({ type }) => WORKSPACE_EVENTS.has(type)).map(({ workspaceId }) => workspaceId)),
      ]),
      ({ id }) => id,
    );
    const viewContext = createViewContext();
    return events.map((event): LoggedEvent => {
      const place = { workspace_id: event.workspaceId, seq: event.seq };
      const at = event.createdAt.toISOString();
      const skip = { kind: 'skip', ...place, at } as const;
      const header = { kind: 'durable', ...place, subject_id: event.subjectId, at } as const;
      // Release 0.2 appends events without `rev`.
      const revOf = (rev: number): number => Math.max(rev, event.seq);
      switch (event.type) {
        case 'message.new':
        case 'message.updated': {
          const row = messageRows.get(event.subjectId);
          if (row === undefined) return skip;
          const rev = revOf(row.rev);
          const message = { ...messageView(row, viewContext), rev };
          return { ...header, rev, event: event.type, payload: { ...place, message, ...changesOf(row, event.seq) } };
        }
        case 'message.done': {
          const row = messageRows.get(event.subjectId);
          return row === undefined
            ? skip
            : {
                ...header,
                rev: revOf(row.rev),
                event: event.type,
                payload: { ...place, ...donePayload(row), ...changesOf(row, event.seq) },
              };
        }
        case 'message.deleted': {
          const { conversationId, subjectId: message_id } = event;
          if (conversationId === null || conversationId === undefined) return skip;
          return { ...header, event: event.type, payload: { ...place, conversation_id: conversationId, message_id } };
        }
        case 'conversation.new':
        case 'conversation.updated': {
          const row = conversationRows.get(event.subjectId);
          if (row === undefined) return skip;
          const rev = revOf(row.conversation_rev);
          const conversation = { ...conversationView(row, viewContext), rev };
          return { ...header, rev, event: event.type, payload: { ...place, conversation } };
        }
        case 'workspace.updated': {
          const row = workspaceRows.get(event.workspaceId);
          if (row === undefined) return skip;
          const rev = revOf(row.rev);
          const workspace = { ...workspaceView(row, viewContext.now), rev };
          return { ...header, rev, event: event.type, payload: { ...place, workspace } };
        }
        case 'conversation.deleted': {
          const row = workspaceRows.get(event.workspaceId);
          const left =
            row === undefined ? {} : { workspace: { ...workspaceView(row, viewContext.now), rev: revOf(row.rev) } };
          return { ...header, event: event.type, payload: { ...place, conversation_id: event.subjectId, ...left } };
        }
      }
    });
  };
}

function byId<Row>(rows: readonly Row[], id: (row: Row) => string): Map<string, Row> {
  return new Map(rows.map((row) => [id(row), row]));
}

/**
 * A message event also changes its conversation and its workspace. The fields can be newer than the event, but the
 * revision is not: other fields that changed since then come with later events.
 */
function changesOf(row: ChangedMessageRow, seq: number) {
  const { conversation_title: title, conversation_unread: unread, workspace_unread: total, answer_ended: ended } = row;
  return {
    conversation: { rev: seq, title, unread_count: unread },
    workspace: { rev: seq, unread_count: total },
    ...(ended === null ? {} : { answer_ended: ended }),
  };
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
    ...answerFields(row.answer_turn_id, row.in_reply_to),
  };
}
