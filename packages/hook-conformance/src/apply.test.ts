import { describe, expect, it } from '@jest/globals';
import { mergeApplied } from './apply.js';

const deployment = (container: object): never =>
  ({ spec: { template: { spec: { containers: [container] } } } }) as never;

describe.each(['server-side', 'three-way'] as const)('%s apply', (strategy) => {
  it('changes desired fields, deletes fields that are no longer desired, and keeps fields of other owners', () => {
    const observed = { metadata: { labels: { ours: '1', gone: '1', theirs: '1' } } };
    const last = { metadata: { labels: { ours: '1', gone: '1' } } };
    const desired = { metadata: { labels: { ours: '2' } } };
    expect(mergeApplied(strategy, observed, last, desired)).toEqual({
      metadata: { labels: { ours: '2', theirs: '1' } },
    });
  });

  it('merges containers and variables by name and keeps defaults of other owners', () => {
    const observed = deployment({
      name: 'a',
      image: '1',
      imagePullPolicy: 'Always',
      env: [{ name: 'X', value: '1' }, { name: 'Y' }],
    });
    const last = deployment({ name: 'a', image: '1', env: [{ name: 'X', value: '1' }] });
    const desired = deployment({ name: 'a', image: '2', env: [{ name: 'Z', value: '3' }] });
    expect(mergeApplied(strategy, observed, last, desired)).toEqual(
      deployment({ name: 'a', image: '2', imagePullPolicy: 'Always', env: [{ name: 'Y' }, { name: 'Z', value: '3' }] }),
    );
  });

  it('replaces a list without a key', () => {
    const observed = deployment({ name: 'a', args: ['1', '2'] });
    expect(mergeApplied(strategy, observed, undefined, deployment({ name: 'a', args: ['3'] }))).toEqual(
      deployment({ name: 'a', args: ['3'] }),
    );
  });
});

describe('the difference between the strategies', () => {
  const observed = { spec: { ports: [{ port: 1, protocol: 'TCP' }] } };

  it('the key of a port is port and protocol for the server, and the port for Metacontroller', () => {
    const desired = { spec: { ports: [{ port: 1, protocol: 'UDP' }] } };
    expect(mergeApplied('server-side', observed, observed, desired)).toEqual(desired);
    expect(mergeApplied('three-way', observed, undefined, desired)).toEqual(desired);
    expect(mergeApplied('server-side', observed, undefined, desired)).toEqual({
      spec: {
        ports: [
          { port: 1, protocol: 'TCP' },
          { port: 1, protocol: 'UDP' },
        ],
      },
    });
  });

  it('a selector is atomic for the server only', () => {
    const before = { spec: { selector: { a: '1' } } };
    const desired = { spec: { selector: { b: '2' } } };
    expect(mergeApplied('server-side', before, undefined, desired)).toEqual(desired);
    expect(mergeApplied('three-way', before, undefined, desired)).toEqual({ spec: { selector: { a: '1', b: '2' } } });
  });
});
