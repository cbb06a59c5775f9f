import { describe, expect, it } from '@jest/globals';
import { readConfig } from '@uswarm/orchestrator/config';
import { pageSettings } from '@uswarm/orchestrator/page-settings';
import { environment } from './support/environment.js';
import { container, evaluation, find, helm, rejection, render } from './support/rendering.js';
import { merge } from './support/value-paths.js';

const page = merge(evaluation, {
  signature: { mode: 'off' },
  http: { trustedProxies: ['10.32.0.8/29'] },
  oidc: { issuers: [{ issuer: 'https://login.example.com', audience: ['app', 'page'] }] },
  web: { enabled: true, clientId: 'page' },
});
const ingress = { enabled: true, host: 'swarm.example.com', tls: { secretName: 'tls' } };
const httpRoute = { enabled: true, parentRefs: [{ name: 'public' }], hostnames: ['swarm.example.com'] };

describe('the page of users', () => {
  it('is served by the orchestrator, with the settings of the sign-in and no more secrets than before', async () => {
    const more = {
      issuer: 'https://login.example.com',
      issuerOrigins: ['https://tokens.example.com'],
      scopes: 'openid',
    };
    const manifests = await render(merge(page, { web: more }));
    expect(pageSettings(readConfig(environment(manifests, 'orchestrator')))).toEqual({
      issuer: 'https://login.example.com',
      clientId: 'page',
      scopes: 'openid',
      issuerOrigins: ['https://tokens.example.com'],
    });
    const without = await render(merge(page, { web: { enabled: false } }));
    const secrets = (rendered: typeof manifests): string[] =>
      container(rendered, 'uswarm-orchestrator', 'orchestrator').env!.flatMap(({ name, valueFrom }) =>
        valueFrom === undefined ? [] : [name],
      );
    expect(secrets(manifests)).toEqual(secrets(without));
    expect(manifests.map(({ kind, metadata: { name } }) => `${kind} ${name}`)).toEqual(
      without.map(({ kind, metadata: { name } }) => `${kind} ${name}`),
    );
  });

  it('uses the first issuer unless another is named', async () => {
    const { issuer, scopes } = pageSettings(readConfig(environment(await render(page), 'orchestrator')))!;
    expect({ issuer, scopes }).toEqual({ issuer: 'https://login.example.com', scopes: 'openid email profile' });
  });

  it('is not served unless it is enabled', async () => {
    const manifests = await render(merge(page, { web: { enabled: false } }));
    expect(pageSettings(readConfig(environment(manifests, 'orchestrator')))).toBeUndefined();
  });

  it('has the origin of the API behind an Ingress, where it is the last path', async () => {
    const paths = async (enabled: boolean): Promise<object[]> => {
      const manifests = await render(merge(page, { ingress, docs: { enabled: true }, web: { enabled } }));
      return find(manifests, 'Ingress', 'uswarm', 'backend')['spec'].rules[0].http.paths as object[];
    };
    const backend = { service: { name: 'uswarm-orchestrator', port: { name: 'http' } } };
    expect(await paths(true)).toEqual([...(await paths(false)), { path: '/', pathType: 'Prefix', backend }]);
  });

  it('has the origin of the API behind a Gateway', async () => {
    const paths = async (enabled: boolean): Promise<string[]> => {
      const manifests = await render(merge(page, { httpRoute, docs: { enabled: true }, web: { enabled } }));
      const [api] = find(manifests, 'HTTPRoute', 'uswarm')['spec'].rules as {
        matches: { path: { value: string } }[];
      }[];
      return api!.matches.map(({ path }) => path.value);
    };
    expect(await paths(true)).toEqual(['/v1', '/docs', '/']);
    expect(await paths(false)).toEqual(['/v1', '/docs']);
  });

  it.each([
    ['a client id', { clientId: '' }, {}, /^web\.clientId is required with web\.enabled: .*\.$/],
    ['unsigned requests', {}, { signature: { mode: 'required' } }, /^signature\.mode=off is required with .*\.$/],
    [
      'an issuer that the API trusts',
      { issuer: 'https://other.example.com' },
      {},
      /^web\.issuer must be the issuer of .*\.$/,
    ],
    [
      'a client whose tokens the API accepts',
      { clientId: 'other' },
      {},
      /^web\.clientId must be an audience of https:.*\.$/,
    ],
  ])('requires %s', async (_what, web, rest, message) => {
    expect((await rejection(merge(page, { web, ...rest }))).trim()).toMatch(message);
  });

  it.each(['*', 'https://a.example.com/path', "https://a.example.com; script-src 'unsafe-inline'", 'a.example.com'])(
    'does not accept %s as the origin of an issuer',
    async (origin) => {
      expect(await rejection(merge(page, { web: { issuerOrigins: [origin] } }))).toContain("at '/web/issuerOrigins/0'");
    },
  );

  it('is named in the notes, with the redirect URI to register', async () => {
    const notes = await helm(['install', '--dry-run=client'], merge(page, { ingress }));
    expect(notes).toContain('open https://swarm.example.com/ ');
    expect(notes).toContain('redirect URI of page: https://swarm.example.com/signed-in');
  });
});
