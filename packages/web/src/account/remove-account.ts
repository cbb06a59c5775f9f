import { UswarmError } from '@uswarm/client';
import type { Session } from '../session/session.js';

/** Of a deletion, for users. */
export const CONSEQUENCES = [
  'All workspaces, conversations, documents, files and memories are deleted. They cannot be restored.',
  'Replies that agents are writing end. Apps are disconnected, and their access is revoked.',
  'Receipts and exports are deleted too. Export your data first if you want to keep it.',
  'You are signed out on all devices. You can sign up again, and then begin with nothing.',
];

/** Deletes the account, and forgets what this browser has of it. */
export async function removeAccount({ client, signOut }: Session): Promise<void> {
  try {
    await client.api.delete('/v1/auth/delete', { body: {} });
  } catch (error) {
    if (error instanceof UswarmError && error.code === 'reauthentication_required')
      throw new Error('Sign out and in again first: your sign-in is too old for this.', { cause: error });
    throw error;
  }
  await signOut();
}
