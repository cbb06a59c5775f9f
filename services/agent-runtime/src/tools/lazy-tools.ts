import type { ToolSource } from './tool.js';

type ClosableToolSource = ToolSource & { close(): Promise<void> };

/** A source whose code is loaded with its first use. Closing one that was never used loads nothing. */
export function lazyTools(load: () => Promise<ClosableToolSource>): ClosableToolSource {
  let loading: Promise<ClosableToolSource> | undefined;
  const loaded = (): Promise<ClosableToolSource> => (loading ??= load());
  return {
    list: async (...args) => (await loaded()).list(...args),
    call: async (...args) => (await loaded()).call(...args),
    close: async () => (await loading)?.close(),
  };
}
