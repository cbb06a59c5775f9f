import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, type Plugin } from 'esbuild';

const root = join(import.meta.dirname, '..', '..', '..');
const sources = join(root, 'packages/client/src');

/**
 * Writes the conformance client with `@uswarm/client` in one file, which starts fast. Each edit replaces a text that
 * occurs once in the client sources.
 *
 * @throws Error if a text does not occur exactly once
 */
export async function bundleClient(outfile: string, edits: readonly [from: string, to: string][] = []): Promise<void> {
  const changed = changedSources(edits);
  const plugin: Plugin = {
    name: 'edits',
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const contents = changed.get(path);
        return contents === undefined ? undefined : { contents, loader: 'ts' };
      });
    },
  };
  await build({
    entryPoints: [join(root, 'packages/client-conformance/clients/uswarm.mjs')],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    conditions: ['uswarm-source'],
    banner: { js: "import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);" },
    logLevel: 'error',
    plugins: [plugin],
  });
}

/** @returns the edited client sources by path. @throws Error if a text does not occur exactly once */
export function changedSources(edits: readonly [from: string, to: string][]): Map<string, string> {
  const files = readdirSync(sources).filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
  const contents = new Map(files.map((name) => [join(sources, name), readFileSync(join(sources, name), 'utf8')]));
  for (const [from, to] of edits) {
    const found = [...contents].filter(([, text]) => text.includes(from));
    const [file, text] = found[0] ?? [];
    if (found.length !== 1 || file === undefined || text === undefined || text.split(from).length !== 2) {
      throw new Error(`The sources of @uswarm/client must contain this once: ${from}`);
    }
    contents.set(
      file,
      text.replace(from, () => to),
    );
  }
  return contents;
}
