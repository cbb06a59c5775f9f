import { UswarmError } from '@uswarm/client';
import type { Session } from '../session/session.js';

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
