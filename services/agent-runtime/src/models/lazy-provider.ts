import type { ModelProvider } from './model.js';

/**
 * A provider whose code is loaded with its first call. A client library needs as much memory as the rest of the runtime, and
 * most runtimes are idle.
 */
export function lazyProvider(name: string, load: () => Promise<ModelProvider>): ModelProvider {
  let loading: Promise<ModelProvider> | undefined;
  return {
    name,
    async *stream(request, options) {
      loading ??= load();
      yield* (await loading).stream(request, options);
    },
  };
}
