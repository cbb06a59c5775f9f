import { availableParallelism } from 'node:os';
import type { Transport } from './server/seen.js';

export const USAGE = `Usage: npm run client-conformance -- [options] <command…>
Starts the command once for each scenario, with a scripted server, and checks what it shows and sends.
docs/client-conformance.md describes what the command must do.
  --transport socket|sse   socket by default
  --only <scenario>        may be repeated
  --list                   prints the scenarios
  --json                   prints the results as JSON
  --jobs <n>               scenarios at a time; 4 per core by default
  --patience <seconds>     until an expectation must hold; 15 by default`;

export interface Arguments {
  command: string[];
  transport: Transport;
  only: string[];
  list: boolean;
  json: boolean;
  help: boolean;
  jobs: number;
  patienceMs: number;
}

export class UsageError extends Error {}

/** Everything from the first argument that is not an option belongs to the command. @throws UsageError */
export function readArguments(args: readonly string[]): Arguments {
  const result: Arguments = {
    command: [],
    transport: 'socket',
    only: [],
    list: false,
    json: false,
    help: false,
    jobs: 4 * availableParallelism(),
    patienceMs: 15_000,
  };
  const rest = [...args];
  while (rest[0]?.startsWith('--') === true) {
    const name = rest.shift();
    if (name === '--') break;
    else if (name === '--list' || name === '--json' || name === '--help') result[name.slice(2) as 'list'] = true;
    else if (name === '--transport') result.transport = transportOf(rest.shift());
    else if (name === '--only') result.only.push(valueOf('--only', rest.shift()));
    else if (name === '--jobs') result.jobs = Math.floor(numberOf('--jobs', rest.shift()));
    else if (name === '--patience') result.patienceMs = 1_000 * numberOf('--patience', rest.shift());
    else throw new UsageError(`Unknown option ${name}`);
  }
  result.command = rest;
  if (!result.list && !result.help && rest.length === 0) throw new UsageError('The command of the client is missing');
  return result;
}

function valueOf(name: string, value: string | undefined): string {
  if (value === undefined) throw new UsageError(`${name} needs a value`);
  return value;
}

function transportOf(value: string | undefined): Transport {
  if (value === 'socket' || value === 'sse') return value;
  throw new UsageError('--transport is socket or sse');
}

function numberOf(name: string, value: string | undefined): number {
  const number = Number(valueOf(name, value));
  if (!(number >= 1)) throw new UsageError(`${name} needs a number from 1 on`);
  return number;
}
