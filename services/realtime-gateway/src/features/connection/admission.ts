import type { IncomingMessage } from 'node:http';

export interface AdmissionDeps {
  /** Origins that browsers may connect from; empty lets every origin in. */
  allowedOrigins: readonly string[];
  /** Whether new connections are welcome at all. */
  accepting: () => boolean;
  /** Whether as many handshakes wait as may. */
  overloaded: () => boolean;
  /** A further check of whoever mounts the gateway. */
  admit: (request: IncomingMessage) => boolean;
}

/** @returns why the connection is refused, or `undefined`. Runs before anything is kept for it. */
export type Admission = (request: IncomingMessage) => string | undefined;

export function createAdmission({ allowedOrigins, accepting, overloaded, admit }: AdmissionDeps): Admission {
  const allowed = new Set(allowedOrigins);
  return (request) => {
    if (!accepting()) return 'shutting down';
    if (!admit(request)) return 'not admitted';
    // Only browsers send an Origin; apps are known by their credentials alone.
    const { origin } = request.headers;
    if (origin !== undefined && allowed.size > 0 && !allowed.has(origin)) return 'origin not allowed';
    if (overloaded()) return 'overloaded';
    return undefined;
  };
}
