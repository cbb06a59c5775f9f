import { parseArgs } from 'node:util';
import { CASES } from './cases.js';

/**
 * Long conversations, each with a different user: the orchestrator runs one search per user at a time, so one user's
 * searches would measure its queue.
 */
export const LONG_CONVERSATIONS = 4;

/** Run settings. Two runs can be compared only if all settings are equal. */
export interface Settings {
  small: boolean;
  messages: number;
  workspaces: number;
  /** Messages per long conversation. */
  conversation: number;
  /** Measurement duration in seconds, after the warm-up. */
  seconds: number;
  warmUpSeconds: number;
  /** Measurements per case and side; the result is the median. */
  rounds: number;
  /** The load generator's connections. */
  connections: number;
  /** Connections to Postgres per side. */
  pool: number;
}

export type Command = { do: 'run'; settings: Settings; only: string | undefined } | { do: 'compare' | 'keep' | 'help' };

/** An expected error. Only its message is printed. */
export class BenchError extends Error {
  override name = 'BenchError';
}

export const USAGE = `Usage: npm run bench -- [options]             run the benchmarks and write bench/results/<date>-<commit>.json
       npm run bench -- --compare             compare the newest result with the baseline; exit with 1 if a ratio is
                                              more than 20 % worse
       npm run bench -- --keep                save the newest result as the baseline
       npm run bench -- runtime [--rounds N]  compare starts of the agent runtime and of Node.js: time, CPU, memory
       npm run bench -- agents [--answers N] [--seconds N] [--rounds N] [--part answers|turns] [--small]
                                              compare answers of the runtime and calls of the model gateway with calls
                                              of the model server; measure turns with tools, stops, crashes, approvals
       npm run bench -- controller [--swarms N] [--profile FOLDER]
                                              measure the controller with a simulated cluster: CPU, garbage collection
                                              and writes per UserSwarm; write CPU profiles to the folder
       npm run bench -- schedules [--schedules N] [--small]
                                              measure the start of schedules that are due in the same minute
       npm run bench -- realtime [--part NAME] [--small]
                                              measure the way of events from the database to clients

Options (default):
  --messages N       number of messages (1000000)
  --workspaces N     number of workspaces (240)
  --conversation N   messages per long conversation (50000)
  --connections N    connections of the load generator (32)
  --pool N           connections to Postgres (20)
  --seconds N        duration of a measurement (10)
  --warm-up N        duration of the warm-up in seconds (3)
  --rounds N         rounds per measurement (3; runtime: 11)
  --only CASE        run one case and print the result without saving it
  --small            smoke test of a few seconds; the result is not saved`;

const FULL = {
  messages: '1000000',
  workspaces: '240',
  conversation: '50000',
  seconds: '10',
  'warm-up': '3',
  rounds: '3',
  connections: '32',
  pool: '20',
};
const SMALL: typeof FULL = {
  ...FULL,
  messages: '10000',
  workspaces: '20',
  conversation: '2000',
  seconds: '1',
  'warm-up': '1',
  rounds: '1',
  connections: '8',
};

/** @throws BenchError with the usage */
export function readCommand(args: string[]): Command {
  const values = readArguments(args);
  if (values.help === true) return { do: 'help' };
  if (values.compare === true) return { do: 'compare' };
  if (values.keep === true) return { do: 'keep' };
  const small = values.small === true;
  const number = (name: keyof typeof FULL): number => {
    const value = Number(values[name] ?? (small ? SMALL : FULL)[name]);
    if (!Number.isInteger(value) || value < 1)
      throw new BenchError(`--${name} must be a positive integer.\n\n${USAGE}`);
    return value;
  };
  const settings = {
    small,
    messages: number('messages'),
    workspaces: number('workspaces'),
    conversation: number('conversation'),
    seconds: number('seconds'),
    warmUpSeconds: number('warm-up'),
    rounds: number('rounds'),
    connections: number('connections'),
    pool: number('pool'),
  };
  if (settings.messages <= LONG_CONVERSATIONS * settings.conversation) {
    const rule = `--messages includes the ${LONG_CONVERSATIONS} long conversations: it must exceed ${LONG_CONVERSATIONS} × --conversation`;
    throw new BenchError(`${rule}.\n\n${USAGE}`);
  }
  if (settings.workspaces <= LONG_CONVERSATIONS) {
    throw new BenchError(
      `--workspaces must exceed the ${LONG_CONVERSATIONS} that have a long conversation.\n\n${USAGE}`,
    );
  }
  const only = values.only;
  if (only !== undefined && CASES.every(({ name }) => name !== only)) {
    throw new BenchError(`--only must be one of ${CASES.map(({ name }) => name).join(', ')}.\n\n${USAGE}`);
  }
  return { do: 'run', settings, only };
}

function readArguments(args: string[]) {
  const text = { type: 'string' } as const;
  const toggle = { type: 'boolean' } as const;
  try {
    return parseArgs({
      args,
      options: {
        messages: text,
        workspaces: text,
        conversation: text,
        seconds: text,
        'warm-up': text,
        rounds: text,
        connections: text,
        pool: text,
        only: text,
        small: toggle,
        compare: toggle,
        keep: toggle,
        help: toggle,
      },
    }).values;
  } catch (error) {
    throw new BenchError(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  }
}
