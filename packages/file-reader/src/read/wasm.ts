import { readFileSync } from 'node:fs';

/** A WebAssembly file; the bundler copies those that a module names by `import.meta.resolve` (hack/images/bundle.mjs). */
export function readWasm(url: string): Uint8Array<ArrayBuffer> {
  // A copy with a buffer of its own, as the loaders expect.
  return new Uint8Array(readFileSync(new URL(url)));
}
