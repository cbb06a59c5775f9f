import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Database } from '../../platform/database/database.js';
import { createConnectedServers } from './connected-servers.js';
import { type ToolServer, userServer } from './tool-servers-file.js';

const USER = 'ada';
const RUNNING = new AbortController().signal;

describe('the connection to a server that a user has added', () => {
  let http: Server;
  let url: string;
  let tokens: (string | undefined)[];
  beforeEach(async () => {
    tokens = [];
    http = createServer((request, response) => {
      tokens.push(request.headers.authorization);
      response.writeHead(405).end();
    });
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
  });
  afterEach(() => void http.close().closeAllConnections());

  const notes = (type: 'none' | 'user_token', name = 'Notes'): ToolServer =>
    userServer(USER, { id: 'own_abcd1234', name, url, auth: { type } });
  const open = (publicOutgoing: { fetch: typeof fetch } = { fetch }) =>
    createConnectedServers({
      servers: [],
      outgoing: { fetch: () => Promise.reject(new Error('reaches private addresses')) },
      publicOutgoing,
      secrets: undefined,
      accessTokens: { current: async () => 'secret', replacing: async () => 'secret' },
      database: {} as Database,
      version: '1',
      listChanged: () => undefined,
    });

  it('is shared by calls, and has the new name after the user has renamed the server', async () => {
    const connected = open();
    const first = connected.of(notes('none'), USER);
    const renamed = connected.of(notes('none', 'Diary'), USER);
    expect(renamed.client).toBe(first.client);
    expect(renamed.server.name).toBe('Diary');
    await connected.close();
  });

  it('sends the token after the user has entered one, also where a connection without a token is open', async () => {
    const connected = open();
    await connected
      .of(notes('none'), USER)
      .client.list(RUNNING)
      .catch(() => undefined);
    expect(new Set(tokens)).toEqual(new Set([undefined]));
    tokens = [];
    await connected
      .of(notes('user_token'), USER)
      .client.list(RUNNING)
      .catch(() => undefined);
    expect(new Set(tokens)).toEqual(new Set(['Bearer secret']));
    await connected.close();
  });

  it('is another one for each user', async () => {
    const connected = open();
    expect(connected.of(notes('none'), USER).client).not.toBe(connected.of(notes('none'), 'eve').client);
    await connected.close();
  });

  it('is opened again after it was ended', async () => {
    const connected = open();
    const first = connected.of(notes('none'), USER);
    connected.end(USER, 'own_abcd1234');
    expect(connected.of(notes('none'), USER).client).not.toBe(first.client);
    await connected.close();
  });
});
