import { parseArgs } from 'node:util';
import { CASES } from './cases.js';

/**
 * Long conversations, each of another user: the orchestrator runs one search per user at a time, so that searches of
 * one user alone measure a queue.
 */
export const LONG_CONVERSATIONS = 4;

/** How a run is done. Two runs can be compared where all of it is the same. */
export interface Settings {
  small: boolean;
  messages: number;
  workspaces: number;
  /** Messages of each long conversation. */
  conversation: number;
  /** Of one measurement, after its warm-up. */
  seconds: number;
  warmUpSeconds: number;
  /** Measurements of each case on each side; the median counts. */
  rounds: number;
  /** Of the load generator. */
  connections: number;
  /** Connections to Postgres, of either side. */
  pool: number;
}

export type Command = { do: 'run'; settings: Settings; only: string | undefined } | { do: 'compare' | 'keep' | 'help' };

/** A mistake of the caller: only its message is printed. */
export class BenchError extends Error {
  override name = 'BenchError';
}

export const USAGE = `npm run bench -- [settings]     runs the benchmarks and writes bench/results/<date>-<commit>.json
npm run bench -- --compare      compares the newest of them with the baseline; exits 1 where a ratio got worse by > 20 %
npm run bench -- --keep         makes the newest of them the baseline
npm run bench -- runtime        starts the agent runtime beside bare Node: time, CPU, memory; --rounds <n> starts each (11)
  --messages <n>       in all (1000000)          --seconds <n>      of a measurement (10)
  --workspaces <n>     (240)                     --warm-up <n>      seconds before it (3)
  --conversation <n>   of each long one (50000)  --rounds <n>       of each measurement (3)
  --connections <n>    of the generator (32)     --pool <n>         connections to Postgres (20)
  --only <case>        measures one case; the result is printed and not saved
  --small              a few seconds of everything, to see that it works; its numbers mean nothing and are not kept`;

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
    if (!Number.isInteger(value) || value < 1) throw new BenchError(`--${name} is a whole number from 1.\n\n${USAGE}`);
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
    throw new BenchError(`--only is one of ${CASES.map(({ name }) => name).join(', ')}.\n\n${USAGE}`);
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
