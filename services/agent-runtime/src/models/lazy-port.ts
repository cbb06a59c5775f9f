import type { ModelPort } from './port.js';

/**
 * A port whose code is loaded with its first call, or by `prepare`. A client library needs as much memory as everything else in a
 * runtime, and most runtimes are idle.
 */
export function lazyPort(provider: string, load: () => Promise<ModelPort>): ModelPort {
  let loading: Promise<ModelPort> | undefined;
  const loaded = (): Promise<ModelPort> => (loading ??= load());
  return {
    provider,
    async prepare() {
      await loaded();
    },
    async *step(request, options) {
      yield* (await loaded()).step(request, options);
    },
  };
}
