import { totalmem } from 'node:os';
import { resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { LocalError } from '@uswarm/dev-servers';
import { readSettings } from './settings.js';

const SECRET = 'sixteen letters!';
const TOKEN = 'x'.repeat(32);

/** The error message. */
function refusal(args: string[], env: Record<string, string>): string {
  try {
    readSettings(args, env);
  } catch (error) {
    if (error instanceof LocalError) return error.message;
    throw error;
  }
  throw new Error('no error was thrown');
}

describe('the settings of local mode', () => {
  it('have defaults for everything', () => {
    expect(readSettings([], {})).toEqual({
      proxy: expect.objectContaining({ origins: [] }),
      port: 8080,
      network: { addresses: ['127.0.0.1'], urlHost: '127.0.0.1', shared: false },
      corsOrigins: [],
      dataDirectory: expect.stringMatching(/\/\.data$/),
      maxRuntimes: 8,
      warmRuntimes: totalmem() >= 4 * 1024 ** 3 ? 1 : 0,
      search: { kind: 'searxng' },
      toolServer: undefined,
      e2eToken: undefined,
      signature: { mode: 'off', secret: undefined },
      modelProvider: 'demo',
      logLevel: 'info',
      environment: {},
    });
  });

  it('come from arguments and environment', () => {
    const environment = {
      USWARM_PORT: '9000',
      CORS_ORIGINS: 'https://staging.example.com, capacitor://localhost',
      USWARM_DATA_DIR: 'elsewhere',
      USWARM_MAX_RUNTIMES: '2',
      USWARM_WARM_RUNTIMES: '3',
      SVC_SEARCH_ENDPOINT: 'http://127.0.0.1:8888',
      SVC_MCP_ENDPOINT: 'http://127.0.0.1:8889/mcp',
      SVC_MCP_SIGNING_KEY: `a:${TOKEN}`,
      E2E_TOKEN: TOKEN,
      SIGNATURE_MODE: 'required',
      SIGNATURE_SECRET: SECRET,
      OPENAI_BASE_URL: 'http://127.0.0.1:11434/v1',
      LOG_LEVEL: 'debug',
    };
    expect(readSettings(['--search', '--host', '::1'], environment)).toEqual({
      proxy: expect.objectContaining({ origins: [] }),
      port: 9000,
      network: { addresses: ['127.0.0.1', '::1'], urlHost: '[::1]', shared: false },
      corsOrigins: ['https://staging.example.com', 'capacitor://localhost'],
      dataDirectory: resolve('elsewhere'),
      maxRuntimes: 2,
      warmRuntimes: 3,
      search: { kind: 'own', endpoint: 'http://127.0.0.1:8888' },
      toolServer: { endpoint: 'http://127.0.0.1:8889/mcp', signingKey: `a:${TOKEN}` },
      e2eToken: TOKEN,
      signature: { mode: 'required', secret: SECRET },
      modelProvider: 'openai',
      logLevel: 'debug',
      environment,
    });
  });

  it.each([
    [[], {}, { kind: 'searxng' }],
    [['--search'], {}, { kind: 'searxng' }],
    [['--no-search'], {}, { kind: 'off' }],
    [[], { SVC_SEARCH_ENDPOINT: '' }, { kind: 'off' }],
    [['--search'], { SVC_SEARCH_ENDPOINT: '' }, { kind: 'searxng' }],
    [[], { SVC_SEARCH_ENDPOINT: 'http://u:p@own' }, { kind: 'own', endpoint: 'http://u:p@own' }],
    [['--search'], { SVC_SEARCH_ENDPOINT: 'http://own' }, { kind: 'own', endpoint: 'http://own' }],
    [['--no-search'], { SVC_SEARCH_ENDPOINT: 'http://own' }, { kind: 'off' }],
  ])('choose the search by the arguments %j and the environment %j', (args, environment, search) => {
    expect(readSettings(args, environment as Record<string, string>)?.search).toEqual(search);
  });

  it('select a real model if only its key is set', () => {
    expect(readSettings([], { OPENAI_API_KEY: 'k' })?.modelProvider).toBe('openai');
    expect(readSettings([], { OPENAI_API_KEY: '', OPENAI_MODEL: 'm' })?.modelProvider).toBe('demo');
  });

  it('accept every id of a signing key that the tool server accepts', () => {
    const signingKey = `key-2.prod:${TOKEN}`;
    const environment = { SVC_MCP_ENDPOINT: 'http://127.0.0.1:8889/mcp', SVC_MCP_SIGNING_KEY: signingKey };
    expect(readSettings([], environment)?.toolServer?.signingKey).toBe(signingKey);
  });

  it.each([['--help'], ['-h']])('are not read for %s, even if others are invalid', (argument) => {
    expect(readSettings([argument], { USWARM_PORT: 'abc' })).toBeUndefined();
  });

  it.each([
    [{ USWARM_PORT: 'abc' }, 'USWARM_PORT is not valid: must be a port number up to 65535.'],
    [{ USWARM_PORT: '65536' }, 'USWARM_PORT is not valid: must be a port number up to 65535.'],
    [{ USWARM_PORT: '0' }, 'USWARM_PORT is not valid: must be at least 1.'],
    [{ USWARM_MAX_RUNTIMES: 'abc' }, 'USWARM_MAX_RUNTIMES is not valid: must be an integer from 1 to 1000.'],
    [{ USWARM_MAX_RUNTIMES: '0' }, 'USWARM_MAX_RUNTIMES is not valid: must be an integer from 1 to 1000.'],
    [{ USWARM_MAX_RUNTIMES: '1.5' }, 'USWARM_MAX_RUNTIMES is not valid: must be an integer from 1 to 1000.'],
    [{ USWARM_MAX_RUNTIMES: '1001' }, 'USWARM_MAX_RUNTIMES is not valid: must be an integer from 1 to 1000.'],
    [{ USWARM_WARM_RUNTIMES: '-1' }, 'USWARM_WARM_RUNTIMES is not valid: must be an integer from 0 to 100.'],
    [{ USWARM_WARM_RUNTIMES: '101' }, 'USWARM_WARM_RUNTIMES is not valid: must be an integer from 0 to 100.'],
    [
      { CORS_ORIGINS: 'localhost:5173' },
      'CORS_ORIGINS is not valid: expected origins such as https://app.example.com, or only *.',
    ],
    [{ E2E_TOKEN: TOKEN.slice(1) }, 'E2E_TOKEN is not valid: needs at least 32 characters.'],
    [{ SIGNATURE_MODE: 'required' }, 'SIGNATURE_MODE=required needs SIGNATURE_SECRET.'],
    [{ SIGNATURE_SECRET: SECRET.slice(1) }, 'SIGNATURE_SECRET is not valid: needs at least 16 characters.'],
    [{ SIGNATURE_MODE: 'on' }, 'SIGNATURE_MODE is not valid: must be off or required.'],
    [{ SVC_SEARCH_ENDPOINT: 'localhost:8888' }, 'SVC_SEARCH_ENDPOINT is not valid: needs an http or https URL.'],
    [
      { SVC_SEARCH_ENDPOINT: 'http://user:12/hunter2@localhost' },
      'SVC_SEARCH_ENDPOINT is not valid: a password in the searxng endpoint needs "/", "?", "#" and "@" in percent-encoding.',
    ],
    [
      { SVC_MCP_SIGNING_KEY: 'a:short' },
      'SVC_MCP_SIGNING_KEY is not valid: must be <id>:<secret> with at least 32 characters.',
    ],
    [
      { SVC_MCP_ENDPOINT: 'http://127.0.0.1:8889/mcp' },
      'SVC_MCP_ENDPOINT needs SVC_MCP_SIGNING_KEY, with which the tool server checks tokens.',
    ],
    [{ OPENAI_BASE_URL: 'ftp://models' }, 'OPENAI_BASE_URL is not valid: needs an http or https URL.'],
    [{ LOG_LEVEL: 'loud' }, 'LOG_LEVEL is not valid: must be trace, debug, info, warn, error, fatal or silent.'],
    [
      { USWARM_PORT: 'abc', E2E_TOKEN: 'short' },
      'USWARM_PORT is not valid: must be a port number up to 65535; E2E_TOKEN is not valid: needs at least 32 characters.',
    ],
  ])('reject %j in one sentence', (environment, sentence) => {
    expect(refusal([], environment as Record<string, string>)).toBe(sentence);
  });

  it.each([
    [['--serach'], "Unknown option '--serach'. Try npm start -- --help."],
    [['search'], "Unexpected argument 'search'. Try npm start -- --help."],
    [['--search', '--no-search'], '--search and --no-search exclude each other. Try npm start -- --help.'],
    [['--search=yes'], "Option '--search' does not take an argument. Try npm start -- --help."],
  ])('reject the arguments %j in one sentence', (args, sentence) => {
    expect(refusal(args, {})).toBe(sentence);
  });
});
