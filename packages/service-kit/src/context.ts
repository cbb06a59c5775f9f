import { AsyncLocalStorage } from 'node:async_hooks';

/** Context of one request for logs and traces, available in all code that handles it. */
export interface RequestContext {
  requestId: string;
  /** Created here, or sent by the calling service. */
  traceId?: string;
  /** The trace id that a client sent; untrusted. */
  clientTraceId?: string;
}

const storage = new AsyncLocalStorage<RequestContext>();

export function runInContext<T>(context: RequestContext, run: () => T): T {
  return storage.run(context, run);
}

export function currentContext(): RequestContext | undefined {
  return storage.getStore();
}
