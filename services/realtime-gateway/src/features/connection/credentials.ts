import type { IncomingHttpHeaders } from 'node:http';
import { type AuthenticateBody, CREDENTIAL_HEADERS } from '@uswarm/contract';
import type { z } from 'zod';

export type Credentials = z.output<typeof AuthenticateBody>['credentials'];

/**
 * Reads the credential headers of the handshake. Entries in its `auth` object with the same lower-case names take
 * precedence, because browsers cannot set headers on a WebSocket. Other names and values that are not strings are
 * ignored.
 */
export function readCredentials(headers: IncomingHttpHeaders, auth: unknown): Credentials {
  const entries =
    typeof auth === 'object' && auth !== null ? new Map<string, unknown>(Object.entries(auth)) : new Map();
  const credentials: Credentials = {};
  for (const name of CREDENTIAL_HEADERS) {
    const value = [entries.get(name), headers[name]].find((text) => typeof text === 'string' && text !== '');
    if (value !== undefined) credentials[name] = value;
  }
  return credentials;
}
