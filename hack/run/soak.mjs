import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { JEST, nodeBinary, repositoryRoot, serviceEnvironment } from './environment.mjs';
import { runForeground } from './foreground.mjs';
import { RunError } from './run-error.mjs';

export const SOAK_USAGE = `Usage: npm run soak -- [turns | realtime] [--minutes N] [--seed N [--path P]]
       npm run soak -- reconnect [--away S]
Runs generated faults until the time is over or a rule is broken. A failure prints its schedule, seed and path.
  turns         faults of turns and calls of tools (the default)
  realtime      faults of gateways, orchestrators, the bus and the database, with three devices
  reconnect     default clients reconnect after the orchestrator was unavailable
  --minutes N   the time, in minutes; 10 by default
  --seed N      the seed of the schedules; a random one by default
  --path P      repeats only the failure with this path of the seed
  --away S      the time of the outage, in seconds; 120 by default`;

/** The property of each kind of soak test, and its file. */
const PROPERTIES = {
  turns: { file: 'services/orchestrator/src/turns/turn-faults.int.test.ts', name: 'no effect twice' },
  realtime: { file: 'services/local/src/realtime-schedules.int.test.ts', name: 'every device has' },
  reconnect: {
    file: 'services/local/src/default-clients.int.test.ts',
    name: 'after the orchestrator was unavailable',
  },
};

/** `npm run soak`: see the usage above. @returns the exit code */
export async function runSoak(args) {
  const { property, timeoutMs, environment } = readSoakSettings(args);
  const { file, name } = PROPERTIES[property];
  const selection = ['--selectProjects', 'int', '--testNamePattern', name, '--runTestsByPath', file];
  const folder = mkdtempSync(join(tmpdir(), 'uswarm-soak-'));
  const stopFile = join(folder, 'stop');
  const code = await runForeground(nodeBinary, [...JEST, '--forceExit', `--testTimeout=${timeoutMs}`, ...selection], {
    cwd: repositoryRoot,
    env: { ...serviceEnvironment(), ...environment, USWARM_SOAK_STOP_FILE: stopFile },
    interactive: false,
    // This test stops its servers and services itself.
    ...(property === 'realtime' && { deliver: createStop(stopFile) }),
  });
  rmSync(folder, { recursive: true, force: true });
  if (code !== 0 && property !== 'reconnect')
    console.log(`To repeat a failure: npm run soak -- ${property} --seed <seed> --path <path>`);
  return code;
}

/** Creates the file at the first signal, and forwards later ones. */
export function createStop(file) {
  let isStopping = false;
  return (child, signal) => {
    if (isStopping) return void child.kill(signal);
    isStopping = true;
    console.log('Stopping. The running schedule has no result.');
    writeFileSync(file, '');
  };
}

/** @returns what to run, and variables for the tests @throws RunError with the usage */
export function readSoakSettings(args) {
  const { property, minutes, seed, path, away } = readArguments(args);
  if (!(Number(away) > 0)) throw new RunError(`--away must be a positive number.\n\n${SOAK_USAGE}`);
  if (property === 'reconnect') {
    return { property, timeoutMs: timeoutAfter(Number(away) * 1_000), environment: { USWARM_SOAK_AWAY_S: away } };
  }
  if (!(Number(minutes) > 0)) throw new RunError(`--minutes must be a positive number.\n\n${SOAK_USAGE}`);
  if (seed !== undefined && !Number.isInteger(Number(seed))) {
    throw new RunError(`--seed must be an integer.\n\n${SOAK_USAGE}`);
  }
  if (path !== undefined && (seed === undefined || !/^\d+(:\d+)*$/.test(path))) {
    throw new RunError(`--path must be a path that a failure printed, together with its --seed.\n\n${SOAK_USAGE}`);
  }
  return {
    property,
    timeoutMs: timeoutAfter(Number(minutes) * 60_000),
    environment: {
      USWARM_SOAK_MINUTES: minutes,
      ...(seed === undefined ? {} : { USWARM_SOAK_SEED: seed }),
      ...(path === undefined ? {} : { USWARM_SOAK_PATH: path }),
    },
  };
}

/** The last schedule ends after the time. */
const timeoutAfter = (ms) => ms + 900_000;

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
    away: { type: 'string', default: '120' },
  };
  try {
    const { values, positionals } = parseArgs({ args: withNegativeSeed(args), options, allowPositionals: true });
    const [property = 'turns', ...more] = positionals;
    if (!Object.hasOwn(PROPERTIES, property) || more.length > 0) throw new Error('Name one kind of faults.');
    return { property, ...values };
  } catch (error) {
    throw new RunError(`${error.message}\n\n${SOAK_USAGE}`);
  }
}
