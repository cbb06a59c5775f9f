import type { MessageData } from '@uswarm/client';
import { useSignal } from '@uswarm/client/react';
import { useClient } from '../session/use-client.js';

export interface OpenCard {
  workspaceId: string;
  message: MessageData;
}

/** The cards of all workspaces that wait for the user, oldest first. */
export function useOpenCards(): OpenCard[] {
  return useSignal(useClient().openCards);
}
