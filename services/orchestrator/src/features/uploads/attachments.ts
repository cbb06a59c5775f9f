import { ApiError, type Attachment } from '@uswarm/contract';
import type { Transaction } from '../../database/database.js';
import type { UploadLinks } from './upload-links.js';
import type { UploadRow, UploadStore } from './uploads.store.js';

/** An attachment as a message stores it: its link is made when it is shown, never stored. */
export type StoredAttachment = Omit<Attachment, 'url'>;

export interface AttachmentsDeps {
  store: Pick<UploadStore, 'holdStored' | 'attach'>;
  links: Pick<UploadLinks, 'url'>;
}

/** What messages need of uploads. */
export interface Attachments {
  /**
   * The named uploads, each once and in the order asked for. None of them is removed until the
   * transaction ends, by when the message has it.
   * @throws ApiError `attachment_invalid` where one is not an upload of this user
   */
  resolve(userId: string, uploadIds: readonly string[], tx: Transaction): Promise<StoredAttachment[]>;
  /** Ties resolved uploads to a message that was inserted, in the same transaction. */
  attach(messageId: string, attachments: readonly StoredAttachment[], tx: Transaction): Promise<void>;
  /** As clients see it: with a link that works for 15 minutes from now. */
  render(attachment: StoredAttachment): Attachment;
}

export function createAttachments({ store, links }: AttachmentsDeps): Attachments {
  return {
    async resolve(userId, uploadIds, tx) {
      const ids = [...new Set(uploadIds)];
      if (ids.length === 0) return [];
      const rows = new Map((await store.holdStored(userId, ids, tx)).map((row) => [row.id, row]));
      return ids.map((id) => {
        const row = rows.get(id);
        if (row === undefined) throw new ApiError('attachment_invalid');
        return storedAttachment(row);
      });
    },

    async attach(messageId, attachments, tx) {
      if (attachments.length > 0)
        await store.attach(
          messageId,
          attachments.map(({ id }) => id),
          tx,
        );
    },

    render: (attachment) => renderAttachment(attachment, links),
  };
}

export function storedAttachment({ id, type, name, size, mime_type }: UploadRow): StoredAttachment {
  return { id, type, name, size, mime_type, duration: null };
}

/** spec: orchestrator §2.10 */
export function renderAttachment(attachment: StoredAttachment, links: Pick<UploadLinks, 'url'>): Attachment {
  return { ...attachment, url: links.url(attachment.id) };
}
