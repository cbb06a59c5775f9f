import { describe, expect, it } from '@jest/globals';
import { Failure } from '../failure.js';
import { parseCtlArguments } from './arguments.js';
import { USAGE } from './usage.js';

const parse = (line: string) => parseCtlArguments(line.split(' ').filter((word) => word !== ''));
const ID = '01890000-0000-7000-8000-000000000001';

describe('the command line of uswarmctl', () => {
  it.each(['', '--help', '-h', 'user show --help', 'frobnicate --help'])('shows the help for %j', (line) => {
    expect(parse(line).command).toEqual({ name: 'help' });
  });

  it.each<[string, object]>([
    ['user show ada@example.com', { name: 'user show', user: 'ada@example.com' }],
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
    ['audit', { name: 'audit', user: undefined, limit: 50 }],
    [
      `explain ${ID} --context prod`,
      { name: 'explain', swarm: `workspace-${ID}`, kubeconfig: undefined, context: 'prod' },
    ],
    [
      'explain workspace-alder --kubeconfig k',
      { name: 'explain', swarm: 'workspace-alder', kubeconfig: 'k', context: undefined },
    ],
    ['audit --user ada --limit 500', { name: 'audit', user: 'ada', limit: 500 }],
  ])('reads %s', (line, command) => {
    expect(parse(line).command).toEqual(command);
  });

  it('takes the general options with every command, wherever they stand', () => {
    expect(parse('--json user show ada --url http://127.0.0.1:8082/x --key-file k --data-dir d --as olivia')).toEqual({
      command: { name: 'user show', user: 'ada' },
      json: true,
      url: 'http://127.0.0.1:8082',
      keyFile: 'k',
      dataDir: 'd',
      as: 'olivia',
    });
  });

  it.each([
    ['frobnicate', /^There is no command "frobnicate"\. See: npm run ctl -- --help$/],
    ['user', /^Say what of user: show, ban, unban, plan\./],
    ['user frobnicate', /^Say what of user: show, ban, unban, plan\./],
    ['user show', /^Use it so: npm run ctl -- user show <user>$/],
    ['user show a b', /^Use it so: npm run ctl -- user show <user>$/],
    ['user plan a', /user plan <user> <plan>$/],
    ['legal list now', /^Use it so: npm run ctl -- legal list$/],
    ['legal publish terms 1 f', /^the document must be one of terms_of_service, privacy_policy, not terms\.$/],
    ['turns requeue', /turns requeue <turn id>\.\.\.$/],
    ['user show a --limit 3', /^user show takes no --limit\./],
    ['turns list --reason x', /^turns list takes no --reason\./],
    ['turns list --status done', /^--status must be one of queued, running, failed, not done\.$/],
    ['turns list --older-than 5', /^--older-than must be a time such as/],
    ['turns list --limit 0', /^--limit must be a number from 1 to 500\.$/],
    ['turns list --limit 1e2', /^--limit must be a number from 1 to 500\.$/],
    ['user plan a pro --until tomorrow', /^--until must be a date such as/],
    ['user plan a pro --until 2027-13-01', /^--until must be a date such as/],
    ['audit --url ftp://x', /^--url must be an http or https address, not ftp:\/\/x$/],
    ['explain', /^Use it so: npm run ctl -- explain <workspace id or UserSwarm>$/],
    ['explain a/b', /^a\/b is neither the id of a workspace nor the name of a UserSwarm\.$/],
    ['audit --context c', /^audit takes no --context\./],
    ['audit --nope', /--nope.*See: npm run ctl -- --help$/],
  ])('refuses %j in one sentence', (line, sentence) => {
    expect(() => parse(line)).toThrow(Failure);
    expect(() => parse(line)).toThrow(sentence);
  });

  it('explains every command and every option', () => {
    for (const words of [
      'user show',
      'user ban',
      'user unban',
      'user plan',
      'workspace show',
      'legal list',
      'explain',
    ]) {
      expect(USAGE).toContain(`  ${words} `);
    }
    for (const option of [
      'json',
      'as',
      'url',
      'key-file',
      'data-dir',
      'help',
      'reason',
      'until',
      'status',
      'limit',
      'context',
    ]) {
      expect(USAGE).toContain(`--${option}`);
    }
  });
});
