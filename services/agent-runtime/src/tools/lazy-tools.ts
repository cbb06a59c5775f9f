import type { ToolServer } from './tool.js';

type ClosableToolServer = ToolServer & { close(): Promise<void> };

/** A tool server whose code is loaded on first use. Closing an unused one loads nothing. */
export function lazyTools(load: () => Promise<ClosableToolServer>): ClosableToolServer {
  let loading: Promise<ClosableToolServer> | undefined;
  return {
    forTurn(token) {
      const source = async () => (await (loading ??= load())).forTurn(token);
      return {
        list: async (signal) => (await source()).list(signal),
        call: async (...call) => (await source()).call(...call),
      };
    },
    close: async () => (await loading)?.close(),
  };
}
