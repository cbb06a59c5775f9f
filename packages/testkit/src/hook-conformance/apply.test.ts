import { describe, expect, it } from '@jest/globals';
import { applied } from './apply.js';

const deployment = (container: object): never =>
  ({ spec: { template: { spec: { containers: [container] } } } }) as never;

describe.each(['server-side', 'three-way'] as const)('%s apply', (strategy) => {
  it('changes what is asked for, takes back what no longer is, and leaves what others set', () => {
    const observed = { metadata: { labels: { ours: '1', gone: '1', theirs: '1' } } };
    const last = { metadata: { labels: { ours: '1', gone: '1' } } };
    const desired = { metadata: { labels: { ours: '2' } } };
    expect(applied(strategy, observed, last, desired)).toEqual({ metadata: { labels: { ours: '2', theirs: '1' } } });
  });

  it('takes containers and variables by name, so that defaults of others stay', () => {
    const observed = deployment({
      name: 'a',
      image: '1',
      imagePullPolicy: 'Always',
      env: [{ name: 'X', value: '1' }, { name: 'Y' }],
    });
    const last = deployment({ name: 'a', image: '1', env: [{ name: 'X', value: '1' }] });
    const desired = deployment({ name: 'a', image: '2', env: [{ name: 'Z', value: '3' }] });
    expect(applied(strategy, observed, last, desired)).toEqual(
      deployment({ name: 'a', image: '2', imagePullPolicy: 'Always', env: [{ name: 'Y' }, { name: 'Z', value: '3' }] }),
    );
  });

  it('replaces a list without a key as a whole', () => {
    const observed = deployment({ name: 'a', args: ['1', '2'] });
    expect(applied(strategy, observed, undefined, deployment({ name: 'a', args: ['3'] }))).toEqual(
      deployment({ name: 'a', args: ['3'] }),
    );
  });
});

describe('where the two differ', () => {
  const observed = { spec: { ports: [{ port: 1, protocol: 'TCP' }] } };

  it('a server knows protocol and port together as the key, Metacontroller the port alone', () => {
    const desired = { spec: { ports: [{ port: 1, protocol: 'UDP' }] } };
    expect(applied('server-side', observed, observed, desired)).toEqual(desired);
    expect(applied('three-way', observed, undefined, desired)).toEqual(desired);
    expect(applied('server-side', observed, undefined, desired)).toEqual({
      spec: {
        ports: [
          { port: 1, protocol: 'TCP' },
          { port: 1, protocol: 'UDP' },
        ],
      },
    });
  });

  it('a selector is one value to a server', () => {
    const before = { spec: { selector: { a: '1' } } };
    const desired = { spec: { selector: { b: '2' } } };
    expect(applied('server-side', before, undefined, desired)).toEqual(desired);
    expect(applied('three-way', before, undefined, desired)).toEqual({ spec: { selector: { a: '1', b: '2' } } });
  });
});
