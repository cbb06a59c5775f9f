import type { Attachment } from '@uswarm/client';
import type { MouseEvent } from 'react';
import { ownUrl } from '../session/own-url.js';
import { useClient } from '../session/use-client.js';
import { notifyError } from '../ui/notify.js';
import { usePlace } from './chat.js';

/** Links expire after some minutes, but the page can stay open for days. */
export function useFreshLink(messageId: string) {
  const client = useClient();
  const { workspaceId } = usePlace();
  async function saveFresh({ id, url }: Attachment): Promise<void> {
    const path = { workspaceId, id: messageId };
    const { data } = await client.api.get('/v1/workspaces/{workspaceId}/messages/{id}', { path });
    const fresh = data.attachments.find((one) => one.id === id)?.url ?? url;
    Object.assign(document.createElement('a'), { href: ownUrl(fresh), download: '' }).click();
  }
  return (event: MouseEvent, file: Attachment): void => {
    event.preventDefault();
    saveFresh(file).catch(notifyError('The file could not be saved'));
  };
}
