import { useState } from 'react';
import { useClient } from '../session/use-client.js';
import { notifyError } from '../ui/notify.js';
import { usePlace } from './chat.js';

export function useRegenerate(id: string) {
  const client = useClient();
  const { workspaceId } = usePlace();
  const [isBusy, setBusy] = useState(false);
  async function repeat(): Promise<void> {
    setBusy(true);
    const path = { workspaceId, id };
    await client.api
      .post('/v1/workspaces/{workspaceId}/messages/{id}/regenerate', { path })
      .catch(notifyError('The answer could not be repeated'));
    setBusy(false);
  }
  return { isBusy, repeat };
}
