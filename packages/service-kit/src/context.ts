import { AsyncLocalStorage } from 'node:async_hooks';

/** What belongs to one request, wherever in the code it is handled. */
export interface RequestContext {
  requestId: string;
  /** Of the trace that the request is part of: its own, or the one that a calling service named. */
  traceId?: string;
  /** Of the trace that a client named; it may be anything. */
  clientTraceId?: string;
}

const storage = new AsyncLocalStorage<RequestContext>();

export function runInContext<T>(context: RequestContext, run: () => T): T {
  return storage.run(context, run);
}

export function currentContext(): RequestContext | undefined {
  return storage.getStore();
}
