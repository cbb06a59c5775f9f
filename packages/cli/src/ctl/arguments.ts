import { parseArgs, type ParseArgsConfig } from 'node:util';
import { AdminTurnStatus, LegalDocumentName } from '@uswarm/contract';
import { USERSWARM_NAME, USERSWARM_NAME_LENGTH, userSwarmName } from '@uswarm/contract/userswarm';
import { Failure } from '../failure.js';

/** What to do, as far as the command line alone can say. */
export type Command =
  | { name: 'help' }
  | { name: 'user show'; user: string }
  | { name: 'user ban' | 'user unban'; user: string; reason: string }
  | { name: 'user plan'; user: string; plan: string; until: string | null; reason: string }
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
  | { name: 'turns requeue'; turnIds: string[]; reason: string }
  | { name: 'audit'; user: string | undefined; limit: number }
  | { name: 'explain'; swarm: string; kubeconfig: string | undefined; context: string | undefined };

export interface CtlArguments {
  command: Command;
  json: boolean;
  /** Where the internal API is; else the environment or the data folder says it. */
  url: string | undefined;
  keyFile: string | undefined;
  dataDir: string | undefined;
  as: string | undefined;
}

const OPTIONS = {
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
  url: { type: 'string' },
  'key-file': { type: 'string' },
  'data-dir': { type: 'string' },
  as: { type: 'string' },
  reason: { type: 'string' },
  until: { type: 'string' },
  status: { type: 'string' },
  workspace: { type: 'string' },
  'older-than': { type: 'string' },
  user: { type: 'string' },
  limit: { type: 'string' },
  kubeconfig: { type: 'string' },
  context: { type: 'string' },
} as const satisfies ParseArgsConfig['options'];

type Values = ReturnType<typeof parseOrFail>['values'];
type OptionName = keyof typeof OPTIONS;

/** Taken by every command. */
const GENERAL: readonly OptionName[] = ['json', 'help', 'url', 'key-file', 'data-dir', 'as'];

interface CommandSpec {
  operands: string;
  options: readonly OptionName[];
  read(operands: string[], values: Values): Command | undefined;
}

const COMMANDS: Record<string, CommandSpec> = {
  'user show': {
    operands: '<user>',
    options: [],
    read: ([user]) => (user === undefined ? undefined : { name: 'user show', user }),
  },
  'user ban': {
    operands: '<user>',
    options: ['reason'],
    read: ([user], { reason = '' }) => (user === undefined ? undefined : { name: 'user ban', user, reason }),
  },
  'user unban': {
    operands: '<user>',
    options: ['reason'],
    read: ([user], { reason = '' }) => (user === undefined ? undefined : { name: 'user unban', user, reason }),
  },
  'user plan': {
    operands: '<user> <plan>',
    options: ['until', 'reason'],
    read: ([user, plan], { until, reason = '' }) =>
      user === undefined || plan === undefined
        ? undefined
        : { name: 'user plan', user, plan, until: until === undefined ? null : moment(until), reason },
  },
  'workspace show': {
    operands: '<workspace id>',
    options: [],
    read: ([workspaceId]) => (workspaceId === undefined ? undefined : { name: 'workspace show', workspaceId }),
  },
  'legal list': { operands: '', options: [], read: () => ({ name: 'legal list' }) },
  'legal publish': {
    operands: '<terms_of_service|privacy_policy> <version> <file>',
    options: [],
    read: ([document, version, file]) =>
      document === undefined || version === undefined || file === undefined
        ? undefined
        : {
            name: 'legal publish',
            document: oneOf(LegalDocumentName.options, document, 'the document'),
            version,
            file,
          },
  },
  'turns list': {
    operands: '',
    options: ['status', 'workspace', 'older-than', 'limit'],
    read: (_operands, values) => ({
      name: 'turns list',
      status: values.status === undefined ? undefined : oneOf(AdminTurnStatus.options, values.status, '--status'),
      workspaceId: values.workspace,
      olderThanS: seconds(values['older-than'] ?? '0s'),
      limit: count(values.limit),
    }),
  },
  'turns requeue': {
    operands: '<turn id>...',
    options: ['reason'],
    read: (turnIds, { reason = '' }) => (turnIds.length === 0 ? undefined : { name: 'turns requeue', turnIds, reason }),
  },
  audit: {
    operands: '',
    options: ['user', 'limit'],
    read: (_operands, { user, limit }) => ({ name: 'audit', user, limit: count(limit) }),
  },
  explain: {
    operands: '<workspace id or UserSwarm>',
    options: ['kubeconfig', 'context'],
    read: ([wanted], { kubeconfig, context }) =>
      wanted === undefined ? undefined : { name: 'explain', swarm: swarmName(wanted), kubeconfig, context },
  },
};

/** @throws Failure with one sentence */
export function parseCtlArguments(args: readonly string[]): CtlArguments {
  const { values, positionals } = parseOrFail(args);
  return {
    command: values.help || positionals.length === 0 ? { name: 'help' } : commandOf(positionals, values),
    json: values.json,
    url: values.url === undefined ? undefined : httpOrigin(values.url),
    keyFile: values['key-file'],
    dataDir: values['data-dir'],
    as: values.as,
  };
}

function commandOf(positionals: readonly string[], values: Values): Command {
  const name = [positionals.slice(0, 2).join(' '), positionals[0] ?? ''].find((words) =>
    Object.hasOwn(COMMANDS, words),
  );
  const spec = name === undefined ? undefined : COMMANDS[name];
  if (name === undefined || spec === undefined) {
    const group = Object.keys(COMMANDS).flatMap((words) =>
      words.startsWith(`${positionals[0]} `) ? [words.split(' ')[1]] : [],
    );
    if (group.length > 0) throw new Failure(`Say what of ${positionals[0]}: ${group.join(', ')}. ${SEE_HELP}`);
    throw new Failure(`There is no command "${positionals.slice(0, 2).join(' ')}". ${SEE_HELP}`);
  }
  const stray = (Object.keys(values) as OptionName[]).find(
    (option) => !GENERAL.includes(option) && !spec.options.includes(option),
  );
  if (stray !== undefined) throw new Failure(`${name} takes no --${stray}. ${SEE_HELP}`);
  const operands = positionals.slice(name.split(' ').length);
  const wanted = spec.operands.endsWith('...') ? Infinity : operandCount(spec.operands);
  const command = operands.length > wanted ? undefined : spec.read(operands, values);
  if (command === undefined) throw new Failure(`Use it so: npm run ctl -- ${`${name} ${spec.operands}`.trim()}`);
  return command;
}

/** A workspace's id, or the name of its UserSwarm already. */
function swarmName(wanted: string): string {
  const name = wanted.startsWith('workspace-') ? wanted : userSwarmName(wanted.toLowerCase());
  if (USERSWARM_NAME.test(name) && name.length <= USERSWARM_NAME_LENGTH) return name;
  throw new Failure(`${wanted} is neither the id of a workspace nor the name of a UserSwarm.`);
}

const operandCount = (operands: string): number => operands.match(/<[^>]+>/g)?.length ?? 0;

const SEE_HELP = 'See: npm run ctl -- --help';

function parseOrFail(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
  } catch (cause) {
    const [reason] = (cause as Error).message.split(/\.\s|\n/);
    throw new Failure(`${reason?.replace(/\.$/, '')}. ${SEE_HELP}`, { cause });
  }
}

function oneOf<Option extends string>(options: readonly Option[], text: string, what: string): Option {
  const found = options.find((option) => option === text);
  if (found === undefined) throw new Failure(`${what} must be one of ${options.join(', ')}, not ${text}.`);
  return found;
}

const UNITS: Record<string, number> = { s: 1, m: 60, h: 3_600, d: 86_400 };

function seconds(text: string): number {
  const [, amount, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const factor = UNITS[unit];
  if (amount === undefined || factor === undefined)
    throw new Failure('--older-than must be a time such as 90s, 5m, 2h, 1d.');
  return Number(amount) * factor;
}

function count(text = '50'): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > 500) throw new Failure('--limit must be a number from 1 to 500.');
  return value;
}

function moment(text: string): string {
  const time = /^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:\d{2}))?$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time)) throw new Failure('--until must be a date such as 2027-01-31, which is its start in UTC.');
  return new Date(time).toISOString();
}

function httpOrigin(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw new Failure(`--url must be an http or https address, not ${text}`);
  }
  return url.origin;
}
