import type { ToolServer } from './tool.js';

type ClosableToolServer = ToolServer & { close(): Promise<void> };

/** A tool server whose code is loaded on first use, or by `prepare`. Closing an unused one loads nothing. */
export function lazyTools(load: () => Promise<ClosableToolServer>): ClosableToolServer & { prepare(): Promise<void> } {
  let loading: Promise<ClosableToolServer> | undefined;
  const loaded = (): Promise<ClosableToolServer> => (loading ??= load());
  return {
    async prepare() {
      await loaded();
    },
    forTurn(token) {
      const source = async () => (await loaded()).forTurn(token);
      return {
        list: async (signal) => (await source()).list(signal),
        call: async (...call) => (await source()).call(...call),
      };
    },
    close: async () => (await loading)?.close(),
  };
}
