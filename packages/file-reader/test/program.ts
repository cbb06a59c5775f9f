import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const PACKAGE = fileURLToPath(new URL('..', import.meta.url));

/** The program from its sources; a process cannot run them, because they import each other as compiled files. */
export async function buildProgram(): Promise<{ program: URL; remove: () => void }> {
  // In the package, so that Node.js finds the libraries.
  const folder = mkdtempSync(join(PACKAGE, 'dist/.program-'));
  await build({
    entryPoints: [join(PACKAGE, 'src/program.ts')],
    outdir: folder,
    bundle: true,
    packages: 'external',
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    outExtension: { '.js': '.mjs' },
  });
  const remove = () => rmSync(folder, { recursive: true, force: true });
  return { program: pathToFileURL(join(folder, 'program.mjs')), remove };
}
