import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { KNOWN_SERVERS } from '@uswarm/orchestrator/known-tool-servers';
import { connects, policiesOf, podOf, leaves, unrelatedPod } from './support/network-model.js';
import { container, evaluation, find, type Manifest, podTemplates, rejection, render } from './support/rendering.js';
import { merge } from './support/value-paths.js';

const WIKI = { id: 'wiki', name: 'Wiki', url: 'http://wiki.tools.svc:8080/mcp', auth: { type: 'none' } };
const TICKETS = {
  id: 'ticket_system',
  name: 'Tickets & <more>',
  description: 'Reads and writes tickets.',
  category_id: 'projects',
  url: 'https://mcp.example.com/@team/tickets?region=eu&v=2',
  auth: { type: 'bearer', secret: 'tickets.token' },
  availability: 'off',
  allowed_tools: ['list_tickets'],
  denied_tools: ['delete_ticket'],
  trust_hints: true,
  limits: { call_timeout_s: 600, max_concurrent: 64 },
  icon_url: 'https://mcp.example.com/icon.svg',
};
const withServers = (servers: readonly object[], existingSecret = ''): object =>
  merge(evaluation, { toolServers: { servers, existingSecret } });

const orchestratorOf = (manifests: readonly Manifest[]) => {
  const { annotations, spec } = podTemplates(manifests).find(({ owner }) => owner === 'uswarm-orchestrator')!;
  const { env = [], volumeMounts = [] } = container(manifests, 'uswarm-orchestrator', 'orchestrator');
  const isOurs = ({ name }: { name: string }): boolean => /tool.server/i.test(name);
  return {
    checksum: annotations['checksum/config'],
    env: env.filter(isOurs),
    mounts: volumeMounts.filter(isOurs),
    volumes: spec.volumes.filter(isOurs),
  };
};

describe('tool servers', () => {
  it('add nothing to a release without servers, even with a Secret', async () => {
    const manifests = await render(withServers([], 'tool-tokens'));
    expect(orchestratorOf(manifests)).toEqual({ checksum: undefined, env: [], mounts: [], volumes: [] });
    expect(JSON.stringify(manifests)).not.toMatch(/tool.server|tool-tokens/i);
  });

  it.each([
    [true, 'on'],
    [false, 'off'],
    ['forced', 'forced'],
  ])('are available as YAML reads it: %j as %j', async (availability, expected) => {
    const manifests = await render(withServers([{ ...WIKI, availability }]));
    const { data } = find(manifests, 'ConfigMap', 'uswarm-tool-servers', 'backend') as unknown as {
      data: Record<string, string>;
    };
    expect(JSON.parse(data['tool-servers.json']!)).toEqual({ servers: [{ ...WIKI, availability: expected }] });
  });

  it('are a file of the orchestrator, with the tokens of the Secret beside it', async () => {
    const manifests = await render(withServers([WIKI, TICKETS], 'tool-tokens'));
    const { data } = find(manifests, 'ConfigMap', 'uswarm-tool-servers', 'backend') as unknown as {
      data: Record<string, string>;
    };
    expect(Object.keys(data)).toEqual(['tool-servers.json']);
    expect(JSON.parse(data['tool-servers.json']!)).toEqual({ servers: [WIKI, TICKETS] });
    expect(orchestratorOf(manifests)).toEqual({
      checksum: createHash('sha256').update(data['tool-servers.json']!).digest('hex'),
      env: [
        { name: 'TOOL_SERVERS_FILE', value: '/etc/uswarm/tool-servers/tool-servers.json' },
        { name: 'TOOL_SERVER_SECRETS', value: '/etc/uswarm/tool-server-secrets' },
      ],
      mounts: [
        { name: 'tool-servers', mountPath: '/etc/uswarm/tool-servers', readOnly: true },
        { name: 'tool-server-secrets', mountPath: '/etc/uswarm/tool-server-secrets', readOnly: true },
      ],
      volumes: [
        { name: 'tool-servers', configMap: { name: 'uswarm-tool-servers' } },
        { name: 'tool-server-secrets', secret: { secretName: 'tool-tokens', defaultMode: 0o440 } },
      ],
    });
  });

  it('can have accounts of users, with a client that the server or the operator has registered', async () => {
    const redirect = { redirect_urls: ['https://app.example.com/connected/wiki'] };
    const auths = [redirect, { ...redirect, client_id: 'uswarm', secret: 'wiki-client', scopes: ['read'] }];
    const servers = auths.map((auth, index) => ({ ...WIKI, id: `wiki_${index}`, auth: { type: 'oauth', ...auth } }));
    const values = withServers(servers, 'tool-tokens');
    expect((await rejection(values)).trim()).toContain(
      'secrets.integrations.existingSecret is required: the server wiki_0',
    );
    const keys = { secrets: { integrations: { existingSecret: 'integrations' } } };
    const { env } = orchestratorOf(await render(merge(values, keys)));
    expect(env).toHaveLength(2);
  });

  it.each(Object.keys(KNOWN_SERVERS))('need only accounts if they are known: %s', async (id) => {
    const auth = { redirect_urls: ['https://app.example.com/connected'] };
    const values = withServers([{ id, auth }]);
    expect((await rejection(values)).trim()).toContain(
      `secrets.integrations.existingSecret is required: the server ${id}`,
    );
    const keys = { secrets: { integrations: { existingSecret: 'integrations' } } };
    const manifests = await render(merge(values, keys));
    const { data } = find(manifests, 'ConfigMap', 'uswarm-tool-servers', 'backend') as unknown as {
      data: Record<string, string>;
    };
    expect(JSON.parse(data['tool-servers.json']!)).toEqual({ servers: [{ id, auth }] });
  });

  it('need auth if they are known, and name and url if they are not', async () => {
    expect(await rejection(withServers([{ id: 'notion' }]))).toContain(
      "at '/toolServers/servers/0': missing property 'auth'",
    );
    for (const server of [
      { id: 'wiki', name: 'Wiki', auth: { type: 'none' } },
      { id: 'wiki', url: WIKI.url },
    ])
      expect((await rejection(withServers([server]))).trim()).toBe(
        `toolServers.servers: the server wiki needs name and url; only these servers are known: ${Object.keys(KNOWN_SERVERS).join(', ')}.`,
      );
  });

  it('need no Secret without tokens', async () => {
    const { env, mounts, volumes } = orchestratorOf(await render(withServers([WIKI])));
    expect(env.map(({ name }) => name)).toEqual(['TOOL_SERVERS_FILE']);
    expect(mounts.map(({ name }) => name)).toEqual(['tool-servers']);
    expect(volumes).toHaveLength(1);
  });

  it('are mounted only in the orchestrator, and not in its migrations', async () => {
    const manifests = await render(withServers([TICKETS], 'tool-tokens'));
    const migrations = container(manifests, 'uswarm-orchestrator', 'migrations');
    expect(JSON.stringify(migrations)).not.toMatch(/tool.server/i);
    const mounting = podTemplates(manifests).filter(({ spec }) => JSON.stringify(spec).includes('tool-tokens'));
    expect(mounting.map(({ owner }) => owner)).toEqual(['uswarm-orchestrator']);
  });

  it('require a Secret if one of them has a token', async () => {
    expect((await rejection(withServers([WIKI, TICKETS]))).trim()).toBe(
      'toolServers.existingSecret is required: the server ticket_system has auth.secret, which is a key of this Secret.',
    );
  });

  it('have different ids', async () => {
    expect((await rejection(withServers([WIKI, { ...WIKI, name: 'Other' }]))).trim()).toBe(
      'toolServers.servers has two servers with the id wiki.',
    );
  });

  it.each<[string, object, string]>([
    ['an unknown field', { transport: 'sse' }, "/0': additional properties 'transport' not allowed"],
    ['an id with a hyphen', { id: 'my-wiki' }, "/0/id'"],
    ['an id like those of users', { id: 'own_wiki' }, "/0/id'"],
    ['an id with 25 characters', { id: 'a'.repeat(25) }, "/0/id'"],
    ['an empty name', { name: '' }, "/0/name'"],
    ['a description with 301 characters', { description: 'a'.repeat(301) }, "/0/description'"],
    ['an unknown category', { category_id: 'games' }, "/0/category_id'"],
    ['a URL without a scheme', { url: 'wiki.example.com' }, "/0/url'"],
    ['a password in the URL', { url: 'https://user:password@wiki.example.com' }, "/0/url'"],
    ['an unknown kind of authentication', { auth: { type: 'basic' } }, "/0/auth/type'"],
    ['authentication of no kind at its own address', { auth: { redirect_urls: ['https://a.example.com'] } }, '/0/auth'],
    ['accounts without an address to return to', { auth: { type: 'oauth' } }, "/0/auth'"],
    ['a token with an OAuth client', { auth: { type: 'bearer', secret: 'a', client_id: 'b' } }, '/0/auth'],
    ['a bearer without a key', { auth: { type: 'bearer' } }, "/0/auth'"],
    ['a key that is a path', { auth: { type: 'bearer', secret: 'a/b' } }, "/0/auth/secret'"],
    ['a key that has no use', { auth: { type: 'none', secret: 'a' } }, "/0/auth'"],
    ['a token among the values', { auth: { type: 'bearer', token: 'a' } }, "'token' not allowed"],
    ['another availability', { availability: 'always' }, "/0/availability'"],
    ['a tool that is not a text', { allowed_tools: [1] }, "/0/allowed_tools/0'"],
    ['a call timeout of 0', { limits: { call_timeout_s: 0 } }, "/0/limits/call_timeout_s'"],
    ['65 concurrent calls', { limits: { max_concurrent: 65 } }, "/0/limits/max_concurrent'"],
    ['an icon over http', { icon_url: 'http://wiki.example.com/icon.svg' }, "/0/icon_url'"],
  ])('cannot have %s', async (_case, wrong, message) => {
    const text = await rejection(withServers([{ ...WIKI, ...wrong }]));
    expect(text).toContain("at '/toolServers/servers/0");
    expect(text).toContain(message);
  });
});

describe('tool servers of users', () => {
  const withUsers = (userServers: object): object =>
    merge(evaluation, {
      secrets: { integrations: { existingSecret: 'integrations' } },
      toolServers: { userServers: { enabled: true, ...userServers } },
    });

  it.each([
    ['ten per user and no further addresses', {}, ['10', '', '']],
    [
      'what the operator sets',
      {
        maxPerUser: 3,
        redirectUrls: ['https://app.example.com/connected/{server}', 'uswarm://connected'],
        privateHosts: ['mcp.internal', '10.0.0.7'],
      },
      ['3', 'https://app.example.com/connected/{server},uswarm://connected', 'mcp.internal,10.0.0.7'],
    ],
  ])('are turned on with %s', async (_case, userServers, [perUser, redirectUrls, privateHosts]) => {
    expect(orchestratorOf(await render(withUsers(userServers)))).toEqual({
      checksum: undefined,
      env: [
        { name: 'USER_TOOL_SERVERS', value: 'true' },
        { name: 'USER_TOOL_SERVERS_PER_USER', value: perUser },
        { name: 'USER_TOOL_SERVERS_REDIRECT_URLS', value: redirectUrls },
        { name: 'USER_TOOL_SERVERS_PRIVATE_HOSTS', value: privateHosts },
      ],
      mounts: [],
      volumes: [],
    });
  });

  it('require the key that encrypts tokens', async () => {
    const values = merge(evaluation, { toolServers: { userServers: { enabled: true } } });
    expect((await rejection(values)).trim()).toContain(
      'secrets.integrations.existingSecret is required with toolServers.userServers.enabled',
    );
  });

  it.each([
    ['no server per user', { maxPerUser: 0 }, '/maxPerUser'],
    ['51 servers per user', { maxPerUser: 51 }, '/maxPerUser'],
    ['two addresses in one', { redirectUrls: ['https://a.example,https://b.example'] }, '/redirectUrls/0'],
    ['a host with a port', { privateHosts: ['mcp.internal:8443'] }, '/privateHosts/0'],
  ])('cannot have %s', async (_case, wrong, path) => {
    expect(await rejection(withUsers(wrong))).toContain(`at '/toolServers/userServers${path}'`);
  });
});

describe('the orchestrator with tool servers', () => {
  it('reaches https addresses by default, and servers in the cluster with extraEgress', async () => {
    const to = [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'tools' } } }];
    const extraEgress = [{ to, ports: [{ protocol: 'TCP', port: 8080 }] }];
    const server = { ...unrelatedPod('tools'), ports: { http: 8080 } };
    const values = withServers([WIKI]);
    const reach = async (networkPolicy: object) => {
      const manifests = await render(merge(values, { networkPolicy }));
      const [policies, orchestrator] = [policiesOf(manifests), podOf(manifests, 'uswarm-orchestrator')];
      return {
        https: leaves(policies, orchestrator, '203.0.113.1', 443),
        inCluster: connects(policies, orchestrator, server, 8080),
      };
    };
    expect(await reach({})).toEqual({ https: true, inCluster: false });
    expect(await reach({ extraEgress })).toEqual({ https: true, inCluster: true });
  });
});
