import type { SyncFailure } from '@uswarm/contract/userswarm';
import { isConflict, isNotFound, isRefusal, KubeError } from '@uswarm/kube-client';

/** Why the children are not as they should be, as `Synced: False` says it. */
export class ApplyError extends Error {
  override name = 'ApplyError';
  readonly reason: SyncFailure;

  constructor(reason: SyncFailure, message: string, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
  }
}

/** What we acted on was no longer so, or nobody answered: trying again is all there is to do. */
export class RequeueError extends Error {
  override name = 'RequeueError';
}

/** The API server is overloaded or unwell. That says nothing about what was asked, and more writes would make it worse. */
export class ServerBusy extends RequeueError {
  override name = 'ServerBusy';
  /** The HTTP status. */
  readonly status: number;
  /** Milliseconds that the server asks to wait; 0 if it names no time. */
  readonly retryAfterMs: number;

  constructor(message: string, error: KubeError) {
    super(message, { cause: error });
    this.status = error.status;
    this.retryAfterMs = (error.retryAfter ?? 0) * 1_000;
  }
}

/** The error if the request was not judged at all: too many requests, or a fault of the server's own. */
export const busyError = (error: unknown): KubeError | undefined =>
  error instanceof KubeError && !isRefusal(error) ? error : undefined;

/** What an error of a write means for the UserSwarm. */
export function classify(error: unknown, what: string, namespace: string): ApplyError | RequeueError {
  if (error instanceof ApplyError || error instanceof RequeueError) return error;
  if (!(error instanceof KubeError)) return new RequeueError(`${what} could not be written`, { cause: error });
  if (busyError(error) !== undefined) return new ServerBusy(`${what}: ${error.message}`, error);
  if (isNamespaceMissing(error)) {
    return new ApplyError('NamespaceMissing', `namespace ${namespace} does not exist or is being deleted`, error);
  }
  if (isConflict(error) || isNotFound(error)) return new RequeueError(`${what} changed meanwhile`, { cause: error });
  if (isKindTooNew(error)) return new RequeueError(`${what}: ${error.message}`, { cause: error });
  const message = `${what}: ${error.message}`;
  if (error.status === 403 && error.message.includes('exceeded quota')) {
    return new ApplyError('QuotaExceeded', message, error);
  }
  return new ApplyError(error.status === 403 ? 'Forbidden' : 'ApplyFailed', message, error);
}

const isNamespaceMissing = (error: KubeError): boolean =>
  (isNotFound(error) && error.kind === 'namespaces') || error.causes.includes('NamespaceTerminating');

/** Admission of owner references learns of a new kind some seconds after it is served. */
const isKindTooNew = (error: KubeError): boolean =>
  error.status === 403 && error.message.includes('cannot find RESTMapping');
