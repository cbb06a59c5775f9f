import { describe, expect, it } from '@jest/globals';
import { ConfigError, loadConfig } from '@uswarm/service-kit';
import { DIRECT } from '@uswarm/service-kit/outgoing';
import { checkConfig, OrchestratorConfig, readConfig } from '../../src/config.js';
import { idleSuspendAfterMs } from '../../src/runtimes/runtime-settings.js';
import { objectSettings } from '../../src/workspaces/uploads/object-settings.js';

const SECRETS = ['INTERNAL_API_KEY', 'CURSOR_KEY', 'IDENTITY_HASH_KEY'] as const;
const environment = {
  DATABASE_URL: 'postgres://localhost/uswarm',
  OIDC_ISSUERS: '[{"issuer": "https://idp.example.com", "audience": "app"}]',
  CALL_PRIVATE_KEY: String.raw`-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----`,
  RUNTIME_DRIVER: 'process',
  OBJECT_STORE: 'file',
  OBJECT_DIRECTORY: '/var/lib/uswarm',
  ...Object.fromEntries(SECRETS.map((name) => [name, 'x'.repeat(32)])),
};
const read = (more: Record<string, string | undefined> = {}) => ({
  ...loadConfig(OrchestratorConfig, { ...environment, ...more }),
  proxy: DIRECT,
});

const issuerAt = (n: number) => ({ issuer: `https://idp-${n}.example.com`, audience: 'app' });

describe('the configuration', () => {
  it('requires signatures and has the documented ports by default', () => {
    expect(read()).toMatchObject({ SIGNATURE_MODE: 'required', HTTP_PORT: 8080, OPS_PORT: 8081, INTERNAL_PORT: 8082 });
  });

  it.each([...SECRETS, 'DATABASE_URL', 'OIDC_ISSUERS', 'CALL_PRIVATE_KEY', 'RUNTIME_DRIVER', 'OBJECT_STORE'])(
    'requires %s',
    (name) => {
      expect(() => read({ [name]: undefined })).toThrow(name);
    },
  );

  it.each(SECRETS)('rejects a short %s without showing it', (name) => {
    const value = 'too-short-to-be-a-secret';
    expect(() => read({ [name]: value })).toThrow(ConfigError);
    expect(() => read({ [name]: value })).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining(value) }),
    );
  });

  it('requires a key of the model gateway if runtimes use one', () => {
    const settings = { ...environment, MODEL_TOKEN_SIGNING_KEY: `k1:${'t'.repeat(32)}`, SIGNATURE_MODE: 'off' };
    expect(() => readConfig(settings)).toThrow('MODEL_CALLS_KEY is not set');
    expect(() => readConfig({ ...settings, MODEL_CALLS_KEY: `k1:${'m'.repeat(32)}` })).not.toThrow();
  });

  it.each(['INTERNAL_API_KEY', 'INTERNAL_API_KEY_PREVIOUS', 'ADMIN_API_KEY', 'ADMIN_API_KEY_PREVIOUS'])(
    'rejects a key of the model gateway with the secret of %s, also under another id',
    (name) => {
      const settings = { ...environment, SIGNATURE_MODE: 'off', [name]: `k2:${'s'.repeat(32)}` };
      expect(() => readConfig({ ...settings, MODEL_CALLS_KEY: `m1:${'s'.repeat(32)}` })).toThrow('a separate key');
      expect(() => readConfig({ ...settings, MODEL_CALLS_KEY: `m1:${'t'.repeat(32)}` })).not.toThrow();
    },
  );

  it.each([
    ['that are not JSON', 'https://idp.example.com'],
    ['that are empty', '[]'],
    ['without an audience', '[{"issuer": "https://idp.example.com"}]'],
    ['with a name instead of a URL', '[{"issuer": "idp", "audience": "app"}]'],
    [
      'with the id that is reserved for the bypass',
      '[{"id": "e2e", "issuer": "https://idp.example.com", "audience": "app"}]',
    ],
    [
      'with the same id',
      JSON.stringify([
        { id: 'a', ...issuerAt(1) },
        { id: 'a', ...issuerAt(2) },
      ]),
    ],
    [
      'with an id that is the URL of another issuer',
      JSON.stringify([{ id: issuerAt(2).issuer, ...issuerAt(1) }, issuerAt(2)]),
    ],
    [
      'with the same URL',
      JSON.stringify([
        { id: 'a', ...issuerAt(1) },
        { id: 'b', ...issuerAt(1) },
      ]),
    ],
    ['with a symmetric algorithm', JSON.stringify([{ ...issuerAt(1), algorithms: ['HS256'] }])],
    ['with an empty list of algorithms', JSON.stringify([{ ...issuerAt(1), algorithms: [] }])],
  ])('rejects issuers %s', (_what, issuers) => {
    expect(() => read({ OIDC_ISSUERS: issuers })).toThrow(/OIDC_ISSUERS/);
  });

  it.each([
    ['http://idp.example.com', undefined],
    ['http://localhost.example.com', undefined],
    ['https://idp.example.com', 'http://idp.example.com/keys'],
  ])('rejects the issuer %s with keys at %s unless OIDC_ALLOW_HTTP is set', (issuer, jwks_uri) => {
    const settings = {
      SIGNATURE_MODE: 'off',
      OIDC_ISSUERS: JSON.stringify([{ issuer, audience: 'app', ...(jwks_uri === undefined ? {} : { jwks_uri }) }]),
    };
    expect(() => checkConfig(read(settings))).toThrow(/OIDC_ISSUERS: http:\S+ needs https; OIDC_ALLOW_HTTP/);
    expect(checkConfig(read({ ...settings, OIDC_ALLOW_HTTP: 'true' })).OIDC_ISSUERS).toHaveLength(1);
  });

  it.each(['http://127.0.0.1:9000/dev/issuer', 'http://localhost:9000', 'http://[::1]:9000'])(
    'accepts the issuer %s of the same machine',
    (issuer) => {
      const settings = { SIGNATURE_MODE: 'off', OIDC_ISSUERS: JSON.stringify([{ issuer, audience: 'app' }]) };
      expect(checkConfig(read(settings)).OIDC_ISSUERS).toHaveLength(1);
    },
  );

  const operatorsAt = (issuer: string, audience: string | string[]) => ({
    SIGNATURE_MODE: 'off',
    OPERATOR_ISSUERS: JSON.stringify([
      { issuer, audience, rules: [{ claim: 'groups', value: 'sre', rights: ['show'] }] },
    ]),
  });

  it('rejects an issuer of operators over http unless OIDC_ALLOW_HTTP is set', () => {
    const settings = operatorsAt('http://login.example.com', 'uswarmctl');
    expect(() => checkConfig(read(settings))).toThrow(/OPERATOR_ISSUERS: http:\S+ needs https; OIDC_ALLOW_HTTP/);
    expect(checkConfig(read({ ...settings, OIDC_ALLOW_HTTP: 'true' })).OPERATOR_ISSUERS).toHaveLength(1);
  });

  it('rejects an audience of the app for operators of the same issuer', () => {
    for (const audience of ['app', ['uswarmctl', 'app']]) {
      const settings = operatorsAt('https://idp.example.com', audience);
      expect(() => checkConfig(read(settings))).toThrow(/OPERATOR_ISSUERS: app is an audience of .* separate client/);
    }
    for (const settings of [
      operatorsAt('https://idp.example.com', 'uswarmctl'),
      operatorsAt('https://staff.example.com', 'app'),
    ]) {
      expect(checkConfig(read(settings)).OPERATOR_ISSUERS).toHaveLength(1);
    }
  });

  it('accepts a private key with escaped line breaks', () => {
    expect(read().CALL_PRIVATE_KEY.split('\n')).toHaveLength(3);
  });

  it('requires SIGNATURE_SECRET if signatures are required', () => {
    expect(() => checkConfig(read())).toThrow(/SIGNATURE_SECRET is not set/);
    expect(checkConfig(read({ SIGNATURE_SECRET: 'x'.repeat(16) })).SIGNATURE_SECRET).toHaveLength(16);
    expect(checkConfig(read({ SIGNATURE_MODE: 'off' })).SIGNATURE_MODE).toBe('off');
  });

  it.each(['*', 'https://a.example/path', "https://a.example; script-src 'unsafe-inline'", 'a.example'])(
    'rejects %s in WEB_ISSUER_ORIGINS, which the content security policy contains',
    (origin) => {
      expect(() => read({ WEB_ISSUER_ORIGINS: `https://tokens.example,${origin}` })).toThrow(/WEB_ISSUER_ORIGINS/);
    },
  );

  describe('with runtimes as pods', () => {
    const kubernetes = { RUNTIME_DRIVER: 'kubernetes', SIGNATURE_MODE: 'off' };

    it('has the defaults of the chart', () => {
      expect(read(kubernetes)).toMatchObject({
        RUNTIME_NAMESPACE: 'userswarms',
        RUNTIME_ENV_SECRET: 'uswarm-model-env',
      });
    });

    it('uses no Secret if RUNTIME_ENV_SECRET is empty', () => {
      const { RUNTIME_ENV_SECRET: secret } = readConfig({ ...environment, ...kubernetes, RUNTIME_ENV_SECRET: '' });
      expect(secret).toBe('');
    });

    it.each([
      ['RUNTIME_NAMESPACE', 'Not_A_Namespace'],
      ['RUNTIME_ENV_SECRET', '../other'],
      ['RUNTIME_DEFAULT_PROVIDER', 'Open AI'],
      ['RUNTIME_DRIVER', 'docker'],
      ['IDLE_SUSPEND_AFTER_S', '-1'],
      ['IDLE_SUSPEND_AFTER_S', 'soon'],
    ])('rejects %s=%s', (name, value) => {
      expect(() => read({ ...kubernetes, [name]: value })).toThrow(name);
    });
  });

  describe('of integrations', () => {
    const gmail = JSON.stringify({ gmail: { client_id: 'id', redirect_urls: ['uswarm.app:/callback'] } });
    const keys = `one:${Buffer.alloc(32).toString('base64')}`;
    const check = (more: Record<string, string>) => checkConfig(read({ SIGNATURE_MODE: 'off', ...more }));

    it('has no integration provider by default', () => {
      expect(read().INTEGRATION_PROVIDERS).toEqual({});
    });

    it('requires INTEGRATION_TOKEN_KEYS if a provider is configured', () => {
      expect(() => check({ INTEGRATION_PROVIDERS: gmail })).toThrow(/INTEGRATION_TOKEN_KEYS is not set/);
      expect(check({ INTEGRATION_PROVIDERS: gmail, INTEGRATION_TOKEN_KEYS: keys }).INTEGRATION_TOKEN_KEYS).toHaveLength(
        1,
      );
    });

    it('rejects an app that is a tool server, without showing its secret', () => {
      const slack = JSON.stringify({
        slack: { client_id: 'id', client_secret: 'hidden', redirect_urls: ['https://a/b'] },
      });
      expect(() => check({ INTEGRATION_PROVIDERS: slack, INTEGRATION_TOKEN_KEYS: keys })).toThrow(
        /^INTEGRATION_PROVIDERS is not valid: slack is a tool server: [^\n]*TOOL_SERVERS_FILE[^\n]*$/,
      );
      expect(() => check({ INTEGRATION_PROVIDERS: slack })).not.toThrow(/hidden/);
    });

    it('requires INTEGRATION_TOKEN_KEYS if users may add tool servers', () => {
      expect(() => check({ USER_TOOL_SERVERS: 'true' })).toThrow(/INTEGRATION_TOKEN_KEYS is not set/);
      expect(check({ USER_TOOL_SERVERS: 'true', INTEGRATION_TOKEN_KEYS: keys })).toMatchObject({
        USER_TOOL_SERVERS: true,
        USER_TOOL_SERVERS_PER_USER: 10,
        USER_TOOL_SERVERS_PRIVATE_HOSTS: [],
      });
    });

    it('rejects an invalid token key without showing it', () => {
      const bad = 'one:c2hvcnQtc2VjcmV0';
      expect(() => read({ INTEGRATION_TOKEN_KEYS: bad })).toThrow(
        expect.objectContaining({ message: expect.not.stringContaining('c2hvcnQtc2VjcmV0') }),
      );
    });
  });

  describe('of the object store', () => {
    const s3 = { OBJECT_STORE: 's3', OBJECT_DIRECTORY: undefined, S3_BUCKET: 'files' };
    const keys = { S3_ACCESS_KEY_ID: 'id', S3_SECRET_ACCESS_KEY: 'secret' };

    it('uses the configured folder for files', () => {
      expect(objectSettings(read())).toEqual({ store: 'file', directory: '/var/lib/uswarm' });
    });

    it('puts the bucket into the path of a custom S3 endpoint', () => {
      expect(objectSettings(read({ ...s3, ...keys, S3_ENDPOINT: 'https://s3.example.com' }))).toMatchObject({
        pathStyle: true,
        endpoint: 'https://s3.example.com',
        credentials: { accessKeyId: 'id', secretAccessKey: 'secret' },
      });
    });

    it('leaves credentials to the SDK and the bucket in the host name for Amazon S3', () => {
      expect(objectSettings(read(s3))).toEqual({
        store: 's3',
        bucket: 'files',
        region: 'us-east-1',
        prefix: 'uploads/',
        pathStyle: false,
      });
    });

    it.each([
      [{ OBJECT_DIRECTORY: undefined }, /OBJECT_DIRECTORY is not set/],
      [{ ...s3, S3_BUCKET: undefined }, /S3_BUCKET is not set/],
      [
        { ...s3, ...keys, S3_SECRET_ACCESS_KEY: undefined },
        /S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY must be set together/,
      ],
    ])('rejects incomplete settings of the object store: %j', (environmentPart, message) => {
      expect(() => checkConfig(read({ SIGNATURE_MODE: 'off', ...environmentPart }))).toThrow(message);
    });
  });

  it.each([
    ['kubernetes', undefined, 1_800_000],
    ['process', undefined, 0],
    ['kubernetes', '0', 0],
    ['process', '5', 5_000],
  ])('suspends idle runtimes of driver %s with IDLE_SUSPEND_AFTER_S=%s after %d ms', (RUNTIME_DRIVER, seconds, ms) => {
    expect(idleSuspendAfterMs(read({ RUNTIME_DRIVER, IDLE_SUSPEND_AFTER_S: seconds }))).toBe(ms);
  });
});
