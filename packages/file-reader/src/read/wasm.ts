import { readFileSync } from 'node:fs';

/** A WebAssembly file. The bundler copies it when a module names it by `import.meta.resolve` (hack/images/bundle.mjs). */
export function readWasm(url: string): Uint8Array<ArrayBuffer> {
  // A copy with its own buffer, as the loaders expect.
  return new Uint8Array(readFileSync(new URL(url)));
}
