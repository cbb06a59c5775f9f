import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ClientSetting, type KnownServer, KNOWN_SERVERS, knownServer } from './known-servers.js';
import { loadToolServers } from './tool-servers-file.js';

const SERVER = { id: 'tracker', name: 'Tracker', url: 'https://mcp.example.com/mcp' };
const BEARER = { auth: { type: 'bearer', secret: 'tracker' } };

describe('the file with tool servers', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'uswarm-tool-servers-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  async function load(content: unknown) {
    const file = path.join(folder, 'tool-servers.json');
    await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
    return () => loadToolServers(file);
  }

  it('is optional', () => {
    expect(loadToolServers(undefined)).toEqual([]);
  });

  it('has defaults: no account, on for all agents, hints that are not trusted', async () => {
    expect((await load({ servers: [SERVER] }))()).toEqual([
      {
        ...SERVER,
        description: '',
        category_id: 'development',
        auth: { type: 'none' },
        availability: 'on',
        denied_tools: [],
        trust_hints: false,
        limits: { call_timeout_s: 60, max_concurrent: 8 },
      },
    ]);
  });

  const redirect_urls = ['https://app.example.com/connected'];

  it('needs only accounts for a known server that registers a client itself', async () => {
    const [notion] = (await load({ servers: [{ id: 'notion', auth: { redirect_urls } }] }))();
    const { name, description, category_id, url } = KNOWN_SERVERS.notion;
    expect(notion).toMatchObject({ name, description, category_id, url, auth: { type: 'oauth', redirect_urls } });
  });

  it('can say something else about a known server', async () => {
    const own = { name: 'Wiki', description: '', category_id: 'research', denied_tools: ['notion-move-pages'] };
    const [notion] = (await load({ servers: [{ id: 'notion', ...own, auth: { redirect_urls } }] }))();
    expect(notion).toMatchObject({ ...own, url: KNOWN_SERVERS.notion.url });
  });

  it('can give a known server a token that all users share', async () => {
    const [github] = (await load({ servers: [{ id: 'github', ...BEARER }] }))();
    expect(github).toMatchObject({ url: KNOWN_SERVERS.github.url, auth: BEARER.auth });
  });

  it('knows no accounts of a server at another address', async () => {
    const [github] = (await load({ servers: [{ id: 'github', url: 'http://github.tools.svc/mcp' }] }))();
    expect(github).toMatchObject({ name: 'GitHub', url: 'http://github.tools.svc/mcp', auth: { type: 'none' } });
  });

  it.each(
    Object.entries<KnownServer>(KNOWN_SERVERS).flatMap(([id, { needs }]) => needs.map((setting) => [id, setting])),
  )('is refused for %s without %s, and names the documentation', async (id, setting) => {
    const { documentation, needs } = knownServer(id) as KnownServer;
    const values = { client_id: 'id', secret: 'file', scopes: ['read'] };
    const given = Object.fromEntries(needs.map((name) => [name, values[name]]));
    const server = { id, auth: { redirect_urls, ...given } };
    expect((await load({ servers: [server] }))()).toHaveLength(1);
    const { [setting as ClientSetting]: _, ...others } = given;
    expect(await load({ servers: [{ id, auth: { redirect_urls, ...others } }] })).toThrow(
      `TOOL_SERVERS_FILE: servers.0.auth.${setting}: needed for ${id}, see ${documentation}`,
    );
  });

  it.each(['http://tracker.backend.svc:8080/mcp', 'http://tracker/mcp', 'http://127.0.0.1:1/mcp'])(
    'accepts a token for a server in the cluster or on this machine: %s',
    async (url) => {
      expect((await load({ servers: [{ ...SERVER, url, ...BEARER }] }))()).toHaveLength(1);
    },
  );

  it.each([
    ['no JSON', '{', /^TOOL_SERVERS_FILE is not valid: /],
    ['an id twice', [SERVER, SERVER], 'TOOL_SERVERS_FILE: servers.1.id: tracker is used twice'],
    ['a known server without accounts', [{ id: 'notion' }], /^TOOL_SERVERS_FILE: servers\.0\.auth\.redirect_urls: /],
    [
      'an unknown server without an address',
      [{ id: 'linear' }],
      /^TOOL_SERVERS_FILE: servers\.0\.name: .*\n.*servers\.0\.url: /,
    ],
    ['two underscores in an id', [{ ...SERVER, id: 'a__b' }], /^TOOL_SERVERS_FILE: servers\.0\.id: must be lower-case/],
    [
      'an id like those of users',
      [{ ...SERVER, id: 'own_tracker' }],
      'TOOL_SERVERS_FILE: servers.0.id: must not begin with own_, like the servers that users add',
    ],
    ['another scheme', [{ ...SERVER, url: 'ftp://x' }], /^TOOL_SERVERS_FILE: servers\.0\.url: /],
    ['an unknown field', [{ ...SERVER, tools: [] }], /^TOOL_SERVERS_FILE: servers\.0: Unrecognized key: "tools"/],
    [
      'a token without a file',
      [{ ...SERVER, auth: { type: 'bearer' } }],
      /^TOOL_SERVERS_FILE: servers\.0\.auth\.secret: /,
    ],
    [
      'a file outside',
      [{ ...SERVER, auth: { type: 'bearer', secret: '..' } }],
      'TOOL_SERVERS_FILE: servers.0.auth.secret: must be the name of a file',
    ],
    [
      'a token for plain http outside',
      [{ ...SERVER, url: 'http://mcp.example.com/mcp', ...BEARER }],
      'TOOL_SERVERS_FILE: servers.0.url: needs https, because the server receives a token',
    ],
    [
      'a tool that is allowed and denied',
      [{ ...SERVER, allowed_tools: ['a', 'b'], denied_tools: ['b'] }],
      'TOOL_SERVERS_FILE: servers.0.denied_tools: also allowed: b',
    ],
  ])('is refused for %s', async (_, servers, message) => {
    expect(await load(typeof servers === 'string' ? servers : { servers })).toThrow(message);
  });
});
