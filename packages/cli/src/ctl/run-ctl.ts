import { basename } from 'node:path';
import { CommanderError } from 'commander';
import { exitWhenOutputCloses, usageExitCode } from '../command-line.js';
import { Failure } from '../failure.js';
import { createHttpClient, type HttpClient } from '../http-client.js';
import { type AdminClient, createAdminClient } from './admin-client.js';
import { type CommandResult, runCommand } from './commands.js';
import { findConnection } from './connection.js';
import { type CtlArguments, parseCtlArguments } from './ctl-arguments.js';
import { throughPortForward } from './port-forward.js';
import { verifyReceipts } from './receipts.js';
import { createAsk } from './secrets/ask.js';
import { verifySwarmFile } from './swarm-file.js';

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
  const { command, cluster } = args;
  // The Kubernetes client takes most of the start time, and other commands do not need it.
  switch (command.name) {
    case 'explain': {
      const { explain } = await import('./explain/explain.js');
      const report = (admin?: AdminClient) => explain({ ...command, ...cluster }, process.env, new Date(), admin);
      return namesOrchestrator(args) ? withAdmin(args, client, report) : report();
    }
    case 'why': {
      const { why } = await import('./why/why.js');
      return why({ ...command, ...cluster }, process.env);
    }
    case 'drain': {
      const { drain } = await import('./drain/drain.js');
      return drain({ ...command, ...cluster }, process.env);
    }
    case 'rollout status': {
      const { rolloutStatus } = await import('./rollout/rollout.js');
      return rolloutStatus({ ...command, ...cluster }, process.env);
    }
    case 'rollout force': {
      const { rolloutForce } = await import('./rollout/rollout.js');
      return rolloutForce({ ...command, ...cluster }, process.env);
    }
    case 'secrets create': {
      const { createProductionSecrets } = await import('./secrets/secrets.js');
      const ask = process.stdin.isTTY ? createAsk(process.stdin, process.stderr) : undefined;
      return createProductionSecrets({ ...command, ...cluster }, process.env, ask);
    }
    case 'receipt verify':
      return verifyReceipts(command);
    case 'swarm-file verify':
      return verifySwarmFile(command);
    default:
      return withAdmin(args, client, (admin) => runCommand(command, admin));
  }
}

/** `explain` works without the orchestrator. */
const namesOrchestrator = ({ url, portForward }: CtlArguments): boolean =>
  url !== undefined || portForward !== undefined || (process.env['USWARM_ADMIN_URL'] ?? '') !== '';

async function withAdmin<Result>(
  args: CtlArguments,
  http: HttpClient,
  use: (admin: AdminClient) => Promise<Result>,
): Promise<Result> {
  if (args.portForward === undefined) return use(createAdminClient(await findConnection(args, process.env), http));
  return throughPortForward(args.portForward, args.cluster, process.env, async (url) =>
    use(createAdminClient(await findConnection({ ...args, url }, process.env), http)),
  );
}
