import { describe, expect, it } from '@jest/globals';
import { container, evaluation, external, find, helm, type Manifest, rejection, render } from './support/rendering.js';

/** The proxies that every edge requires. */
const http = { trustedProxies: ['10.32.0.8/29'] };
const edged = { ...evaluation, http };

describe('the Ingress', () => {
  const ingress = { enabled: true, host: 'api.example.com', className: 'nginx', tls: { secretName: 'api-tls' } };

  it('is created only if enabled, and requires a host', async () => {
    const without = await render(evaluation);
    expect(without.map(({ kind }) => kind)).not.toContain('Ingress');
    expect(await rejection({ ...evaluation, ingress: { enabled: true } })).toMatch(/^ingress\.host is required: .*\.$/);
  });

  it('routes /v1 to the orchestrator, and /v1/stream and /socket.io/ to the gateway, with TLS', async () => {
    const manifests = await render({ ...edged, ingress });
    const service = (name: string): object => ({ service: { name, port: { name: 'http' } } });
    expect(find(manifests, 'Ingress', 'uswarm', 'backend')['spec']).toEqual({
      ingressClassName: 'nginx',
      tls: [{ hosts: ['api.example.com'], secretName: 'api-tls' }],
      rules: [
        {
          host: 'api.example.com',
          http: {
            paths: [
              { path: '/v1/stream', pathType: 'Prefix', backend: service('uswarm-realtime-gateway') },
              { path: '/v1', pathType: 'Prefix', backend: service('uswarm-orchestrator') },
              { path: '/socket.io/', pathType: 'Prefix', backend: service('uswarm-realtime-gateway') },
            ],
          },
        },
      ],
    });
  });

  it('routes /docs to the orchestrator, which serves it, only if enabled', async () => {
    for (const enabled of [false, true]) {
      const manifests = await render({ ...edged, ingress, docs: { enabled } });
      const { paths } = find(manifests, 'Ingress', 'uswarm', 'backend')['spec'].rules[0].http;
      const served = (paths as { path: string }[]).find(({ path }) => path === '/docs');
      const expected = {
        pathType: 'Prefix',
        backend: { service: { name: 'uswarm-orchestrator', port: { name: 'http' } } },
      };
      expect(served).toEqual(enabled ? { path: '/docs', ...expected } : undefined);
      const { env } = container(manifests, 'uswarm-orchestrator', 'orchestrator');
      expect(env).toContainEqual({ name: 'DOCS_ENABLED', value: String(enabled) });
    }
  });

  it('allows long-lived connections, cookie affinity and uploads', async () => {
    const annotations = (await render({ ...edged, ingress })).find(({ kind }) => kind === 'Ingress')!.metadata
      .annotations!;
    const nginx = (name: string): string | undefined => annotations[`nginx.ingress.kubernetes.io/${name}`];
    expect(nginx('affinity')).toBe('cookie');
    expect(Number(nginx('proxy-read-timeout'))).toBeGreaterThanOrEqual(3600);
    expect(Number(nginx('proxy-send-timeout'))).toBeGreaterThanOrEqual(3600);
    expect(nginx('proxy-body-size')).toBe('26m');
  });
});

describe('the HTTPRoute', () => {
  const httpRoute = {
    enabled: true,
    parentRefs: [{ name: 'public', namespace: 'edge', sectionName: 'https' }],
    hostnames: ['api.example.com', 'api.example.org'],
  };
  const publicUrl = (manifests: readonly Manifest[]): string | undefined =>
    container(manifests, 'uswarm-orchestrator', 'orchestrator').env!.find(({ name }) => name === 'PUBLIC_URL')!.value;
  interface Rule {
    timeouts?: { request: string };
  }
  const rulesOf = (manifests: readonly Manifest[]): Rule[] => find(manifests, 'HTTPRoute', 'uswarm')['spec'].rules;

  it('routes /v1 to the orchestrator, and sockets and streams to the gateway without a timeout', async () => {
    const manifests = await render({ ...edged, httpRoute });
    const rule = (values: string[], request: string, name: string): object => ({
      matches: values.map((value) => ({ path: { type: 'PathPrefix', value } })),
      timeouts: { request },
      backendRefs: [{ name, port: 8080 }],
    });
    expect(find(manifests, 'HTTPRoute', 'uswarm', 'backend')['spec']).toEqual({
      parentRefs: httpRoute.parentRefs,
      hostnames: httpRoute.hostnames,
      rules: [
        rule(['/v1'], '10m', 'uswarm-orchestrator'),
        rule(['/socket.io/', '/v1/stream'], '0s', 'uswarm-realtime-gateway'),
      ],
    });
    for (const name of ['uswarm-orchestrator', 'uswarm-realtime-gateway']) {
      expect(find(manifests, 'Service', name)['spec'].ports).toContainEqual(expect.objectContaining({ port: 8080 }));
    }
    expect(publicUrl(manifests)).toBe('https://api.example.com');
  });

  it('is created only if enabled, also in addition to an Ingress', async () => {
    const kinds = (manifests: readonly Manifest[]): string[] => manifests.map(({ kind }) => kind);
    expect(kinds(await render(evaluation))).not.toContain('HTTPRoute');
    const ingress = { enabled: true, host: 'api.example.org', tls: { secretName: 'tls' } };
    const both = await render({ ...edged, httpRoute, ingress });
    expect(kinds(both)).toEqual(expect.arrayContaining(['HTTPRoute', 'Ingress']));
    expect(publicUrl(both)).toBe('https://api.example.org');
  });

  it('omits empty timeouts', async () => {
    const rules = rulesOf(await render({ ...edged, httpRoute: { ...httpRoute, timeouts: { api: '' } } }));
    expect(rules.map(({ timeouts }) => timeouts)).toEqual([undefined, { request: '0s' }]);
  });

  it.each<[string, object, RegExp]>([
    ['no parent Gateway', { httpRoute: { ...httpRoute, parentRefs: [] } }, /^httpRoute\.parentRefs is required: .*\.$/],
    ['no host name', { httpRoute: { ...httpRoute, hostnames: [] } }, /^httpRoute\.hostnames is required: .*\.$/],
    [
      'hosts although it is disabled',
      { httpRoute: { hostnames: ['a.example.com'] } },
      /^httpRoute\..* unless httpRoute\.enabled/,
    ],
    [
      'only a wildcard and no public URL',
      { httpRoute: { ...httpRoute, hostnames: ['*.example.com'] } },
      /^http\.publicUrl is required: .* wildcard, .*\.$/,
    ],
    [
      'a different host than the Ingress and no public URL',
      { httpRoute, ingress: { enabled: true, host: 'other.example.com' } },
      /^http\.publicUrl is required: .* different hosts, .*\.$/,
    ],
    [
      'a host with a path',
      { httpRoute: { ...httpRoute, hostnames: ['a.example.com/v1'] } },
      /at '\/httpRoute\/hostnames/,
    ],
    ['a timeout without a unit', { httpRoute: { ...httpRoute, timeouts: { api: '10' } } }, /at '\/httpRoute\/timeouts/],
  ])('is rejected with %s', async (_fault, values, sentence) => {
    expect((await rejection({ ...external, ...values })).trim()).toMatch(sentence);
  });

  it('accepts wildcards and different hosts with a public URL', async () => {
    const values = {
      httpRoute: { ...httpRoute, hostnames: ['*.example.com'] },
      http: { ...http, publicUrl: 'https://a.example.com' },
    };
    expect(publicUrl(await render({ ...external, ...values }))).toBe('https://a.example.com');
    const both = { ...values, ingress: { enabled: true, host: 'other.example.com' } };
    expect(publicUrl(await render({ ...external, ...both }))).toBe('https://a.example.com');
  });
});

describe('an edge', () => {
  const host = 'api.example.com';
  const tls = { secretName: 'tls' };
  const edges: [string, object][] = [
    ['an Ingress', { ingress: { enabled: true, host, tls } }],
    ['an HTTPRoute', { httpRoute: { enabled: true, parentRefs: [{ name: 'public' }], hostnames: [host] } }],
  ];

  it.each(edges)('%s is rejected without trusted proxies', async (_kind, edge) => {
    const sentence = /^http\.trustedProxies is required: .* all clients share one rate limit by address\. .*\.$/;
    expect((await rejection({ ...external, ...edge })).trim()).toMatch(sentence);
    await expect(render({ ...external, ...edge, http })).resolves.not.toEqual([]);
  });

  it.each(edges)('%s requires no trusted proxies without a rate limit by address', async (_kind, edge) => {
    const orchestrator = { rateLimits: { address: { perSecond: 0 } } };
    await expect(render({ ...external, ...edge, orchestrator })).resolves.not.toEqual([]);
  });

  it('is rejected without TLS unless plain HTTP is explicitly allowed', async () => {
    const ingress = { enabled: true, host };
    expect((await rejection({ ...external, ingress, http })).trim()).toMatch(
      /^ingress\.tls\.secretName is required: .*\.$/,
    );
    await expect(render({ ...external, ingress, http: { ...http, insecure: true } })).resolves.not.toEqual([]);
  });

  it('counts as using TLS if the public URL uses https', async () => {
    const ingress = { enabled: true, host };
    const withUrl = (publicUrl: string): object => ({ ...external, ingress, http: { ...http, publicUrl } });
    await expect(render(withUrl('https://api.example.com'))).resolves.not.toEqual([]);
    expect((await rejection(withUrl('http://api.example.com'))).trim()).toMatch(
      /^http\.publicUrl must use https: .*http\.insecure=true.*\.$/,
    );
  });

  it('makes both services send Strict-Transport-Security only if clients use https', async () => {
    const ages = async (values: object): Promise<(string | undefined)[]> => {
      const manifests = await render({ ...external, ...values });
      return ['orchestrator', 'realtime-gateway'].map(
        (name) =>
          container(manifests, `uswarm-${name}`, name).env!.find((each) => each.name === 'HSTS_MAX_AGE_S')?.value,
      );
    };
    const ingress = { enabled: true, host, tls };
    expect(await ages({ ingress, http })).toEqual(['31536000', '31536000']);
    expect(await ages({ ingress, http: { ...http, hstsMaxAgeSeconds: 600 } })).toEqual(['600', '600']);
    expect(await ages({ ingress: { enabled: true, host }, http: { ...http, insecure: true } })).toEqual(['0', '0']);
    expect(await ages({})).toEqual(['0', '0']);
    expect(await ages({ http: { publicUrl: 'https://own-edge.example.com' } })).toEqual(['31536000', '31536000']);
  });
});

describe('the rules of an edge', () => {
  const host = 'api.example.com';
  const ingress = { enabled: true, host, tls: { secretName: 'tls' } };
  const plain = { enabled: true, host };
  const httpRoute = { enabled: true, parentRefs: [{ name: 'public' }], hostnames: [host] };
  const service = (type: string, externalTrafficPolicy = ''): object => ({ service: { type, externalTrafficPolicy } });
  const balancer = service('LoadBalancer');
  const nodePort = service('NodePort');
  const direct = service('LoadBalancer', 'Local');
  const unlimited = { rateLimits: { address: { perSecond: 0 } } };

  const proxies = http;
  const https = { ...proxies, publicUrl: `https://${host}` };
  const settings = {
    none: {},
    proxies,
    https,
    httpsOnly: { publicUrl: `https://${host}` },
    plainUrl: { ...proxies, publicUrl: `http://${host}` },
    insecure: { ...proxies, insecure: true },
  };
  /** The values that the chart demands with each setting above. */
  type Row = [edge: string, values: object, ...demanded: string[]];
  const P = 'http.trustedProxies';
  const U = 'http.publicUrl';
  const T = 'ingress.tls.secretName';
  const ROWS: Row[] = [
    //                                                     none     proxies https httpsOnly plainUrl insecure
    ['nothing', {}, '', '', '', '', '', ''],
    ['ClusterIP Services', { orchestrator: service('ClusterIP') }, '', '', '', '', '', ''],
    ['an Ingress', { ingress }, P, '', '', P, U, ''],
    ['an Ingress without TLS', { ingress: plain }, `${P} ${T}`, T, '', P, U, ''],
    ['an HTTPRoute', { httpRoute }, P, '', '', P, U, ''],
    ['a load balancer of the API', { orchestrator: balancer }, `${P} ${U}`, U, '', P, U, ''],
    ['a load balancer of the gateway', { gateway: balancer }, `${P} ${U}`, U, '', P, U, ''],
    ['load balancers', { orchestrator: balancer, gateway: balancer }, `${P} ${U}`, U, '', P, U, ''],
    ['a node port of the API', { orchestrator: nodePort }, `${P} ${U}`, U, '', P, U, ''],
    ['a node port of the gateway', { gateway: nodePort }, `${P} ${U}`, U, '', P, U, ''],
    ['a balancer that shows clients', { orchestrator: direct }, U, U, '', '', U, ''],
    ['only one of two that shows them', { orchestrator: direct, gateway: nodePort }, `${P} ${U}`, U, '', P, U, ''],
    ['a balancer without limits', { orchestrator: { ...balancer, ...unlimited } }, U, U, '', '', U, ''],
    ['a balancer beside an Ingress', { ingress, orchestrator: balancer }, `${P} ${U}`, U, '', P, U, ''],
    ['one beside a plain Ingress', { ingress: plain, gateway: balancer }, `${P} ${T} ${U}`, `${T} ${U}`, '', P, U, ''],
    ['a node port beside an HTTPRoute', { httpRoute, gateway: nodePort }, `${P} ${U}`, U, '', P, U, ''],
    ['a direct one beside an Ingress', { ingress, gateway: direct }, `${P} ${U}`, U, '', P, U, ''],
  ];

  it.each(ROWS)('name each value that %s requires', async (_edge, values, ...demanded) => {
    const demandedWith = async (setting: object): Promise<string> => {
      try {
        // The schema does not depend on these values, and needs a third of the time.
        await helm(['template', '--skip-schema-validation'], { ...external, ...values, http: setting });
        return '';
      } catch (error) {
        const { stderr } = error as { stderr: string };
        return [...stderr.matchAll(/(?:^|: )([a-zA-Z.]+) (?:is required|must use)/gm)]
          .map(([, name]) => name)
          .join(' ');
      }
    };
    const found = await Promise.all(Object.values(settings).map(demandedWith));
    const named = (list: readonly string[]): object =>
      Object.fromEntries(Object.keys(settings).map((name, index) => [name, list[index]]));
    expect(named(found)).toEqual(named(demanded));
  });

  it('name the Services, and the ways to fulfill them', async () => {
    const message = await rejection({ ...external, http, orchestrator: balancer, gateway: nodePort });
    expect(message).toContain('orchestrator.service.type=LoadBalancer and gateway.service.type=NodePort');
    expect(message).toMatch(/https URL if TLS ends before them, .*service\.annotations.*http\.insecure=true/);
  });
});
