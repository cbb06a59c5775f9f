import type { IncomingMessage } from 'node:http';

export interface AdmissionDeps {
  /** Origins whose pages may connect; `*` is every origin, and so is an empty list. */
  corsOrigins: readonly string[];
  /** Whether new connections are welcome at all. */
  accepting: () => boolean;
  /** Whether as many handshakes wait as may. */
  overloaded: () => boolean;
  /** Whether the address of the caller has as many unauthenticated connections as allowed. */
  full: (request: IncomingMessage) => boolean;
  /** A further check by the application that mounts the gateway. */
  admit: (request: IncomingMessage) => boolean;
}

/** Why a connection is refused. */
export const REFUSALS = {
  shutting_down: 'shutting down',
  not_admitted: 'not admitted',
  origin: 'origin not allowed',
  overloaded: 'overloaded',
  address: 'too many connections of this address',
} as const;
export type RefusalReason = keyof typeof REFUSALS;

/** @returns why the connection is refused, or `undefined`. Runs before anything is kept for it. */
export type Admission = (request: IncomingMessage) => RefusalReason | undefined;

export function createAdmission({ corsOrigins, accepting, overloaded, full, admit }: AdmissionDeps): Admission {
  const allowed = new Set(corsOrigins);
  const anyOrigin = allowed.size === 0 || allowed.has('*');
  return (request) => {
    if (!accepting()) return 'shutting_down';
    if (!admit(request)) return 'not_admitted';
    // Browsers always send an Origin. Some apps send that of the server; they are known by their credentials alone.
    const { origin, host } = request.headers;
    if (origin !== undefined && !anyOrigin && !allowed.has(origin) && !isOwn(origin, host)) return 'origin';
    if (overloaded()) return 'overloaded';
    if (full(request)) return 'address';
    return undefined;
  };
}

/** Whether a page of this very host asks. */
const isOwn = (origin: string, host: string | undefined): boolean =>
  host !== undefined && URL.parse(origin)?.host === host;
