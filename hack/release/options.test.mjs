import { describe, expect, it } from '@jest/globals';
import { parseOptions } from './options.mjs';
import { sourceOf } from './revision.mjs';

describe('npm run release', () => {
  it('builds both platforms, and lets npm only check the packages', () => {
    expect(parseOptions(['--registry=r.example/team/', '--key=env://KEY'])).toMatchObject({
      dryRun: false,
      prefix: 'r.example/team',
      key: 'env://KEY',
      log: true,
      platforms: ['linux/amd64', 'linux/arm64'],
      npm: { dryRun: true },
      out: expect.stringMatching(/\/dist\/release$/),
    });
    expect(parseOptions(['--registry=r.example', '--keyless', '--npm', '--platforms=linux/arm64'])).toMatchObject({
      key: undefined,
      platforms: ['linux/arm64'],
      npm: { dryRun: false },
    });
    expect(parseOptions(['--cut'])).toEqual({ cut: true });
  });

  it.each([
    [[], '--registry is required.'],
    [['--registry', 'r.example'], 'Exactly one of --key and --keyless is required.'],
    [['--registry', 'r.example', '--key', 'k', '--keyless'], 'Exactly one of --key and --keyless is required.'],
    [['--registry', 'r.example', '--keyless', '--no-log'], '--no-log requires --key'],
    [['--registry', ''], '--registry has no value.'],
    [['--dry-run', '--registry', 'r.example'], '--registry cannot be used with --dry-run'],
    [['--dry-run', '--npm'], '--npm cannot be used with --dry-run'],
    [['--dry-run', '--platforms', 'linux/s390x'], 'Unknown platform "linux/s390x".'],
    [['--dry-run', '--only', 'agent'], 'Unknown service "agent".'],
    [['--cut', '--dry-run'], '--cut has no other options.'],
    [['--sing'], "Unknown option '--sing'"],
  ])('refuses %j', (args, message) => {
    expect(() => parseOptions(args)).toThrow(message);
  });

  it.each([
    ['https://user:secret@h.example/a/b.git', 'https://h.example/a/b.git'],
    ['git@h.example:a/b.git', 'ssh://h.example/a/b.git'],
    ['ssh://git@h.example/a', 'ssh://git@h.example/a'],
  ])('names the repository %s without credentials', (remote, source) => {
    expect(sourceOf(remote, {})).toBe(source);
    const env = { GITHUB_SERVER_URL: 'https://github.example', GITHUB_REPOSITORY: 'a/b' };
    expect(sourceOf(remote, env)).toBe('https://github.example/a/b');
  });
});
