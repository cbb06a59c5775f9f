import { UswarmError } from '@uswarm/client';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { pages } from '../session/pages.js';
import { useClient } from '../session/use-client.js';
import { notify, notifyError } from '../ui/notify.js';

export function useCreate() {
  const client = useClient();
  const [, go] = useLocation();
  const [name, setName] = useState('');
  const [isBusy, setBusy] = useState(false);
  async function create(): Promise<void> {
    setBusy(true);
    try {
      const { data } = await client.api.post('/v1/workspaces', { body: { name: name.trim() } });
      go(pages.workspace(data.id));
    } catch (error) {
      if (error instanceof UswarmError && error.code === 'workspace_limit_reached')
        notify({
          title: 'You have all workspaces of your plan',
          description: 'Delete one, or use another.',
          kind: 'error',
        });
      else notifyError('The workspace was not created')(error);
    }
    setBusy(false);
  }
  return { name, setName, isBusy, create: (): void => void create() };
}
