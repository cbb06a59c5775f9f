import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type PushServer, type RunningS3, startPushServer, startS3 } from '@uswarm/dev-servers';
import { createCertificate, describeWith, type ServerCertificate } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { type ForwardProxy, startForwardProxy } from '@uswarm/testkit/forward-proxy';
import { type AppServers, type AppUser, startAppServers, startAppUser } from '../test/app-servers.js';
import { type SeparateServices, startSeparateServices } from '../test/separate.js';

const MAIL = { name: 'send_mail', arguments: { to: ['bob@example.com'], subject: 'Lunch', body: 'Are you free?' } };
const CREDENTIALS = 'ann:p@ss word';

/** Serves hosts of `outside.test` over TLS; each has a server on this machine. */
async function startOutside({ certificate, key }: ServerCertificate, servers: Record<string, string>): Promise<Server> {
  const server = createServer({ cert: certificate, key }, (incoming, outgoing) => {
    const { url, method, headers } = incoming;
    const { hostname, port } = new URL(servers[headers.host ?? ''] ?? 'http://127.0.0.1:1');
    const onward = request({ hostname, port, path: url, method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on('error', () => outgoing.writeHead(502).end());
    incoming.pipe(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

/** Replaces the origin in a URL, or in each URL of a JSON text. */
const moved = (text: string, from: string, host: string): string =>
  text.replaceAll(new URL(from).origin, `https://${host}`);

describeWith('s3', 'a platform in a network with a mandatory proxy and a private certificate authority', () => {
  let folder: string;
  let apps: AppServers;
  let push: PushServer;
  let s3: RunningS3;
  let outside: Server;
  let proxy: ForwardProxy;
  let services: SeparateServices;
  let user: AppUser;

  beforeAll(async () => {
    const certificate = await createCertificate('*.outside.test');
    folder = await mkdtemp(path.join(tmpdir(), 'uswarm-company-'));
    await writeFile(path.join(folder, 'ca.crt'), certificate.ca);
    apps = await startAppServers((message) => (message.includes('mail') ? [MAIL] : []));
    push = await startPushServer({ publicUrl: 'https://push.outside.test' });
    s3 = await startS3();
    outside = await startOutside(certificate, {
      'model.outside.test': apps.model.baseUrl,
      'oauth.outside.test': apps.oauth.tokenEndpoint,
      'google.outside.test': apps.google.url,
      'push.outside.test': push.url,
      's3.outside.test': s3.endpoint,
    });
    const { port } = outside.address() as AddressInfo;
    // No other program can resolve these names, so that each call that succeeds used the proxy.
    proxy = await startForwardProxy({ credentials: CREDENTIALS, portOf: () => port });
    const { OPENAI_BASE_URL = '', INTEGRATION_PROVIDERS = '' } = apps.env;
    const providers = JSON.parse(INTEGRATION_PROVIDERS) as Record<string, { authorization_endpoint: string }>;
    const outsideProviders = Object.entries(providers).map(([name, settings]) => {
      const { authorization_endpoint, ...rest } = settings;
      const text = moved(JSON.stringify(rest), apps.oauth.tokenEndpoint, 'oauth.outside.test');
      const apiText = moved(text, apps.google.url, 'google.outside.test');
      // Only browsers open this page.
      return [name, { ...(JSON.parse(apiText) as object), authorization_endpoint }];
    });
    services = await startSeparateServices(
      {
        ...apps.env,
        OPENAI_BASE_URL: moved(OPENAI_BASE_URL, OPENAI_BASE_URL, 'model.outside.test'),
        INTEGRATION_PROVIDERS: JSON.stringify(Object.fromEntries(outsideProviders)),
        PUSH_SERVICE_ACCOUNT: push.serviceAccount,
        PUSH_URL: 'https://push.outside.test',
        PUSH_DELAY_MS: '0',
        OBJECT_STORE: 's3',
        S3_ENDPOINT: 'https://s3.outside.test',
        S3_BUCKET: s3.bucket,
        S3_REGION: s3.region,
        S3_ACCESS_KEY_ID: s3.accessKeyId,
        S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
        NODE_EXTRA_CA_CERTS: path.join(folder, 'ca.crt'),
        HTTPS_PROXY: proxy.url,
        HTTP_PROXY: proxy.url,
        PROXY_USERNAME: CREDENTIALS.split(':')[0] ?? '',
        PROXY_PASSWORD: CREDENTIALS.split(':')[1] ?? '',
        NODE_USE_ENV_PROXY: '1',
      },
      { modelGateway: true },
    );
    // Its token is verified with the keys of an issuer on this machine.
    user = await startAppUser(services, apps);
  });
  afterAll(async () => {
    await user?.close();
    await services?.close();
    await proxy?.close();
    outside?.closeAllConnections();
    outside?.close();
    await s3?.close();
    await push?.close();
    await apps?.close();
    await rm(folder, { recursive: true, force: true });
  });

  const reached = (): string[] => [...new Set(proxy.targets)].toSorted();

  it('answers with a model of a provider outside', async () => {
    await user.send('Hello');
    const reply = await user.replies(1);
    expect(user.textOf(reply)).toBe('Hello.');
    expect(reached()).toContain('model.outside.test:443');
  });

  it('connects an app, and sends a mail with it', async () => {
    await user.connect('gmail');
    await user.send('Please mail Bob');
    await user.choose(await user.card(), 'approve');
    await user.answered();
    expect(apps.google.mailbox.mails).toHaveLength(1);
    expect(reached()).toEqual(expect.arrayContaining(['google.outside.test:443', 'oauth.outside.test:443']));
  });

  it('stores a file in a bucket', async () => {
    const form = new FormData();
    form.append('file', new Blob(['hello'], { type: 'text/plain' }), 'a.txt');
    const { status } = await fetch(`${services.restUrl}/v1/uploads`, {
      method: 'POST',
      headers: { 'x-token': user.token },
      body: form,
    });
    expect(status).toBe(201);
    expect(reached()).toContain('s3.outside.test:443');
  });

  it('notifies a device that is offline', async () => {
    await fetch(`${services.restUrl}/v1/push-token`, {
      method: 'POST',
      headers: { 'x-token': user.token, 'x-device-id': 'phone', 'content-type': 'application/json' },
      body: JSON.stringify({ push_token: 'device' }),
    });
    await user.send('Hello again');
    await eventually(() => Promise.resolve(push.sent), {
      until: (sent) => sent.some(({ token }) => token === 'device'),
    });
    expect(reached()).toContain('push.outside.test:443');
  });

  it('sends nothing for this machine to the proxy, and logs no credentials of the proxy', () => {
    expect(reached().filter((target) => !target.endsWith('.outside.test:443'))).toEqual([]);
    const logs = [...services.orchestrators, services.gateway].map((program) => program.output()).join('\n');
    expect(logs).toContain(`"proxies":["${proxy.url}"]`);
    expect(logs).not.toContain('p@ss word');
    expect(logs).not.toContain(Buffer.from(CREDENTIALS).toString('base64'));
  });
});
