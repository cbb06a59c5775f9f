import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
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

  it.each(['http://tracker.backend.svc:8080/mcp', 'http://tracker/mcp', 'http://127.0.0.1:1/mcp'])(
    'accepts a token for a server in the cluster or on this machine: %s',
    async (url) => {
      expect((await load({ servers: [{ ...SERVER, url, ...BEARER }] }))()).toHaveLength(1);
    },
  );

  it.each([
    ['no JSON', '{', /^TOOL_SERVERS_FILE is not valid: /],
    ['an id twice', [SERVER, SERVER], 'TOOL_SERVERS_FILE: servers.1.id: tracker is used twice'],
    ['two underscores in an id', [{ ...SERVER, id: 'a__b' }], /^TOOL_SERVERS_FILE: servers\.0\.id: must be lower-case/],
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
