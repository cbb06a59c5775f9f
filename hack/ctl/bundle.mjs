import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { OPTIONAL, ZOD_AS_NAMESPACE } from '../images/bundle.mjs';
import { RunError } from '../run/run-error.mjs';

const RUN_CTL = './packages/cli/dist/ctl/run-ctl.js';
const OWN_OR_ZOD_USER = /[\\/](?:packages[\\/][^\\/]+[\\/]dist)[\\/].+\.js$/;
/** undici needs this version. In a checkout, `npm run ctl` brings its own Node.js. */
export const OLDEST_NODE = '22.19';
const [OLDEST_MAJOR, OLDEST_MINOR] = OLDEST_NODE.split('.');
/** Older versions would end with a stack trace. */
const CHECK_NODE =
  "{const[a,b]=process.version.slice(1).split('.');" +
  `if(+a<${OLDEST_MAJOR}||+a==${OLDEST_MAJOR}&&+b<${OLDEST_MINOR}){` +
  `console.error('uswarmctl needs Node.js ${OLDEST_NODE} or newer, not '+process.version+'.');process.exit(1)}}`;
const REQUIRE =
  "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);";
const META_URL = "const __importMetaUrl=require('node:url').pathToFileURL(__filename).href;";
const LICENCE_FILE = /^(?:licen[cs]e|copying)(?:[.-].*)?$/i;

/**
 * Bundles the built `uswarmctl`.
 *
 * @param {string} root workspace root
 * @param {'esm' | 'cjs'} format `esm` as a file with a shebang; executables of Node.js contain `cjs`
 * @returns {Promise<{ text: string, inputs: string[] }>} `inputs` are the files whose code it contains, relative to the root
 * @throws RunError with the bundler's messages
 */
export async function bundleCtl(root, format) {
  // Imported here, because `hack/run` starts before packages are installed.
  const { build } = await import('esbuild');
  const isModule = format === 'esm';
  const call = isModule
    ? 'await runCtl(process.argv);'
    : 'runCtl(process.argv).catch((error)=>{console.error(error);process.exitCode=1;});';
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    stdin: { contents: `import{runCtl}from'${RUN_CTL}';${call}`, resolveDir: root, loader: 'js' },
    write: false,
    metafile: true,
    bundle: true,
    format,
    platform: 'node',
    target: `node${OLDEST_NODE}`,
    conditions: ['node-addons'],
    external: OPTIONAL,
    minify: true,
    // Error names are in messages.
    keepNames: true,
    legalComments: 'none',
    ...(isModule ? {} : { define: { 'import.meta.url': '__importMetaUrl' } }),
    banner: { js: isModule ? `#!/usr/bin/env node\n${CHECK_NODE}${REQUIRE}` : META_URL },
    plugins: [zodAsNamespace],
    logLevel: 'silent',
  }).catch((error) => {
    throw new RunError(`uswarmctl could not be bundled:\n${error.message}`);
  });
  const [{ inputs }] = Object.values(metafile.outputs);
  const used = Object.entries(inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0);
  return { text: outputFiles[0].text, inputs: used.map(([path]) => path) };
}

/** As an object, zod would be included with all its locales. */
const zodAsNamespace = {
  name: 'zod-as-namespace',
  setup({ onLoad }) {
    onLoad({ filter: OWN_OR_ZOD_USER }, ({ path }) =>
      path.includes('node_modules')
        ? undefined
        : { contents: readFileSync(path, 'utf8').replace(...ZOD_AS_NAMESPACE), loader: 'js' },
    );
  },
};

/**
 * Joins the licences that a bundle needs into one text.
 *
 * @param {string} root workspace root
 * @param {string[]} inputs the bundle's
 * @throws RunError for a package without a licence file
 */
export function licencesOf(root, inputs) {
  const folders = new Set(inputs.filter((path) => path.includes('node_modules')).map((path) => packageOf(root, path)));
  const texts = [...folders].map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const file = readdirSync(folder).find((entry) => LICENCE_FILE.test(entry));
    const text =
      file === undefined ? `Licence: ${license ?? 'unknown'}` : readFileSync(join(folder, file), 'utf8').trim();
    if (file === undefined && license === undefined) throw new RunError(`${name}@${version} has no licence.`);
    return `${name}@${version}\n\n${text}\n`;
  });
  return texts.toSorted().join(`\n${'-'.repeat(80)}\n`);
}

/** The innermost folder with a manifest that has a version; some packages have manifests in folders of code. */
function packageOf(root, path) {
  for (let folder = dirname(resolve(root, path)); folder !== root; folder = dirname(folder)) {
    const manifest = join(folder, 'package.json');
    if (existsSync(manifest) && JSON.parse(readFileSync(manifest, 'utf8')).version !== undefined) return folder;
  }
  throw new RunError(`${path} belongs to no package.`);
}
