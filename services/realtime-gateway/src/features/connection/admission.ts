import type { IncomingMessage } from 'node:http';
import type { RefusalReason } from '../../metrics/labels.js';

export interface AdmissionDeps {
  /** Origins whose pages may connect; `*` or an empty list allows every origin. */
  corsOrigins: readonly string[];
  /** False if the gateway does not accept new connections. */
  accepting: () => boolean;
  /** True if the handshake queue is full. */
  overloaded: () => boolean;
  /** True if the client address has too many unauthenticated connections. */
  full: (request: IncomingMessage) => boolean;
  /** An additional check in the application that mounts the gateway. */
  admit: (request: IncomingMessage) => boolean;
}

/** Runs before any state is created for a connection. @returns the reason for a refusal, or `undefined` */
export type Admission = (request: IncomingMessage) => RefusalReason | undefined;

export function createAdmission({ corsOrigins, accepting, overloaded, full, admit }: AdmissionDeps): Admission {
  const allowed = new Set(corsOrigins);
  const anyOrigin = allowed.size === 0 || allowed.has('*');
  return (request) => {
    if (!accepting()) return 'shutting_down';
    if (!admit(request)) return 'not_admitted';
    // Browsers always send an Origin. Some apps send the server's origin, which is allowed.
    const { origin, host } = request.headers;
    if (origin !== undefined && !anyOrigin && !allowed.has(origin) && !isOwn(origin, host)) return 'origin';
    if (overloaded()) return 'overloaded';
    if (full(request)) return 'address';
    return undefined;
  };
}

/** True if the request comes from a page on the same host. */
const isOwn = (origin: string, host: string | undefined): boolean =>
  host !== undefined && URL.parse(origin)?.host === host;
