import type { ModelPort } from './port.js';

/**
 * A port whose code is loaded with its first call. A client library needs as much memory as everything else in a
 * runtime, and most runtimes are idle.
 */
export function lazyPort(provider: string, load: () => Promise<ModelPort>): ModelPort {
  let loading: Promise<ModelPort> | undefined;
  return {
    provider,
    async *step(request, options) {
      loading ??= load();
      yield* (await loading).step(request, options);
    },
  };
}
