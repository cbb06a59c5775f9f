import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { RunError } from '../run/run-error.mjs';

/** Page folder in the service that serves them, relative to the root. */
export const REFERENCE_PAGES = 'services/orchestrator/reference-pages';

/** Their sources, relative to the root. */
export const SOURCES = 'packages/reference-pages/browser';

/**
 * The AsyncAPI parser compiles code at run time, which the page's content security policy forbids, and is four times as
 * large as everything else. The page needs only its document model.
 */
const WITHOUT_PARSER = {
  // Its index also exports the parser.
  '@asyncapi/parser': `export * from '@asyncapi/parser/esm/models/index.js';
    export * from '@asyncapi/parser/esm/document.js';
    export { unstringify } from '@asyncapi/parser/esm/stringify.js';`,
  '@asyncapi/parser/cjs/document': `export { isStringifiedDocument } from '@asyncapi/parser/esm/document.js';`,
  // Schemas and documents that only the parser needs.
  '@asyncapi/specs': 'export default { schemas: {} };',
  '@stoplight/spectral-core': 'export class Document {}',
  './parser': 'export const Parser = {};',
};

const withoutParser = {
  name: 'without-parser',
  setup({ onResolve, onLoad }) {
    const filter = new RegExp(`^(?:${Object.keys(WITHOUT_PARSER).join('|')})$`);
    onResolve({ filter }, ({ path, importer, resolveDir }) => {
      if (path === './parser' && !importer.includes('react-component')) return undefined;
      return { path, namespace: 'without-parser', pluginData: resolveDir };
    });
    onLoad({ filter: /./, namespace: 'without-parser' }, ({ path, pluginData }) => ({
      contents: WITHOUT_PARSER[path],
      resolveDir: pluginData,
    }));
  },
};

/**
 * Bundles the pages, which contain all their scripts, styles and pictures.
 *
 * @param {string} root workspace root
 * @returns {Promise<{ files: { name: string, text: string }[], inputs: string[] }>} `inputs` are the files whose code
 * is in the pages, as paths relative to the root
 * @throws RunError with the bundler's messages
 */
export async function bundleReferencePages(root) {
  // Imported here, because `hack/run` starts before packages are installed.
  const { build } = await import('esbuild');
  const folder = join(root, SOURCES);
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: ['rest.mjs', 'realtime.mjs', 'rest.css', 'realtime.css'].map((name) => join(folder, name)),
    outdir: join(root, REFERENCE_PAGES),
    write: false,
    metafile: true,
    bundle: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    define: { 'process.env.NODE_ENV': '"production"' },
    minify: true,
    // Licences require their notices in distributed code.
    legalComments: 'eof',
    plugins: [withoutParser],
    logLevel: 'silent',
  }).catch((error) => {
    throw new RunError(`The reference pages could not be bundled:\n${error.message}`);
  });
  const built = outputFiles.map(({ path, contents }) => ({
    name: basename(path),
    text: Buffer.from(contents).toString('utf8'),
  }));
  const copied = readdirSync(folder)
    .filter((name) => /\.(?:html|svg)$/.test(name))
    .map((name) => ({ name, text: readFileSync(join(folder, name), 'utf8') }));
  const used = Object.values(metafile.outputs).flatMap(({ inputs }) => Object.entries(inputs));
  const inputs = used.filter(([path, { bytesInOutput }]) => bytesInOutput > 0 && !path.startsWith('without-parser:'));
  return {
    files: [...built, ...copied].toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    inputs: inputs.map(([path]) => path),
  };
}
