import { createHash, randomUUIDv7 } from 'node:crypto';
import { ApiError } from '@uswarm/contract';
import type { Transaction } from '../../platform/database/database.js';
import { keyOf } from '../../records/content-objects.js';
import type { EventLog } from '../../records/event-log.js';
import type { SafeMarkdown } from '../../turns/content/reply-text.js';
import { failed } from '../../turns/tools/outcomes.js';
import type { ToolCall, ToolOutcome } from '../../turns/tools/platform-tool.js';
import type { Attachments } from '../uploads/attachments.js';
import { attachmentType } from '../uploads/file-kind.js';
import type { UploadRow } from '../uploads/uploads.store.js';

export interface GivenFilesDeps {
  /** Stores a file of the user once. @throws ApiError */
  store(userId: string, upload: UploadRow, bytes: Uint8Array): Promise<void>;
  attachments: Pick<Attachments, 'resolve' | 'attach'>;
  events: Pick<EventLog, 'addMessage' | 'append'>;
  markdown: Pick<SafeMarkdown, 'text'>;
}

export interface GivenFile {
  /** Sanitized. */
  name: string;
  /** Media type. */
  type: string;
  bytes: Uint8Array;
}

/** Only errors that the user can remedy, by code. */
const REFUSALS: Readonly<Record<string, string>> = {
  upload_quota_exceeded: "The user's storage is full. Ask the user to delete messages with files.",
  upload_limit_reached: 'The user has too many files. Ask the user to delete messages with files.',
};

export type GivenFiles = ReturnType<typeof createGivenFiles>;

/** Gives the user files that an agent's call has written. */
export function createGivenFiles({ store, attachments, events, markdown }: GivenFilesDeps) {
  return {
    /** Before the call's transaction. @returns why the user cannot have them */
    async store(files: readonly GivenFile[], call: ToolCall): Promise<UploadRow[] | ToolOutcome> {
      const uploads = files.map((file) => ({ upload: uploadOf(idOf(file, call), file), bytes: file.bytes }));
      try {
        for (const { upload, bytes } of uploads) await store(call.userId, upload, bytes);
      } catch (error) {
        const refusal = error instanceof ApiError ? REFUSALS[error.code] : undefined;
        if (refusal === undefined) throw error;
        return failed(refusal);
      }
      return uploads.map(({ upload }) => upload);
    },
    /** Adds one message with all files. */
    async show(uploads: readonly UploadRow[], call: ToolCall, tx: Transaction): Promise<readonly UploadRow[]> {
      const { userId, workspaceId, conversationId, agentId, turnId } = call;
      const stored = await attachments.resolve(
        userId,
        uploads.map(({ id: upload }) => upload),
        tx,
      );
      const id = randomUUIDv7();
      await events.addMessage(
        {
          id,
          workspaceId,
          conversationId,
          agentId,
          role: 'agent',
          // A client that expects no attachment here shows at least the names.
          content: { type: 'text', text: markdown.text(uploads.map(({ name }) => name).join(', ')) },
          attachments: stored,
          status: 'delivered',
          turn: { id: turnId, key: `platform:file:${call.id}` },
        },
        tx,
      );
      await attachments.attach(id, stored, tx);
      // Clients wait for the end of each text that an agent writes.
      await events.append({ workspaceId, type: 'message.done', subjectId: id, conversationId }, tx);
      return uploads;
    },
  };
}

/** A repeated call has the same id, and one with other content another. */
const idOf = ({ name, type, bytes }: GivenFile, { turnId, id }: ToolCall): string =>
  keyOf([turnId, id, name, type], createHash('sha256').update(bytes).digest('hex'));

export const uploadOf = (id: string, { name, type, bytes }: GivenFile): UploadRow => ({
  id,
  name,
  type: attachmentType(type),
  mime_type: type,
  size: bytes.length,
  duration: null,
  width: null,
  height: null,
});
