import { ApiError, type Attachment, LIMITS } from '@uswarm/contract';
import type { Transaction } from '../../platform/database/database.js';
import type { UploadLinks } from './upload-links.js';
import { type UploadRow, holdStoredUploads, attachUploads } from './uploads.store.js';

/** Messages store attachments without a link: links are created on each read. */
export type StoredAttachment = Omit<Attachment, 'url'>;

export interface AttachmentsDeps {
  links: Pick<UploadLinks, 'url'>;
}

export interface Attachments {
  /**
   * Returns the uploads in the given order without duplicates, and locks them against deletion until the transaction
   * ends.
   *
   * @throws ApiError `attachment_invalid` if one is not an upload of this user
   */
  resolve(userId: string, uploadIds: readonly string[], tx: Transaction): Promise<StoredAttachment[]>;
  /** Links resolved uploads to an inserted message, in the transaction that resolved them. */
  attach(messageId: string, attachments: readonly StoredAttachment[], tx: Transaction): Promise<void>;
  /** Adds a link that expires after 15 to 30 minutes. */
  render(attachment: StoredAttachment): Attachment;
}

export function createAttachments({ links }: AttachmentsDeps): Attachments {
  return {
    async resolve(userId, uploadIds, tx) {
      const ids = [...new Set(uploadIds)];
      if (ids.length === 0) return [];
      const rows = new Map((await holdStoredUploads(tx, userId, ids)).map((row) => [row.id, row]));
      return ids.map((id) => {
        const row = rows.get(id);
        if (row === undefined) throw new ApiError('attachment_invalid');
        return storedAttachment(row);
      });
    },

    async attach(messageId, attachments, tx) {
      if (attachments.length > 0)
        await attachUploads(
          tx,
          messageId,
          attachments.map(({ id }) => id),
        );
    },

    render: (attachment) => renderAttachment(attachment, links),
  };
}

export function storedAttachment(row: UploadRow): StoredAttachment {
  const { id, type, name, size, mime_type, duration, width, height, transcript = null } = row;
  const stored = { id, type, name, size, mime_type, duration, width, height };
  return transcript === null ? stored : { ...stored, transcript: transcriptPreview(transcript) };
}

/** The part of a transcript that messages show. */
export const transcriptPreview = (transcript: string): string => [...transcript].slice(0, LIMITS.transcript).join('');

// RES-060
export function renderAttachment(attachment: StoredAttachment, links: Pick<UploadLinks, 'url'>): Attachment {
  // Messages stored by earlier releases have no size.
  const { width = null, height = null, transcript = null } = attachment;
  return { ...attachment, width, height, transcript, url: links.url(attachment.id) };
}
