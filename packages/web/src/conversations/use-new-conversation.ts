import { useState } from 'react';
import { useLocation } from 'wouter';
import { pages } from '../session/pages.js';
import { useClient } from '../session/use-client.js';
import { notifyError } from '../ui/notify.js';
import { awaitConversation } from './use-listed.js';

/** Creates a conversation with the whole swarm, sends the first question if given, and opens it. */
export function useNewConversation(workspaceId: string) {
  const client = useClient();
  const [, go] = useLocation();
  const [isBusy, setBusy] = useState(false);
  async function create(text?: string): Promise<void> {
    setBusy(true);
    // The shown conversation must not receive what is typed meanwhile.
    const shown = document.getElementById('main');
    shown?.toggleAttribute('inert', true);
    try {
      const { data } = await client.api.post('/v1/workspaces/{workspaceId}/conversations', {
        path: { workspaceId },
        body: { type: 'swarm' },
      });
      awaitConversation(data.id);
      if (text !== undefined)
        client
          .workspace(workspaceId)
          .conversation(data.id)
          .send({ text })
          .catch(() => undefined);
      go(pages.conversation(workspaceId, data.id));
    } catch (error) {
      notifyError('The conversation was not created')(error);
    }
    shown?.removeAttribute('inert');
    setBusy(false);
  }
  return { create, isBusy };
}
