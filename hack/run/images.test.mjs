import { describe, expect, it } from '@jest/globals';
import { parseOptions, report } from './images.mjs';

describe('npm run images', () => {
  it('builds for this machine with the version as the tag by default', () => {
    expect(parseOptions([], '1.2.3')).toEqual({ registry: 'localhost', tag: '1.2.3', testImages: false });
    const args = ['--tag=content', '--registry=r.example/team/', '--base=local', '--only=a, b', '--test-images'];
    expect(parseOptions(args, '1.2.3')).toEqual({
      registry: 'r.example/team',
      tag: 'content',
      base: 'local',
      only: ['a', 'b'],
      testImages: true,
    });
  });

  it('prefixes pushed images with the registry', () => {
    expect(parseOptions(['--push', 'r.example'], '1')).toMatchObject({ registry: 'r.example', push: 'r.example' });
    expect(() => parseOptions(['--push=a', '--registry=b'], '1')).toThrow('remove --registry');
  });

  it.each([[['--tga', 'x']], [['--tag']], [['--tag', '']], [['orchestrator']]])('rejects %j with the usage', (args) => {
    expect(() => parseOptions(args, '1')).toThrow('npm run images -- [options]');
  });

  it('prints size and changes of each image in columns', () => {
    const built = [
      { ref: 'localhost/uswarm/a:1', bytes: 133_940_000, built: true },
      { ref: 'localhost/uswarm/longer:1', bytes: 9_000_000, built: false },
    ];
    expect(report(built)).toEqual([
      'localhost/uswarm/a:1        133.9 MB  built',
      'localhost/uswarm/longer:1     9.0 MB  unchanged',
    ]);
  });
});
