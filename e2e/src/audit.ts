import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createInterface } from 'node:readline';

/** One request as the API server wrote it down: who did what to which object, never with what. */
export interface AuditedRequest {
  /** The impersonated user, if any. */
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
  /** Everything that one user asked for since, but watches. */
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

/** Of the file that the API server appends a line to before it ends an answer. */
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

/** The first line may have been begun, and the last one may not be finished. */
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
