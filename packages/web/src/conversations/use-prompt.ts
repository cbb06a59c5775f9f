import { useState } from 'react';
import { useAgents, useClient } from '../session/use-client.js';
import { notifyError } from '../ui/notify.js';
import type { Prompt } from './prompts.js';
import { useNewConversation } from './use-new-conversation.js';

export function usePrompt(workspaceId: string) {
  const client = useClient();
  const agents = useAgents(workspaceId);
  const { create, isBusy } = useNewConversation(workspaceId);
  const [isPreparing, setPreparing] = useState(false);
  async function begin({ text, prepare }: Prompt): Promise<void> {
    setPreparing(true);
    const manager = agents.find(({ slug }) => slug === 'manager');
    try {
      if (manager !== undefined) await prepare?.(client, manager.id);
      await create(text);
    } catch (error) {
      notifyError('The setting could not be changed')(error);
    }
    setPreparing(false);
  }
  return { begin, create, isBusy: isBusy || isPreparing };
}
