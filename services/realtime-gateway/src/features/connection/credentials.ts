import type { IncomingHttpHeaders } from 'node:http';
import { type AuthenticateBody, CREDENTIAL_HEADERS } from '@uswarm/contract';
import type { z } from 'zod';

export type Credentials = z.output<typeof AuthenticateBody>['credentials'];

/**
 * Collects what authenticates a client: headers of the handshake, or entries of its `auth` object
 * under the same lower-case names, which win, because browsers cannot set headers on a WebSocket.
 * Everything else, and what is not text, is left out. spec: orchestrator §5
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
