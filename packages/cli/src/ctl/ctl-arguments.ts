import { AdminTurnStatus, LegalDocumentName } from '@uswarm/contract';
import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { type CommandLineOutput, httpOrigin } from '../command-line.js';
import type { ClusterOptions } from './cluster.js';
import { addClusterCommands, type ClusterCommand } from './cluster-arguments.js';
import { durationS } from './duration.js';
import type { Target } from './secrets/secret-manifests.js';

/** A command with its operands and options. */
export type CtlCommand =
  | { name: 'user show'; user: string }
  | { name: 'user ban' | 'user unban'; user: string; reason: string }
  | { name: 'user plan'; user: string; plan: string; until: string | null; reason: string }
  | { name: 'export'; user: string; file: string | undefined; reason: string }
  | { name: 'workspace show'; workspaceId: string }
  | { name: 'legal list' }
  | { name: 'legal publish'; document: LegalDocumentName; version: string; file: string }
  | {
      name: 'turns list';
      status: AdminTurnStatus | undefined;
      workspaceId: string | undefined;
      olderThanS: number;
      limit: number;
    }
  | { name: 'trace'; id: string }
  | { name: 'turns requeue'; turnIds: string[]; reason: string }
  | { name: 'epoch bump'; reason: string }
  | { name: 'tools list' }
  | { name: 'tools accept'; server: string; tools: string[] | undefined }
  | { name: 'audit'; user: string | undefined; limit: number }
  | { name: 'receipt verify'; file: string; keys: string | undefined }
  | { name: 'swarm-file verify'; file: string; keys: string | undefined }
  | ClusterCommand
  | ({ name: 'secrets create'; dryRun: boolean; out: string | undefined } & Target);

export interface CtlArguments {
  command: CtlCommand;
  json: boolean;
  /** Internal API; by default from the environment or the data folder. */
  url: string | undefined;
  /** Namespace of the orchestrator to which kubectl forwards a port, instead of `url`. */
  portForward: string | undefined;
  cluster: ClusterOptions;
  keyFile: string | undefined;
  tokenCommand: string | undefined;
  dataDir: string | undefined;
  as: string | undefined;
}

/** Commands that use the Kubernetes API themselves. */
const CLUSTER_COMMANDS: ReadonlySet<CtlCommand['name']> = new Set<ClusterCommand['name'] | 'secrets create'>([
  'explain',
  'why',
  'drain',
  'rollout status',
  'rollout force',
  'secrets create',
]);

type Select = (command: CtlCommand) => void;
type GeneralOptions = Partial<Omit<CtlArguments, 'command' | 'json' | 'cluster'> & ClusterOptions> & {
  json?: boolean;
  output?: 'json' | 'text';
};

/**
 * Parses the command line of `uswarmctl`. Without arguments it prints the help.
 *
 * @param name how the program is called, for its help
 * @throws CommanderError after help or a usage error was printed
 */
export function parseCtlArguments(
  args: readonly string[],
  output: CommandLineOutput = {},
  name = 'npm run ctl --',
): CtlArguments {
  let selected: CtlCommand | undefined;
  const program = newProgram(name, output);
  program.addHelpText('before', ({ error }) => (error ? missingCommand('command', program) : ''));
  const select: Select = (command) => (selected = command);
  addUserCommands(program, select);
  addExportCommand(program, select);
  addWorkspaceCommands(program, select);
  addLegalCommands(program, select);
  addTurnCommands(program, select);
  addTraceCommand(program, select);
  addEpochCommand(program, select);
  addToolCommands(program, select);
  addAuditCommand(program, select);
  addReceiptCommands(program, select);
  addSwarmFileCommands(program, select);
  addClusterCommands(program, select);
  addSecretsCommand(program, select);
  program.parse(args.length === 0 ? ['--help'] : args, { from: 'user' });
  if (selected === undefined) return program.help({ error: true });
  const { json = false, output: format, kubeconfig, context, ...general } = program.opts<GeneralOptions>();
  const { url, portForward, keyFile, tokenCommand, dataDir, as } = general;
  const connection = { url, portForward, keyFile, tokenCommand, dataDir, as };
  // Else the command would go to another installation.
  if ((kubeconfig ?? context) !== undefined && portForward === undefined && !CLUSTER_COMMANDS.has(selected.name)) {
    program.error('error: --kubeconfig and --context need --port-forward');
  }
  return { command: selected, json: json || format === 'json', cluster: { kubeconfig, context }, ...connection };
}

function newProgram(name: string, output: CommandLineOutput): Command {
  return new Command(name)
    .description(
      'uswarmctl: administer a running uswarm through the internal API of its orchestrator.\n' +
        'The audit log records each access to user data and each change.',
    )
    .option('--json', 'print JSON')
    .addOption(new Option('-o, --output <format>', 'json or text, as with kubectl').choices(['json', 'text']))
    .option('--as <name>', 'operator name for the audit log (default: your user name on this machine)')
    .option('--url <url>', 'internal API (default: USWARM_ADMIN_URL)', httpOrigin)
    .addOption(
      new Option(
        '--port-forward <namespace>',
        'reach the orchestrator in this namespace with kubectl port-forward',
      ).conflicts('url'),
    )
    .option('--kubeconfig <file>', 'kubeconfig (default: KUBECONFIG)')
    .option('--context <name>', 'context of the kubeconfig (default: its current context)')
    .option('--key-file <file>', 'file with the operator key (default: USWARM_ADMIN_KEY contains the key)')
    .option(
      '--token-command <command>',
      'command that prints a token of an OpenID Connect issuer (default: USWARM_TOKEN contains the token)',
    )
    .option('--data-dir <dir>', 'data folder of npm start, used without --url (default: USWARM_DATA_DIR, else .data)')
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError(`See: ${name} --help`)
    .configureOutput(output)
    .exitOverride();
}

function missingCommand(kind: 'command' | 'subcommand', { commands }: Command): string {
  return `error: missing ${kind}. Expected one of: ${commands.map((command) => command.name()).join(', ')}\n`;
}

/** A command with subcommands. */
function addGroup(program: Command, name: string, description: string): Command {
  const group = program.command(name).description(description);
  return group.addHelpText('before', ({ error }) => (error ? missingCommand('subcommand', group) : ''));
}

const userArgument = () => new Argument('<user>', 'id, e-mail address, or uid at the identity provider');
const reasonOption = () => new Option('--reason <text>', 'reason for the audit log').default('', 'none');
const limitOption = () =>
  new Option('--limit <number>', 'maximum number of rows, 1 to 500').argParser(rowLimit).default(50);

function addExportCommand(program: Command, select: Select): void {
  program
    .command('export')
    .description("write a user's data to a ZIP archive, as the user's own data export does")
    .addArgument(userArgument())
    .option('--out <file>', 'archive (default: a new file in the current folder)')
    .addOption(reasonOption())
    .action((name: string, { out, reason }: { out?: string; reason: string }) =>
      select({ name: 'export', user: name, file: out, reason }),
    );
}

function addUserCommands(program: Command, select: Select): void {
  const user = addGroup(program, 'user', 'manage users');
  user
    .command('show')
    .description('show a user: plan, current-month usage, workspaces, devices')
    .addArgument(userArgument())
    .action((name: string) => select({ name: 'user show', user: name }));
  user
    .command('ban')
    .description('ban a user: reject requests and close connections')
    .addArgument(userArgument())
    .addOption(reasonOption())
    .action((name: string, { reason }: { reason: string }) => select({ name: 'user ban', user: name, reason }));
  user
    .command('unban')
    .description('lift the ban of a user')
    .addArgument(userArgument())
    .addOption(reasonOption())
    .action((name: string, { reason }: { reason: string }) => select({ name: 'user unban', user: name, reason }));
  user
    .command('plan')
    .description('change the plan of a user')
    .addArgument(userArgument())
    .argument('<plan>', 'plan, such as free or pro')
    .option('--until <date>', 'end of the plan, such as 2027-01-31 (UTC) (default: no expiry)', timestamp)
    .addOption(reasonOption())
    .action((name: string, plan: string, { until, reason }: { until?: string; reason: string }) =>
      select({ name: 'user plan', user: name, plan, until: until ?? null, reason }),
    );
}

function addWorkspaceCommands(program: Command, select: Select): void {
  addGroup(program, 'workspace', 'show workspaces')
    .command('show')
    .description('show a workspace: runtime, messages, turns, current-month usage')
    .argument('<id>', 'workspace id')
    .action((workspaceId: string) => select({ name: 'workspace show', workspaceId }));
}

function addLegalCommands(program: Command, select: Select): void {
  const legal = addGroup(program, 'legal', 'manage legal documents');
  legal
    .command('list')
    .description('list the versions of the legal documents, newest first')
    .action(() => select({ name: 'legal list' }));
  legal
    .command('publish')
    .description('publish a new version, which users have to accept')
    .addArgument(new Argument('<document>', 'legal document').choices(LegalDocumentName.options))
    .argument('<version>', 'version')
    .argument('<file>', 'file with the text')
    .action((document: LegalDocumentName, version: string, file: string) =>
      select({ name: 'legal publish', document, version, file }),
    );
}

interface ListTurnsOptions {
  status?: AdminTurnStatus;
  workspace?: string;
  olderThan: number;
  limit: number;
}

function addTurnCommands(program: Command, select: Select): void {
  const turns = addGroup(program, 'turns', 'manage turns');
  turns
    .command('list')
    .description('list queued and running turns, oldest first; with --status failed, failed turns, newest first')
    .addOption(new Option('--status <status>', 'only turns with this status').choices(AdminTurnStatus.options))
    .option('--workspace <id>', 'only turns of this workspace')
    .addOption(
      new Option('--older-than <duration>', 'minimum age, such as 90s, 5m, 2h or 1d')
        .argParser(durationS)
        .default(0, '0s'),
    )
    .addOption(limitOption())
    .action(({ status, workspace, olderThan, limit }: ListTurnsOptions) =>
      select({ name: 'turns list', status, workspaceId: workspace, olderThanS: olderThan, limit }),
    );
  turns
    .command('requeue')
    .description('requeue turns: revoke the lease of a queued or running turn, restart a failed turn')
    .argument('<id...>', 'turn ids')
    .addOption(reasonOption())
    .action((turnIds: string[], { reason }: { reason: string }) => select({ name: 'turns requeue', turnIds, reason }));
}

function addTraceCommand(program: Command, select: Select): void {
  program
    .command('trace')
    .summary('show when a turn did what')
    .description('Show when a turn did what: model calls, tools, decisions and tasks, without what anyone wrote.')
    .argument('<id>', 'turn id, or workspace id for its newest turn')
    .action((id: string) => select({ name: 'trace', id }));
}

function addEpochCommand(program: Command, select: Select): void {
  addGroup(program, 'epoch', 'manage the epoch of the events')
    .command('bump')
    .summary('change the epoch, so that all clients reload')
    .description(
      'Change the epoch of the events, so that all clients reload their workspaces.\n' +
        'Needed after the database was replaced by an older copy of itself, such as the snapshot of a volume. A failover and a\n' +
        'point-in-time recovery change the epoch without this command.',
    )
    .addOption(reasonOption())
    .action(({ reason }: { reason: string }) => select({ name: 'epoch bump', reason }));
}

function addToolCommands(program: Command, select: Select): void {
  const tools = addGroup(program, 'tools', 'manage the tools of tool servers');
  tools
    .command('list')
    .description('list the tools of tool servers; of a changed tool, the accepted and the new definition')
    .action(() => select({ name: 'tools list' }));
  tools
    .command('accept')
    .summary('accept changed tools')
    .description('Accept changed tools. Agents can use them again, as the server describes them now.')
    .argument('<server>', 'id of the tool server')
    .argument('[tool...]', 'names of tools (default: all changed tools of the server)')
    .action((server: string, names: string[]) =>
      select({ name: 'tools accept', server, tools: names.length === 0 ? undefined : names }),
    );
}

function addAuditCommand(program: Command, select: Select): void {
  program
    .command('audit')
    .description('list the audit log, newest first')
    .option('--user <user>', 'only entries about this user')
    .addOption(limitOption())
    .action(({ user, limit }: { user?: string; limit: number }) => select({ name: 'audit', user, limit }));
}

function addReceiptCommands(program: Command, select: Select): void {
  addGroup(program, 'receipt', 'verify receipts of calls')
    .command('verify')
    .summary('verify the signatures of receipts')
    .description(
      'Verify the signatures of receipts, and that they contain what was signed.\n' +
        'Reads only the two files, and needs no connection. Exits with 0 if all receipts are valid, else with 1.',
    )
    .argument('<file>', 'one receipt, or a list as GET /v1/receipts or the data export contain it')
    .option('--keys <file>', 'public keys of GET /v1/receipt-keys (default: receipt-keys.json beside the file)')
    .action((file: string, { keys }: { keys?: string }) => select({ name: 'receipt verify', file, keys }));
}

function addSwarmFileCommands(program: Command, select: Select): void {
  addGroup(program, 'swarm-file', 'verify exported workspaces')
    .command('verify')
    .summary('verify a .uswarm file')
    .description(
      'Verify the signature of a .uswarm file, all its members, and the receipts in it.\n' +
        'Reads only the files, and needs no connection. Exits with 0 if everything is valid, else with 1.',
    )
    .argument('<file>', 'exported workspace')
    .option('--keys <file>', 'public keys of GET /v1/receipt-keys (default: those in the file, which show no origin)')
    .action((file: string, { keys }: { keys?: string }) => select({ name: 'swarm-file verify', file, keys }));
}

type SecretsOptions = Target & { dryRun?: boolean; out?: string };

function addSecretsCommand(program: Command, select: Select): void {
  addGroup(program, 'secrets', 'create the Secrets of an installation')
    .command('create')
    .summary('create the Secrets of deploy/production that do not exist')
    .description(
      'Create the Secrets of deploy/production that do not exist, and the namespaces. Existing Secrets are kept.\n' +
        'Keys are generated. Other values are in variables such as USWARM_DATABASE_URL, or in the file that\n' +
        'USWARM_DATABASE_URL_FILE names; at a terminal, the command asks for them. --dry-run lists all. No value is printed.',
    )
    .option('--namespace <name>', "the release's namespace", 'backend')
    .option('--runtime-namespace <name>', 'namespace of the runtimes', 'userswarms')
    .option('--release <name>', 'name of the Helm release', 'uswarm')
    .option('--skip <name...>', 'Secrets that something else creates, such as uswarm-tls', [])
    .addOption(
      new Option('--out <file>', 'write new Secrets with their values to a file instead of the cluster').conflicts(
        'dryRun',
      ),
    )
    .option('--dry-run', 'print the Secrets without their values, and create nothing')
    .action(({ namespace, runtimeNamespace, release, skip, dryRun = false, out }: SecretsOptions) =>
      select({ name: 'secrets create', namespace, runtimeNamespace, release, skip, dryRun, out }),
    );
}

function rowLimit(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > 500) {
    throw new InvalidArgumentError('It must be a number from 1 to 500.');
  }
  return value;
}

function timestamp(text: string): string {
  const [, date = ''] = /^(\d{4}-\d{2}-\d{2})(T[\d:.]+(Z|[+-]\d{2}:\d{2}))?$/.exec(text) ?? [];
  const time = isDate(date) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time)) throw new InvalidArgumentError('It must be a date such as 2027-01-31 (UTC).');
  return new Date(time).toISOString();
}

/** `Date.parse` reads February 30 as March 2. */
function isDate(text: string): boolean {
  const time = Date.parse(text);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}
