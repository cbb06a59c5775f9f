import type { Database } from '../src/platform/database/database.js';
import { createEventLog } from '../src/records/event-log.js';
import { withoutAfterCommit } from './transaction.js';

interface Place {
  workspaceId: string;
  conversationId: string;
  messageId: string;
}

export function eventStatements(place: () => Place): [string, (database: Database) => Promise<unknown>][] {
  return [
    [
      'the insertion of a message with its event',
      async (database) => {
        const { workspaceId, conversationId } = place();
        const content = { type: 'text', text: 'hi' } as const;
        const message = {
          id: crypto.randomUUID(),
          workspaceId,
          conversationId,
          role: 'agent',
          content,
          status: 'pending',
        } as const;
        await createEventLog(database).addMessage(message, withoutAfterCommit(database));
      },
    ],
    [
      'a message in place of a reply, with its event',
      async (database) => {
        const { workspaceId, conversationId } = place();
        const content = { type: 'text', text: 'hi' } as const;
        const id = crypto.randomUUID();
        const message = { id, workspaceId, conversationId, content, turn: { id: place().messageId, key: id } };
        await createEventLog(database).placeMessage(message, withoutAfterCommit(database));
      },
    ],
    [
      'the change of a message with its events',
      async (database) => {
        const { workspaceId, messageId: id } = place();
        const changed = {
          workspaceId,
          id,
          change: { status: 'read' },
          from: ['sent'],
          types: ['message.updated'],
        } as const;
        await createEventLog(database).changeMessage(changed, withoutAfterCommit(database));
      },
    ],
    [
      'the append of an event',
      (database) =>
        createEventLog(database).append(
          { workspaceId: place().workspaceId, type: 'message.updated', subjectId: place().messageId },
          withoutAfterCommit(database),
        ),
    ],
  ];
}
