import { AsyncLocalStorage } from 'node:async_hooks';

/** What belongs to one request, wherever in the code it is handled. */
export interface RequestContext {
  requestId: string;
  /** Of the trace that the request takes part in, where the caller named one. */
  traceId?: string;
}

const storage = new AsyncLocalStorage<RequestContext>();

export function runInContext<T>(context: RequestContext, run: () => T): T {
  return storage.run(context, run);
}

export function currentContext(): RequestContext | undefined {
  return storage.getStore();
}
