// Bundles the built programs that integration tests start as processes again and again. A bundle starts with less than
// half the processor time, because Node.js resolves, reads and compiles a few files instead of hundreds.
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { OPTIONAL, REQUIRE, ZOD_AS_NAMESPACE } from '../images/bundle.mjs';
import { repositoryRoot } from '../run/environment.mjs';

/** Paths in the repository. */
const PROGRAMS = [
  'packages/cli/dist/chat.js',
  'packages/cli/dist/uswarmctl.js',
  'services/agent-runtime/dist/main.js',
  'services/local/dist/main.js',
  'services/model-gateway/dist/main.js',
  'services/orchestrator/dist/main.js',
  'services/orchestrator/dist/main.nonproduction.js',
  'services/orchestrator/dist/migrate-main.js',
  'services/realtime-gateway/dist/main.js',
  'services/uswarm-controller/dist/main.js',
  'services/uswarm-webhook/dist/main.js',
];

const OWN_MODULE = /[\\/](?:services|packages)[\\/][^\\/]+[\\/]dist[\\/].+\.js$/;

/**
 * Writes a bundle of each program to `folder`, at its path in the repository. Names are kept and nothing is minified, so that stack
 * traces can be read. `programFile` of testkit finds the bundles.
 */
export async function bundleTestPrograms(folder) {
  const { build } = await import('esbuild');
  await build({
    absWorkingDir: repositoryRoot,
    entryPoints: PROGRAMS.map((program) => ({ in: program, out: program.replace(/\.js$/, '.bundle') })),
    outdir: folder,
    bundle: true,
    // Programs share files with the code that they share.
    splitting: true,
    chunkNames: 'shared/[name]-[hash]',
    format: 'esm',
    platform: 'node',
    target: 'node24',
    conditions: ['node-addons'],
    external: OPTIONAL,
    keepNames: true,
    legalComments: 'none',
    banner: { js: REQUIRE },
    plugins: [ownModules(folder)],
    logLevel: 'error',
  });
  // Code that V8 has compiled is reused by the next process, also if that gets no variable for it.
  const cache = join(folder, 'compile-cache');
  await Promise.all(
    PROGRAMS.map((program) =>
      writeFile(
        join(folder, program),
        `import { enableCompileCache } from 'node:module';
enableCompileCache(${JSON.stringify(cache)});
// Node.js does not report deprecations of packages in node_modules, but does not recognize them in a bundle.
process.noDeprecation = true;
await import(${JSON.stringify(`./${program.split('/').at(-1).replace(/\.js$/, '.bundle.js')}`)});
`,
      ),
    ),
  );
  // The bundles are modules.
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }\n');
}

/** Modules find their files in the repository. Local mode starts the bundled runtime. */
function ownModules(folder) {
  const runtime = JSON.stringify(join(folder, 'services/agent-runtime/dist/main.js'));
  return {
    name: 'own-modules',
    setup({ onLoad }) {
      onLoad({ filter: OWN_MODULE }, async ({ path }) => {
        if (path.includes('node_modules')) return undefined;
        const contents = (await readFile(path, 'utf8'))
          .replace("'../../agent-runtime/dist/main.js'", runtime)
          .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href))
          .replaceAll('import.meta.dirname', JSON.stringify(dirname(path)))
          .replace(...ZOD_AS_NAMESPACE);
        return { contents, loader: 'js' };
      });
    },
  };
}
