import { build } from './build.mjs';
import { chart } from './chart.mjs';
import { runE2e } from './e2e.mjs';
import { checkCheckout, nodeBinary, repositoryRoot, serviceEnvironment } from './environment.mjs';
import { runForeground } from './foreground.mjs';
import { formatSources, generate } from './generate.mjs';
import { images } from './images.mjs';
import { install } from './install.mjs';
import { withLock } from './lock.mjs';
import { runProse } from './prose.mjs';
import { RunError } from './run-error.mjs';
import { runScale } from './scale.mjs';
import { runSoak } from './soak.mjs';
import { runTests } from './test.mjs';

// An `interactive` program reads the terminal, so it stays in the process group of the terminal.
const programs = {
  start: { script: 'services/local/dist/main.js', interactive: false },
  searxng: { script: 'services/local/dist/searxng-main.js', interactive: false },
  chat: { script: 'packages/cli/dist/chat.js', interactive: true },
  ctl: { script: 'packages/cli/dist/uswarmctl.js', interactive: true },
  bench: { script: 'bench/dist/main.js', interactive: false },
  eval: { script: 'evals/dist/main.js', interactive: false },
  search: { script: 'services/searxng-client/dist/cli.js', interactive: true },
};

const tasks = {
  test: runTests,
  e2e: runE2e,
  scale: runScale,
  soak: runSoak,
  generate,
  format: formatSources,
  'lint:prose': runProse,
  images,
  chart,
  build: () => 0,
};

// `test`, `e2e` and `generate` build as one of their steps; `format` needs no build.
const withoutBuild = new Set(['test', 'e2e', 'generate', 'format']);

function usage() {
  return `Usage: node hack/run.mjs <command> [argument…]
Commands: ${[...Object.keys(programs), ...Object.keys(tasks)].join(', ')}.`;
}

/** @returns the exit code of the command */
export async function main([command, ...args]) {
  try {
    if (!(command in programs) && !(command in tasks)) {
      const problem = command === undefined ? 'Missing command.' : `Unknown command "${command}".`;
      throw new RunError(`${problem}\n\n${usage()}`);
    }
    checkCheckout();
    await withLock(async () => {
      await install();
      if (!withoutBuild.has(command)) await build();
    });
    if (command in tasks) return await tasks[command](args);
    const { script, interactive } = programs[command];
    return await runForeground(nodeBinary, [script, ...args], {
      cwd: repositoryRoot,
      env: serviceEnvironment(),
      interactive,
    });
  } catch (error) {
    if (!(error instanceof RunError)) throw error;
    console.error(error.message);
    return 1;
  }
}
