import { UswarmError } from '@uswarm/client';

/** By error code. */
const TEXTS: Readonly<Record<string, string>> = {
  user_banned: 'Your account is blocked. Ask the operator of this service.',
  user_deleted: 'This account was deleted.',
  timestamp_out_of_window: 'The clock of this device is wrong. Set it, and try again.',
  sign_up_limit_reached: 'This account was deleted and created again too often. Try again later.',
  network_error: 'The service cannot be reached. Check your connection, and try again.',
};

export function problemOf(error: unknown): string {
  const text = error instanceof UswarmError ? TEXTS[error.code] : undefined;
  return text ?? (error instanceof Error ? error.message : String(error));
}
