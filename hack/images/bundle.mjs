import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join, relative, sep } from 'node:path';
import { RunError } from '../run/run-error.mjs';

/** The modules of this repository, built by `tsc -b`; the group is the path below `dist`. */
const OWN_MODULE = /[\\/](?:services|packages)[\\/][^\\/]+[\\/]dist[\\/](.+\.js)$/;

/** A WebAssembly file from a package, as our modules name it. The image has it beside the program. */
const WASM_FILE = /import\.meta\.resolve\((['"])([^'"]+\.wasm)\1\)/g;

/** Packages that import `zod` as an object. */
const ZOD_USERS = /[\\/]node_modules[\\/]@ai-sdk[\\/][^\\/]+[\\/]dist[\\/][^\\/]+\.js$/;

/** Decodes protobuf schemas at start. */
const BASE64 = /[\\/]node_modules[\\/]@bufbuild[\\/]protobuf[\\/]dist[\\/]esm[\\/]wire[\\/]base64-encoding\.js$/;

/** CommonJS packages call `require` for modules of Node.js. */
export const REQUIRE =
  "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);";

/**
 * Ends a program on a signal that arrives before the program handles signals: the kernel ignores signals without a
 * handler for a container's PID 1, and the pod would use its whole grace period. The bundler does not see this code, so
 * `process` alone could be a function that a bundled library has by this name.
 */
const EARLY_SIGNALS =
  "for(const[s,c]of[['SIGTERM',143],['SIGINT',130]]){const p=globalThis.process;" +
  'p.listenerCount(s)||p.on(s,()=>p.listenerCount(s)>1||p.exit(c));}';

/** Optional packages that images do not contain. pnpm installs them where a bundler finds them. */
export const OPTIONAL = ['bufferutil', 'pg-native', 'supports-color', 'utf-8-validate'];

/**
 * One program as a single file, with an additional file for each part that it loads later.
 *
 * @typedef {object} Bundle
 * @property {import('./content.mjs').Entry[]} entries below `dist`: code with its source maps, and WebAssembly files
 * @property {string[]} inputs files whose code is in the bundle, relative to the root
 */

/**
 * Bundles a service's built programs. Each gets a separate bundle, so that code of one program cannot be part of
 * another.
 *
 * @param {object} options
 * @param {string} options.folder the service's
 * @param {string[]} options.programs file names in `dist`, without `.js`
 * @param {string} options.root workspace root
 * @param {boolean} [options.keepNames] whether functions that the bundler renames keep their `name`
 * @returns {Promise<Bundle>}
 * @throws RunError with the bundler's messages
 */
export async function bundlePrograms({ folder, programs, root, keepNames = true }) {
  const bundles = [];
  for (const program of programs) bundles.push(await bundleProgram({ folder, program, root, keepNames }));
  const files = new Map(bundles.flatMap(({ entries }) => entries.map((entry) => [entry.path, entry])));
  const inputs = new Set(bundles.flatMap((bundle) => bundle.inputs));
  return { entries: [...files.values()], inputs: [...inputs].toSorted() };
}

async function bundleProgram({ folder, program, root, keepNames }) {
  // Imported here, because `hack/run` starts before packages are installed.
  const { build } = await import('esbuild');
  const dist = join(folder, 'dist');
  const wasmFiles = new Set();
  const options = {
    absWorkingDir: root,
    entryPoints: [{ in: join(dist, `${program}.js`), out: program }],
    outdir: dist,
    write: false,
    metafile: true,
    bundle: true,
    splitting: true,
    chunkNames: `${program}-[name]-[hash]`,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    // The conditions of Node.js, so that the bundle has the files that the tests run.
    conditions: ['node-addons'],
    external: OPTIONAL,
    minifySyntax: true,
    minifyWhitespace: true,
    keepNames,
    sourcemap: 'linked',
    sourcesContent: false,
    // The image has the packages' licences as files.
    legalComments: 'none',
    banner: { js: REQUIRE + EARLY_SIGNALS },
    plugins: [ownModules(wasmFiles)],
    logLevel: 'silent',
  };
  const { outputFiles, metafile } = await build(options).catch((error) => {
    throw new RunError(`${basename(folder)}/dist/${program}.js could not be bundled:\n${error.message}`);
  });
  const entries = outputFiles.map(({ path, contents }) => {
    const file = relative(folder, path).split(sep).join('/');
    return { path: file, layer: 'app', text: Buffer.from(contents).toString('utf8') };
  });
  const wasm = [...wasmFiles].toSorted().map((source) => ({ path: `dist/${basename(source)}`, layer: 'app', source }));
  return { entries: [...entries, ...wasm], inputs: codeIn(metafile) };
}

/** The input files with code in the output; the others are unused. */
function codeIn({ outputs }) {
  const used = Object.values(outputs).flatMap(({ inputs }) => Object.entries(inputs));
  return used.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path);
}

export const ZOD_AS_NAMESPACE = [/^import \{ z \} from ["'](zod(?:\/v4)?)["'];/m, 'import * as z from "$1";'];

/**
 * Node.js 24 lacks `setFromBase64`, and V8 optimizes the package's replacement at each start, which adds 5 MiB of
 * compiler code to resident memory. Texts that are not canonical are left to the package, because `Buffer` accepts all.
 */
const NATIVE_BASE64 = [
  'const nativeSetFromBase64 = Uint8Array.prototype.setFromBase64;',
  `const nativeSetFromBase64 = Uint8Array.prototype.setFromBase64 ?? function (text) {
    const bytes = Buffer.from(text, 'base64');
    if (!bytes.toString('base64').startsWith(text)) return { read: -1, written: 0 };
    this.set(bytes);
    return { read: text.length, written: bytes.length };
  };`,
];

/**
 * Rewrites paths relative to our modules, because the bundle is in another folder of `dist`, and WebAssembly paths,
 * which it adds to `wasmFiles`. It also imports `zod` as a namespace, from which a bundler removes unused code; as
 * an object it would include all of it, with forty locales.
 */
const ownModules = (wasmFiles) => ({
  name: 'own-modules',
  setup({ onLoad }) {
    onLoad({ filter: OWN_MODULE }, ({ path }) => {
      if (path.includes('node_modules')) return undefined;
      const place = JSON.stringify(`./${OWN_MODULE.exec(path)[1].split(sep).join('/')}`);
      const contents = readFileSync(path, 'utf8')
        .replaceAll('import.meta.url', `new URL(${place},import.meta.url).href`)
        .replaceAll(WASM_FILE, (_, quote, name) => {
          const file = createRequire(path).resolve(name);
          wasmFiles.add(file);
          return `new URL(${JSON.stringify(`./${basename(file)}`)},import.meta.url).href`;
        })
        .replace(...ZOD_AS_NAMESPACE);
      return { contents, loader: 'js' };
    });
    onLoad({ filter: BASE64 }, ({ path }) => {
      const source = readFileSync(path, 'utf8');
      if (!source.includes(NATIVE_BASE64[0])) throw new Error(`${path} decodes Base64 in another way`);
      return { contents: source.replace(...NATIVE_BASE64), loader: 'js' };
    });
    onLoad({ filter: ZOD_USERS }, ({ path }) => {
      return { contents: readFileSync(path, 'utf8').replace(...ZOD_AS_NAMESPACE), loader: 'js' };
    });
  },
});

/**
 * The packages whose code is in a bundle.
 *
 * @param {string[]} inputs the bundle's
 * @param {import('./package-graph.mjs').PlacedPackage[]} packages all packages that the service may use, the service first
 * @param {string} root workspace root
 * @returns {import('./package-graph.mjs').PlacedPackage[]} the service first
 * @throws RunError if a file belongs to none of them
 */
export function bundledPackages(inputs, packages, root) {
  const [program] = packages;
  const byFolder = new Map(packages.map((each) => [relative(root, each.folder).split(sep).join('/'), each]));
  const found = new Set([program]);
  for (const input of inputs) {
    const owner = ownerOf(input, byFolder);
    if (owner === undefined)
      throw new RunError(`${input} is in the bundle of ${program.manifest.name} but belongs to no package.`);
    found.add(owner);
  }
  return packages.filter((each) => found.has(each));
}

/** The innermost folder determines the package. */
function ownerOf(path, byFolder) {
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
    const owner = byFolder.get(path.slice(0, end));
    if (owner !== undefined) return owner;
  }
  return undefined;
}
