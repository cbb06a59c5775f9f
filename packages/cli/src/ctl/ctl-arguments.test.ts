import { describe, expect, it } from '@jest/globals';
import { CommanderError } from 'commander';
import { usageExitCode } from '../command-line.js';
import { parseCtlArguments } from './ctl-arguments.js';

const words = (line: string) => line.split(' ').filter((word) => word !== '');
const parse = (line: string) => parseCtlArguments(words(line));
const ID = '01890000-0000-7000-8000-000000000001';

/** Parses a command line that ends in help or in a usage error. */
function failedParse(line: string) {
  let stdout = '';
  let stderr = '';
  try {
    parseCtlArguments(words(line), {
      writeOut: (text) => void (stdout += text),
      writeErr: (text) => void (stderr += text),
    });
  } catch (error) {
    if (error instanceof CommanderError) return { code: usageExitCode(error), stdout, stderr };
    throw error;
  }
  throw new Error(`The command line is valid: ${line}`);
}

describe('the command line of uswarmctl', () => {
  it.each(['', '--help', '-h', 'help', 'frobnicate --help'])('prints the list of commands for %j', (line) => {
    const { code, stdout, stderr } = failedParse(line);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^Usage: npm run ctl -- \[options\] \[command\]\n/);
    for (const command of [
      'user',
      'export',
      'workspace',
      'legal',
      'turns',
      'epoch',
      'tools',
      'audit',
      'receipt',
      'swarm-file',
      'drain',
      'rollout',
      'trace',
      'explain',
      'why',
    ]) {
      expect(stdout).toMatch(new RegExp(`^ {2}${command} `, 'm'));
    }
  });

  it('prints arguments, options and general options of a command for --help', () => {
    const { code, stdout } = failedParse('user plan --help');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Usage: npm run ctl -- user plan \[options\] <user> <plan>\n/);
    for (const option of ['--until', '--reason', '--json', '--as', '--url', '--key-file', '--data-dir']) {
      expect(stdout).toContain(`  ${option} `);
    }
  });

  it.each<[string, object]>([
    ['user show ada@example.com', { name: 'user show', user: 'ada@example.com' }],
    ['export a --out a.zip --reason asked', { name: 'export', user: 'a', file: 'a.zip', reason: 'asked' }],
    ['export a', { name: 'export', user: 'a', file: undefined, reason: '' }],
    ['user ban ada --reason spam', { name: 'user ban', user: 'ada', reason: 'spam' }],
    ['user unban ada', { name: 'user unban', user: 'ada', reason: '' }],
    ['user plan ada pro', { name: 'user plan', user: 'ada', plan: 'pro', until: null, reason: '' }],
    [
      'user plan ada pro --until 2027-01-31',
      { name: 'user plan', user: 'ada', plan: 'pro', until: '2027-01-31T00:00:00.000Z', reason: '' },
    ],
    [
      'user plan ada pro --until 2027-01-31T12:00:00+02:00',
      { name: 'user plan', user: 'ada', plan: 'pro', until: '2027-01-31T10:00:00.000Z', reason: '' },
    ],
    [`workspace show ${ID}`, { name: 'workspace show', workspaceId: ID }],
    ['legal list', { name: 'legal list' }],
    [
      'legal publish privacy_policy 2 p.md',
      { name: 'legal publish', document: 'privacy_policy', version: '2', file: 'p.md' },
    ],
    ['turns list', { name: 'turns list', status: undefined, workspaceId: undefined, olderThanS: 0, limit: 50 }],
    [
      `turns list --status failed --workspace ${ID} --older-than 5m --limit 7`,
      { name: 'turns list', status: 'failed', workspaceId: ID, olderThanS: 300, limit: 7 },
    ],
    ['turns requeue a b c', { name: 'turns requeue', turnIds: ['a', 'b', 'c'], reason: '' }],
    ['receipt verify r.json', { name: 'receipt verify', file: 'r.json', keys: undefined }],
    ['swarm-file verify w.uswarm', { name: 'swarm-file verify', file: 'w.uswarm', keys: undefined }],
    ['receipt verify r.json --keys k.json', { name: 'receipt verify', file: 'r.json', keys: 'k.json' }],
    ['epoch bump', { name: 'epoch bump', reason: '' }],
    ['tools list', { name: 'tools list' }],
    ['tools accept github', { name: 'tools accept', server: 'github', tools: undefined }],
    ['tools accept github a b', { name: 'tools accept', server: 'github', tools: ['a', 'b'] }],
    ['audit', { name: 'audit', user: undefined, limit: 50 }],
    [`explain ${ID} --context prod`, { name: 'explain', swarm: `workspace-${ID}`, namespace: undefined }],
    [
      'drain workspace-alder a --wait 5m',
      {
        name: 'drain',
        swarms: ['workspace-alder', 'workspace-a'],
        node: undefined,
        all: false,
        undo: false,
        waitS: 300,
      },
    ],
    [
      'drain --all --undo',
      {
        name: 'drain',
        swarms: [],
        node: undefined,
        all: true,
        undo: true,
        waitS: 150,
      },
    ],
    [`trace ${ID}`, { name: 'trace', id: ID }],
    ['rollout status', { name: 'rollout status' }],
    ['rollout force workspace-alder', { name: 'rollout force', swarm: 'workspace-alder' }],
    [
      'why workspace-alder -n backend -o json --runbooks https://r.test',
      {
        name: 'why',
        swarm: 'workspace-alder',
        namespace: 'backend',
        runbooks: 'https://r.test',
      },
    ],
    ['explain workspace-alder --kubeconfig k', { name: 'explain', swarm: 'workspace-alder', namespace: undefined }],
    [
      'secrets create --skip uswarm-tls registry --dry-run',
      {
        name: 'secrets create',
        namespace: 'backend',
        runtimeNamespace: 'userswarms',
        release: 'uswarm',
        skip: ['uswarm-tls', 'registry'],
        dryRun: true,
        out: undefined,
      },
    ],
    ['audit --user ada --limit 500', { name: 'audit', user: 'ada', limit: 500 }],
  ])('parses %s', (line, command) => {
    expect(parse(line).command).toEqual(command);
  });

  it('accepts the general options before and after the command', () => {
    expect(
      parse(
        '--json user show ada --url http://127.0.0.1:8082/x --key-file k --token-command t --data-dir d --as olivia',
      ),
    ).toEqual({
      command: { name: 'user show', user: 'ada' },
      json: true,
      url: 'http://127.0.0.1:8082',
      portForward: undefined,
      cluster: { kubeconfig: undefined, context: undefined },
      keyFile: 'k',
      tokenCommand: 't',
      dataDir: 'd',
      as: 'olivia',
    });
  });

  it.each(['explain a', 'secrets create', 'user show ada --port-forward backend'])(
    'selects a cluster as kubectl does: %s',
    (line) => {
      expect(parse(`${line} --kubeconfig k --context prod`).cluster).toEqual({ kubeconfig: 'k', context: 'prod' });
    },
  );

  it.each<[string, RegExp]>([
    ['frobnicate', /^error: unknown command 'frobnicate'/],
    ['usr', /^error: unknown command 'usr'\n\(Did you mean user\?\)/],
    ['user', /^error: missing subcommand\. Expected one of: show, ban, unban, plan$/m],
    ['user frobnicate', /^error: unknown command 'frobnicate'/],
    ['user show', /^error: missing required argument 'user'/],
    ['user show a b', /^error: too many arguments for 'show'/],
    ['user plan a', /^error: missing required argument 'plan'/],
    ['legal list now', /^error: too many arguments for 'list'/],
    ['legal publish terms 1 f', /'document'\. Allowed choices are terms_of_service, privacy_policy\./],
    ['turns requeue', /^error: missing required argument 'id'/],
    ['user show a --limit 3', /^error: unknown option '--limit'/],
    ['turns list --reason x', /^error: unknown option '--reason'/],
    ['turns list --status done', /--status <status>.* Allowed choices are queued, running, failed\./],
    ['turns list --older-than 5', /--older-than <duration>.* It must be a duration such as/],
    ['turns list --limit 0', /--limit <number>.* It must be a number from 1 to 500\./],
    ['turns list --limit 1e2', /--limit <number>.* It must be a number from 1 to 500\./],
    ['user plan a pro --until tomorrow', /--until <date>.* It must be a date such as/],
    ['user plan a pro --until 2027-13-01', /--until <date>.* It must be a date such as/],
    ['user plan a pro --until 2027-02-30', /--until <date>.* It must be a date such as/],
    ['user plan a pro --until 2027-06-31T12:00:00+02:00', /--until <date>.* It must be a date such as/],
    ['audit --url ftp://x', /--url <url>.* It must be an http or https URL\./],
    ['explain', /^error: missing required argument 'workspace'/],
    ['drain', /^error: name workspaces, or use either --node or --all/],
    ['drain a --all', /^error: name workspaces, or use either/],
    ['drain --undo --node n', /^error: --undo needs workspaces or --all/],
    ['drain a/b', /^error: 'a\/b' is invalid\. It must be a workspace id/],
    ['explain a/b', /'a\/b'.* It must be a workspace id or the name of a UserSwarm\./],
    ['audit --context c', /^error: --kubeconfig and --context need --port-forward/],
    ['audit --port-forward n --url http://u', /'--port-forward <namespace>' cannot be used with option '--url <url>'/],
    ['audit --nope', /^error: unknown option '--nope'/],
    ['--json', /^error: missing command\. Expected one of: user, export, workspace, /],
  ])('prints a usage error to stderr and exits with 2 for %j', (line, message) => {
    const { code, stdout, stderr } = failedParse(line);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(message);
  });

  it('refers to the help after a usage error', () => {
    expect(failedParse('audit --nope').stderr).toContain('See: npm run ctl -- --help');
  });
});
