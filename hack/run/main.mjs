import { build, buildIfChanged } from './build.mjs';
import { chart, CHART_USAGE } from './chart.mjs';
import { E2E_USAGE } from './e2e/settings.mjs';
import { runE2e } from './e2e.mjs';
import { checkCheckout, nodeBinary, repositoryRoot, serviceEnvironment } from './environment.mjs';
import { exitCode, runForeground, SIGNALS } from './foreground.mjs';
import { formatSources, generate } from './generate.mjs';
import { GUARANTEES_USAGE, runGuarantees } from './guarantees.mjs';
import { replaceUnwritableFolders } from './home.mjs';
import { images, IMAGES_USAGE } from './images.mjs';
import { install } from './install.mjs';
import { withLock } from './lock.mjs';
import { endWithParent } from './parent-watch.mjs';
import { PICTURES_USAGE, runPictures } from './pictures.mjs';
import { PROSE_USAGE, runProse } from './prose.mjs';
import { quietChildren } from './quiet.mjs';
import { RunError } from './run-error.mjs';
import { runScale, SCALE_USAGE } from './scale.mjs';
import { runSoak, SOAK_USAGE } from './soak.mjs';
import { checkTypes, runTests } from './test.mjs';

// An `interactive` program reads the terminal, so it stays in the terminal's process group.
const programs = {
  start: { script: 'services/local/dist/main.js', interactive: false },
  searxng: { script: 'services/local/dist/searxng-main.js', interactive: false },
  chat: { script: 'packages/cli/dist/chat.js', interactive: true },
  ctl: { script: 'packages/cli/dist/uswarmctl.js', interactive: true },
  'ctl-binaries': { script: 'hack/ctl/main.mjs', interactive: false },
  release: { script: 'hack/release/main.mjs', interactive: false },
  bench: { script: 'bench/dist/main.js', interactive: false },
  eval: { script: 'evals/dist/main.js', interactive: false },
  'client-conformance': { script: 'packages/client-conformance/dist/main.js', interactive: false },
  search: { script: 'services/searxng-client/dist/cli.js', interactive: true },
};

/** Tasks without a usage have no options, or pass them to a program that has one. */
const tasks = {
  test: { run: runTests },
  types: { run: checkTypes },
  e2e: { run: runE2e, usage: E2E_USAGE },
  scale: { run: runScale, usage: SCALE_USAGE },
  soak: { run: runSoak, usage: SOAK_USAGE },
  generate: { run: generate },
  format: { run: formatSources },
  'lint:prose': { run: runProse, usage: PROSE_USAGE },
  images: { run: images, usage: IMAGES_USAGE },
  chart: { run: chart, usage: CHART_USAGE },
  pictures: { run: runPictures, usage: PICTURES_USAGE },
  guarantees: { run: runGuarantees, usage: GUARANTEES_USAGE },
  build: { run: () => 0 },
};

// `test`, `types`, `e2e` and `generate` build as one of their steps; `format` needs no build.
const withoutBuild = new Set(['test', 'types', 'e2e', 'generate', 'format']);

function usage() {
  return `Usage: node hack/run.mjs <command> [argument…]
Commands: ${[...Object.keys(programs), ...Object.keys(tasks)].join(', ')}.`;
}

/** @returns the command's exit code */
export async function main([command, ...args]) {
  try {
    if (!(command in programs) && !(command in tasks)) {
      const problem = command === undefined ? 'Missing command.' : `Unknown command "${command}".`;
      throw new RunError(`${problem}\n\n${usage()}`);
    }
    const usageOfTask = tasks[command]?.usage;
    if (usageOfTask !== undefined && args.includes('--help')) {
      console.log(usageOfTask);
      return 0;
    }
    checkCheckout();
    endOnSignals();
    const note = replaceUnwritableFolders();
    await withLock(async () => {
      await install(note);
      if (command === 'build') await build();
      else if (!withoutBuild.has(command)) await buildIfChanged();
    });
    if (command in tasks) return await tasks[command].run(args);
    const { script, interactive } = programs[command];
    return await runForeground(nodeBinary, [script, ...args], {
      cwd: repositoryRoot,
      env: serviceEnvironment(),
      interactive,
    });
  } catch (error) {
    const message = error instanceof RunError ? error.message : unwritableCheckout(error);
    if (message === undefined) throw error;
    console.error(message);
    return 1;
  }
}

/**
 * Ends the programs that run at this moment together with this command. A package manager that is killed does not tell its
 * script. Without one, the parent is a shell, which may end before the command.
 */
function endOnSignals() {
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      for (const child of quietChildren) child.kill(signal);
      const isHandled = process.listenerCount(signal) > 1;
      if (!isHandled) process.exit(exitCode(null, signal));
    });
  }
  if (process.env.npm_lifecycle_event !== undefined) endWithParent();
}

const UNWRITABLE = {
  EACCES: 'permission is denied',
  EPERM: 'permission is denied',
  EROFS: 'it is read-only',
  ENOSPC: 'the disk is full',
};

/** The sentence about a file error in the checkout; undefined for other errors. */
function unwritableCheckout({ code, path }) {
  const reason = UNWRITABLE[code];
  if (reason === undefined || !(path ?? repositoryRoot).startsWith(repositoryRoot)) return undefined;
  return `The checkout ${repositoryRoot} cannot be written: ${reason} (${path ?? code}). uswarm installs and builds in it.`;
}
