import { createHash, randomUUIDv7 } from 'node:crypto';
import { ApiError } from '@uswarm/contract';
import { FILES_TOOL } from '@uswarm/contract/agent-tools';
import { FILE_TYPES, FileNotWritten, type FileType, type FileWriter, type WrittenFile } from '@uswarm/file-writer';
import { z } from 'zod';
import { keyOf } from '../../records/content-objects.js';
import type { EventLog } from '../../records/event-log.js';
import type { SafeMarkdown } from '../../turns/content/reply-text.js';
import { failed, succeeded, withOutcome } from '../../turns/tools/outcomes.js';
import { definePlatformTool, type PlatformTool, type ToolCall } from '../../turns/tools/platform-tool.js';
import type { Attachments } from '../uploads/attachments.js';
import { attachmentType } from '../uploads/file-kind.js';
import { cleanName } from '../uploads/file-names.js';
import type { UploadRow } from '../uploads/uploads.store.js';

export interface FileToolDeps {
  writer: FileWriter;
  /** Stores a file of the user once. @throws ApiError */
  store(userId: string, upload: UploadRow, bytes: Uint8Array): Promise<void>;
  attachments: Pick<Attachments, 'resolve' | 'attach'>;
  events: Pick<EventLog, 'addMessage' | 'append'>;
  markdown: Pick<SafeMarkdown, 'text'>;
}

const TYPES = Object.keys(FILE_TYPES) as [FileType, ...FileType[]];

/** Only errors that the user can remedy, by code. */
const REFUSALS: Readonly<Record<string, string>> = {
  upload_quota_exceeded: "The user's storage is full. Ask the user to delete messages with files.",
  upload_limit_reached: 'The user has too many files. Ask the user to delete messages with files.',
};

/** Lets agents write files. The user gets each as a message with an attachment. */
export function createFileTools({ writer, store, attachments, events, markdown }: FileToolDeps): PlatformTool[] {
  const create = definePlatformTool({
    name: 'create_file',
    description:
      'Writes a file that the user can download, and shows it in the conversation. docx and pdf are written from Markdown ' +
      'with headings, lists, tables, code and links; a line <!-- pagebreak --> begins a page; images are not loaded. xlsx is ' +
      'written from CSV or Markdown tables: a heading before a table names its sheet, numbers like 1234.5 and days like ' +
      '2026-01-31 become numbers and days, and formulas stay text. html cannot run scripts or load anything. Use ' +
      'create_artifact for a document that will change. The user sees the file: do not repeat its content.',
    switchedBy: FILES_TOOL,
    effect: 'own',
    input: z.object({
      name: z.string().min(1).max(200).describe('The name of the file.'),
      type: z.enum(TYPES),
      content: z.string().min(1).describe('The whole content. Markdown for docx and pdf, CSV or Markdown for xlsx.'),
    }),
    describe: ({ name }) => `Writing the file “${cleanName(name)}”`,
    async prepare({ name, type, content }, call) {
      const shown = type === 'docx' || type === 'pdf' || type === 'markdown' ? markdown.text(content) : content;
      const request = { type, name: cleanName(name), content: shown };
      const file = await writer.write(request, { owner: call.userId, signal: call.signal }).catch((error: unknown) => {
        if (error instanceof FileNotWritten) return error;
        throw error;
      });
      if (file instanceof FileNotWritten) return withOutcome(failed(file.message));
      const upload = uploadOf(file, call);
      try {
        await store(call.userId, upload, file.bytes);
      } catch (error) {
        const refusal = error instanceof ApiError ? REFUSALS[error.code] : undefined;
        if (refusal === undefined) throw error;
        return withOutcome(failed(refusal));
      }
      return async (tx) => {
        const stored = await attachments.resolve(call.userId, [upload.id], tx);
        const { workspaceId, conversationId, agentId, turnId } = call;
        const id = randomUUIDv7();
        await events.addMessage(
          {
            id,
            workspaceId,
            conversationId,
            agentId,
            role: 'agent',
            // A client that expects no attachment here shows at least the name.
            content: { type: 'text', text: markdown.text(upload.name) },
            attachments: stored,
            status: 'delivered',
            turn: { id: turnId, key: `platform:file:${call.id}` },
          },
          tx,
        );
        await attachments.attach(id, stored, tx);
        // Clients wait for the end of each text that an agent writes.
        await events.append({ workspaceId, type: 'message.done', subjectId: id, conversationId }, tx);
        const text = [`The user has the file “${upload.name}”, ${upload.size} bytes.`, ...file.notes].join(' ');
        return { ...succeeded(text), showsMessage: true };
      };
    },
  });
  return [create];
}

/** A repeated call has the same id, and one with other content another. */
function uploadOf({ name, type, bytes }: WrittenFile, { turnId, id }: ToolCall): UploadRow {
  return {
    id: keyOf([turnId, id, name, type], createHash('sha256').update(bytes).digest('hex')),
    name: cleanName(name),
    type: attachmentType(type),
    mime_type: type,
    size: bytes.length,
    duration: null,
    width: null,
    height: null,
  };
}
