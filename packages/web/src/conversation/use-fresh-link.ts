import type { Attachment } from '@uswarm/client';
import type { MouseEvent } from 'react';
import { ownUrl } from '../session/own-url.js';
import { useClient } from '../session/use-client.js';
import { notifyError } from '../ui/notify.js';
import { usePlace } from './chat.js';

/** Links are valid for some minutes, and the page can be open for days. */
export function useFreshLink(messageId: string) {
  const client = useClient();
  const { workspaceId } = usePlace();
  async function openFresh({ id, url }: Attachment): Promise<void> {
    const path = { workspaceId, id: messageId };
    const { data } = await client.api.get('/v1/workspaces/{workspaceId}/messages/{id}', { path });
    window.open(ownUrl(data.attachments.find((one) => one.id === id)?.url ?? url), '_blank', 'noreferrer');
  }
  return (event: MouseEvent, file: Attachment): void => {
    event.preventDefault();
    openFresh(file).catch(notifyError('The file could not be opened'));
  };
}
