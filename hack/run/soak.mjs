import { parseArgs } from 'node:util';
import { nodeBinary, repositoryRoot, serviceEnvironment } from './environment.mjs';
import { runForeground } from './foreground.mjs';
import { RunError } from './run-error.mjs';

const USAGE = `Usage: npm run soak -- [--minutes N] [--seed N [--path P]] | --away S
Runs turns with generated faults until the time is over or a rule is broken. A failure prints its schedule, seed and path.
  --minutes N   the time, in minutes; 10 by default
  --seed N      the seed of the schedules; a random one by default
  --path P      repeats only the failure with this path of the seed
  --away S      instead, checks that default clients reconnect after the orchestrator was unavailable for S seconds`;

const TESTS = 'services/orchestrator/src/features/turns/turn-faults.int.test.ts';
const PROPERTY = 'no effect twice';
const CLIENTS = 'services/local/src/default-clients.int.test.ts';
const RECONNECT = 'after the orchestrator was unavailable';

/** `npm run soak`: see the usage above. @returns the exit code */
export async function runSoak(args) {
  const jest = ['--experimental-vm-modules', '--no-warnings=ExperimentalWarning', 'node_modules/jest/bin/jest.js'];
  const settings = readSoakSettings(args);
  const [name, file] = settings.USWARM_SOAK_AWAY_S === undefined ? [PROPERTY, TESTS] : [RECONNECT, CLIENTS];
  const selection = ['--selectProjects', 'int', '--testNamePattern', name, '--runTestsByPath', file];
  const code = await runForeground(nodeBinary, [...jest, ...selection], {
    cwd: repositoryRoot,
    env: { ...serviceEnvironment(), ...settings },
    interactive: false,
  });
  if (code !== 0 && file === TESTS) console.log('To repeat a failure: npm run soak -- --seed <seed> --path <path>');
  return code;
}

/** @returns variables for the tests @throws RunError with the usage */
export function readSoakSettings(args) {
  const { minutes, seed, path, away } = readArguments(args);
  if (away !== undefined) {
    if (!(Number(away) > 0)) throw new RunError(`--away must be a positive number.\n\n${USAGE}`);
    return { USWARM_SOAK_AWAY_S: away };
  }
  if (!(Number(minutes) > 0)) throw new RunError(`--minutes must be a positive number.\n\n${USAGE}`);
  if (seed !== undefined && !Number.isInteger(Number(seed))) {
    throw new RunError(`--seed must be an integer.\n\n${USAGE}`);
  }
  if (path !== undefined && (seed === undefined || !/^\d+(:\d+)*$/.test(path))) {
    throw new RunError(`--path must be a path that a failure printed, together with its --seed.\n\n${USAGE}`);
  }
  return {
    USWARM_SOAK_MINUTES: minutes,
    ...(seed === undefined ? {} : { USWARM_SOAK_SEED: seed }),
    ...(path === undefined ? {} : { USWARM_SOAK_PATH: path }),
  };
}

/** Seeds can be negative, and `parseArgs` takes `-5` for an option. */
const withNegativeSeed = (args) =>
  args.flatMap((arg, index) => {
    if (args[index - 1] === '--seed') return [];
    return arg === '--seed' && args[index + 1] !== undefined ? [`--seed=${args[index + 1]}`] : [arg];
  });

function readArguments(args) {
  const options = {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string' },
    path: { type: 'string' },
    away: { type: 'string' },
  };
  try {
    return parseArgs({ args: withNegativeSeed(args), options }).values;
  } catch (error) {
    throw new RunError(`${error.message}\n\n${USAGE}`);
  }
}
