import { basename } from 'node:path';
import { CommanderError } from 'commander';
import { exitWhenOutputCloses, usageExitCode } from '../command-line.js';
import { Failure } from '../failure.js';
import { createHttpClient, type HttpClient } from '../http-client.js';
import { type AdminClient, createAdminClient } from './admin-client.js';
import { type CommandResult, runCommand } from './commands.js';
import { findConnection } from './connection.js';
import { type CtlArguments, parseCtlArguments } from './ctl-arguments.js';
import { verifyReceipts } from './receipts.js';
import { createAsk } from './secrets/ask.js';

/** Runs a command line. Sets the exit code: 0 on success, 2 after a usage error, else 1. */
export async function runCtl([, script = '', ...line]: readonly string[]): Promise<void> {
  exitWhenOutputCloses(process);
  const http = createHttpClient();
  try {
    const args = parseCtlArguments(line, {}, programName([process.argv0, script]));
    const { json, text, partial = false } = await run(args, http);
    process.stdout.write(`${args.json ? JSON.stringify(json, undefined, 2) : text}\n`);
    process.exitCode = partial ? 1 : 0;
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = usageExitCode(error);
    } else if (error instanceof Failure) {
      process.stderr.write(`${error.message}\n`);
      process.exitCode = 1;
    } else {
      throw error;
    }
  } finally {
    await http.close();
  }
}

/** kubectl runs a plugin by its file name, which may be a link: a single executable file sees only its first argument. */
function programName(files: readonly string[]): string {
  const names = files.map((file) => basename(file));
  if (names.some((name) => name.startsWith('kubectl-uswarm'))) return 'kubectl uswarm';
  return names.includes('uswarmctl.js') ? 'npm run ctl --' : 'uswarmctl';
}

async function run(args: CtlArguments, client: HttpClient): Promise<CommandResult> {
  const { command } = args;
  // The Kubernetes client takes most of the start time, and other commands do not need it.
  if (command.name === 'explain') {
    const { explain } = await import('./explain/explain.js');
    return explain(command, process.env, new Date(), await adminOf(args, client));
  }
  if (command.name === 'why') {
    const { why } = await import('./why/why.js');
    return why(command, process.env);
  }
  if (command.name === 'drain') {
    const { drain } = await import('./drain/drain.js');
    return drain(command, process.env);
  }
  if (command.name === 'rollout status' || command.name === 'rollout force') {
    const { rolloutForce, rolloutStatus } = await import('./rollout/rollout.js');
    return command.name === 'rollout status' ? rolloutStatus(command, process.env) : rolloutForce(command, process.env);
  }
  if (command.name === 'secrets create') {
    const { createProductionSecrets } = await import('./secrets/secrets.js');
    const ask = process.stdin.isTTY ? createAsk(process.stdin, process.stderr) : undefined;
    return createProductionSecrets(command, process.env, ask);
  }
  if (command.name === 'receipt verify') return verifyReceipts(command);
  return runCommand(command, createAdminClient(await findConnection(args, process.env), client));
}

/** The orchestrator, if options or environment name it: `explain` works without it. */
async function adminOf(args: CtlArguments, client: HttpClient): Promise<AdminClient | undefined> {
  if (args.url === undefined && (process.env['USWARM_ADMIN_URL'] ?? '') === '') return undefined;
  return createAdminClient(await findConnection(args, process.env), client);
}
