import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { parseJson } from '@uswarm/service-kit';

/** What one user asked of the API server, as the server itself wrote it down. */
export interface Requests {
  /** By what was written: `userswarms`, `userswarms/status`, `deployments`, `events`, … */
  writes: Map<string, number>;
  /** Gets and lists; watches are not counted. */
  reads: number;
  /** Requests that the server did not carry out. */
  refused: number;
}

export interface AuditLog {
  /** Where it ends now. */
  mark(): Promise<number>;
  /** The requests that the controller of this run sent after the mark. */
  since(mark: number): Promise<Requests>;
}

interface AuditEvent {
  stage?: string;
  verb?: string;
  impersonatedUser?: { username?: string };
  objectRef?: { resource?: string; subresource?: string };
  responseStatus?: { code?: number };
}

const READS: ReadonlySet<unknown> = new Set(['get', 'list']);

/** @param user whom the requests were sent as, by impersonation */
export function readAuditLog(file: string, user: string): AuditLog {
  return {
    mark: async () => (await stat(file)).size,
    async since(start) {
      const requests: Requests = { writes: new Map(), reads: 0, refused: 0 };
      for await (const line of createInterface({ input: createReadStream(file, { start }) })) {
        // Most lines are about others.
        if (line.includes(user)) count(requests, parseJson(line) as AuditEvent | undefined, user);
      }
      return requests;
    },
  };
}

function count(requests: Requests, event: AuditEvent | undefined, user: string): void {
  if (event?.stage !== 'ResponseComplete' || event.impersonatedUser?.username !== user) return;
  const { verb, objectRef: { resource = '', subresource } = {}, responseStatus: { code = 0 } = {} } = event;
  if (verb === 'watch') return;
  if (code >= 400) requests.refused += 1;
  if (READS.has(verb)) {
    requests.reads += 1;
    return;
  }
  const target = subresource === undefined ? resource : `${resource}/${subresource}`;
  requests.writes.set(target, (requests.writes.get(target) ?? 0) + 1);
}
