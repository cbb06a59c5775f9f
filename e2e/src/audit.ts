import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createInterface } from 'node:readline';

/** One request as the API server wrote it down: who did what to which object, never with what. */
export interface AuditedRequest {
  user: string;
  verb: string;
  /** `userswarms`, `deployments`; a subresource after a slash. */
  resource: string;
  namespace: string | undefined;
  name: string | undefined;
  /** HTTP status of the answer. */
  status: number;
}

/** A place in the log: what was answered before stands before it. */
export type AuditMark = number;

export interface AuditLog {
  mark(): Promise<AuditMark>;
  /** The writes that were answered since; refused ones too. */
  writesSince(mark: AuditMark): Promise<AuditedRequest[]>;
}

interface AuditEvent {
  stage: string;
  verb: string;
  user: { username: string };
  objectRef?: { resource: string; subresource?: string; namespace?: string; name?: string };
  responseStatus?: { code?: number };
}

const WRITES: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);

/** Of the file that the API server appends a line to before it ends an answer. */
export function openAuditLog(file: string): AuditLog {
  return {
    mark: async () => (await stat(file)).size,
    async writesSince(mark) {
      const { size } = await stat(file);
      const writes: AuditedRequest[] = [];
      if (size === mark) return writes;
      const lines = createInterface({ input: createReadStream(file, { start: mark, end: size - 1 }) });
      for await (const line of lines) {
        const event = parseEvent(line);
        if (event?.stage === 'ResponseComplete' && WRITES.has(event.verb)) writes.push(requestOf(event));
      }
      return writes;
    },
  };
}

/** The first line may have been begun, and the last one may not be finished. */
function parseEvent(line: string): AuditEvent | undefined {
  try {
    return JSON.parse(line) as AuditEvent;
  } catch {
    return undefined;
  }
}

function requestOf({ objectRef, responseStatus, user, verb }: AuditEvent): AuditedRequest {
  const { name, namespace, resource = '', subresource } = objectRef ?? {};
  return {
    user: user.username,
    verb,
    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
    namespace,
    name,
    status: responseStatus?.code ?? 0,
  };
}

/** For people. */
export const showRequest = ({ name, namespace, resource, status, user, verb }: AuditedRequest): string =>
  `${user} ${verb} ${resource} ${[namespace, name].filter((part) => part !== undefined).join('/')} ${status}`;
