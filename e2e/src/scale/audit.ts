import { type AuditMark, openAuditLog } from '../audit.js';

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
  mark(): Promise<AuditMark>;
  /** The requests that the controller of this run sent after the mark. */
  since(mark: AuditMark): Promise<Requests>;
}

const READS: ReadonlySet<string> = new Set(['get', 'list']);

/** @param user whom the requests were sent as, by impersonation */
export function readAuditLog(file: string, user: string): AuditLog {
  const log = openAuditLog(file);
  return {
    mark: log.mark,
    async since(start) {
      const requests: Requests = { writes: new Map(), reads: 0, refused: 0 };
      for await (const { resource, status, verb, user: sender } of log.since(start)) {
        if (sender !== user || verb === 'watch') continue;
        if (status >= 400) requests.refused += 1;
        if (READS.has(verb)) requests.reads += 1;
        else requests.writes.set(resource, (requests.writes.get(resource) ?? 0) + 1);
      }
      return requests;
    },
  };
}
