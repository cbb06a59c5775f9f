import { CommanderError } from 'commander';
import { exitWhenOutputCloses, usageExitCode } from './command-line.js';
import { type AdminClient, createAdminClient } from './ctl/admin-client.js';
import { type CommandResult, runCommand } from './ctl/commands.js';
import { findConnection } from './ctl/connection.js';
import { type CtlArguments, parseCtlArguments } from './ctl/ctl-arguments.js';
import { createAsk } from './ctl/secrets/ask.js';
import { verifyReceipts } from './ctl/receipts.js';
import { Failure } from './failure.js';
import { createHttpClient, type HttpClient } from './http-client.js';

// uswarmctl, run by `npm run ctl`: exits with 0 on success, 2 after a usage error, else 1.
exitWhenOutputCloses(process);
const http = createHttpClient();
try {
  const args = parseCtlArguments(process.argv.slice(2));
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

async function run(args: CtlArguments, client: HttpClient): Promise<CommandResult> {
  const { command } = args;
  if (command.name === 'explain') {
    // The Kubernetes client takes most of the start time, and no other command needs it.
    const { explain } = await import('./ctl/explain/explain.js');
    return explain(command, process.env, new Date(), await adminOf(args, client));
  }
  if (command.name === 'secrets create') {
    const { createProductionSecrets } = await import('./ctl/secrets/secrets.js');
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
