import type { SyncFailure } from '@uswarm/contract/userswarm';
import { isConflict, isNotFound, isRefusal, KubeError } from '@uswarm/kube-client';

/** The children could not be applied; the reason and message of `Synced: False`. */
export class ApplyError extends Error {
  override name = 'ApplyError';
  readonly reason: SyncFailure;

  constructor(reason: SyncFailure, message: string, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
  }
}

/** The observed state was stale, or the server did not respond: reconcile again. */
export class RequeueError extends Error {
  override name = 'RequeueError';
}

/** The API server is overloaded or failing. The request was not judged, and more writes would add to the load. */
export class ServerBusy extends RequeueError {
  override name = 'ServerBusy';
  /** The HTTP status. */
  readonly status: number;
  /** Milliseconds from `Retry-After`; 0 if the server sent none. */
  readonly retryAfterMs: number;

  constructor(message: string, error: KubeError) {
    super(message, { cause: error });
    this.status = error.status;
    this.retryAfterMs = (error.retryAfter ?? 0) * 1_000;
  }
}

/** The error if the server did not process the request (429 or 5xx); else undefined. */
export const busyError = (error: unknown): KubeError | undefined =>
  error instanceof KubeError && !isRefusal(error) ? error : undefined;

/** Maps a write error to the reason that the UserSwarm reports. */
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

/**
 * For some seconds after a new kind is served, admission does not know it: neither the plugin for owner references nor a
 * policy with UserSwarms as parameters.
 */
const isKindTooNew = ({ message }: KubeError): boolean => KIND_TOO_NEW.some((text) => message.includes(text));

const KIND_TOO_NEW = [
  'cannot find RESTMapping',
  'failed to find resource referenced by paramKind',
  'not yet synced to use for admission',
];
