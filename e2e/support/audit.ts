import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createInterface } from 'node:readline';

/** A request in the audit log at level Metadata: user, verb and object, without bodies. */
export interface AuditedRequest {
  /** The impersonated user, if any. */
  user: string;
  verb: string;
  /** `userswarms`, `deployments`; a subresource after a slash. */
  resource: string;
  namespace: string | undefined;
  name: string | undefined;
  /** HTTP response status. */
  status: number;
}

/** A position in the log, after all earlier responses. */
export type AuditMark = number;

export interface AuditLog {
  mark(): Promise<AuditMark>;
  /** The writes since the position, including rejected ones. */
  writesSince(mark: AuditMark): Promise<AuditedRequest[]>;
  /** All requests of one user since the position, without watches. */
  requestsSince(mark: AuditMark, user: string): Promise<AuditedRequest[]>;
}

interface AuditEvent {
  stage: string;
  verb: string;
  user: { username: string };
  impersonatedUser?: { username?: string };
  objectRef?: { resource: string; subresource?: string; namespace?: string; name?: string };
  responseStatus?: { code?: number };
}

export const isWrite = ({ verb }: Pick<AuditedRequest, 'verb'>): boolean => WRITES.has(verb);
const WRITES: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);

/** Reads the audit log file. The API server appends a line before it completes a response. */
export function openAuditLog(file: string): AuditLog {
  const since = async (
    mark: AuditMark,
    isMeant: (event: AuditEvent) => boolean,
    isWorthReading: (line: string) => boolean = () => true,
  ): Promise<AuditedRequest[]> => {
    const { size } = await stat(file);
    const requests: AuditedRequest[] = [];
    if (size === mark) return requests;
    const lines = createInterface({ input: createReadStream(file, { start: mark, end: size - 1 }) });
    for await (const line of lines) {
      const event = isWorthReading(line) ? parseEvent(line) : undefined;
      if (event?.stage === 'ResponseComplete' && isMeant(event)) requests.push(requestOf(event));
    }
    return requests;
  };
  return {
    mark: async () => (await stat(file)).size,
    writesSince: (mark) => since(mark, isWrite),
    requestsSince: (mark, user) =>
      since(
        mark,
        (event) => event.verb !== 'watch' && userOf(event) === user,
        (line) => line.includes(user),
      ),
  };
}

const userOf = ({ impersonatedUser, user }: AuditEvent): string => impersonatedUser?.username ?? user.username;

/** The first and the last line may be incomplete. */
function parseEvent(line: string): AuditEvent | undefined {
  try {
    return JSON.parse(line) as AuditEvent;
  } catch {
    return undefined;
  }
}

function requestOf(event: AuditEvent): AuditedRequest {
  const { objectRef, responseStatus, verb } = event;
  const { name, namespace, resource = '', subresource } = objectRef ?? {};
  return {
    user: userOf(event),
    verb,
    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
    namespace,
    name,
    status: responseStatus?.code ?? 0,
  };
}

export const showRequest = ({ name, namespace, resource, status, user, verb }: AuditedRequest): string =>
  `${user} ${verb} ${resource} ${[namespace, name].filter((part) => part !== undefined).join('/')} ${status}`;
