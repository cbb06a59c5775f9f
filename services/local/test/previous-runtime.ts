import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const REPOSITORY = path.resolve(import.meta.dirname, '../../..');
const ARCHIVE = path.join(REPOSITORY, 'e2e/fixtures/previous-release.tar.gz');
const SOURCES = ['services/agent-runtime', 'packages/runtime-proto', 'packages/service-kit'];
const REQUIRE = `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);`;
const run = promisify(execFile);

/** A runtime program that can be replaced while it runs. A process that is started afterwards is the other one. */
export interface ReplaceableRuntime {
  /** The value of RUNTIME_PROGRAM. */
  program: string;
  /** Replaces the runtime of the previous release by the current one. */
  replace(): Promise<void>;
  remove(): Promise<void>;
}

/** Builds the runtime of the previous release from its sources, with the demo model only. */
export async function buildPreviousRuntime(): Promise<ReplaceableRuntime> {
  const folder = await mkdtemp(path.join(tmpdir(), 'uswarm-previous-'));
  const within = (...names: string[]): string => path.join(folder, ...names);
  await run('tar', ['-xzf', ARCHIVE, '-C', folder, ...SOURCES]);
  const [runtime = '', protocol = '', kit = ''] = SOURCES.map((name) => within(name));
  await writeFile(within('no-openai.mjs'), 'export default class {}');
  await mkdir(within('built/dist'), { recursive: true });
  // It reads its version.
  await cp(path.join(runtime, 'package.json'), within('built/package.json'));
  const aliases = [
    `--alias:@uswarm/runtime-proto=${path.join(protocol, 'src/index.ts')}`,
    `--alias:@uswarm/service-kit=${path.join(kit, 'src/index.ts')}`,
    `--alias:openai=${within('no-openai.mjs')}`,
  ];
  const output = ['--bundle', '--platform=node', '--format=esm', '--log-level=error', `--banner:js=${REQUIRE}`];
  const file = within('built/dist/main.js');
  const packages = ['services/agent-runtime', 'packages/service-kit'].map((name) => path.join(REPOSITORY, name));
  await run(
    path.join(REPOSITORY, 'node_modules/.bin/esbuild'),
    [path.join(runtime, 'src/main.ts'), ...output, ...aliases, `--outfile=${file}`],
    {
      env: { ...process.env, NODE_PATH: packages.map((name) => path.join(name, 'node_modules')).join(path.delimiter) },
    },
  );
  const program = within('runtime.mjs');
  const use = (main: string): Promise<void> => writeFile(program, `await import(${JSON.stringify(main)});\n`);
  await use(file);
  return {
    program,
    replace: () => use(path.join(REPOSITORY, 'services/agent-runtime/dist/main.js')),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
