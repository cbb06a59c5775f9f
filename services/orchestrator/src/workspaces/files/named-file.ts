import { isId } from '../../platform/database/id.js';
import type { StoredFile } from '../../turns/request/message-to-text.js';

export interface AttachedFiles {
  fileById: (conversationId: string, id: string) => Promise<StoredFile | undefined>;
  /** Newest message first. */
  newest: (conversationId: string) => Promise<StoredFile[]>;
}

const LISTED = 20;

/** Finds an attached file by its id or name. @returns or which files there are */
export async function fileNamed(
  { fileById, newest }: AttachedFiles,
  conversationId: string,
  name: string,
): Promise<StoredFile | string> {
  const wanted = name.replace(/^id\s+/i, '').toLowerCase();
  const known = isId(wanted) ? await fileById(conversationId, wanted) : undefined;
  if (known !== undefined) return known;
  const attached = await newest(conversationId);
  const found = attached.find((file) => file.name.toLowerCase() === wanted);
  if (found !== undefined) return found;
  if (attached.length === 0) return 'No file is attached to this conversation.';
  const names = attached.slice(0, LISTED).map((file) => `${file.name} (id ${file.id})`);
  return `No attached file has this id or name. There are: ${names.join(', ')}.`;
}
